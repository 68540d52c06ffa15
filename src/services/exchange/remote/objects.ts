import { rm } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { LIMITS } from '../../../core/kit/limits.js';
import type { ObjectStore } from '../../../core/sources/object-stores.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import type { RemoteKind } from '../import-input.js';

/** An object of the bucket of a connection. */
export interface ObjectSource {
  /** Id of the connection. */
  connection: string;
  key: string;
}

interface ObjectReport {
  bytes: number;
}

export const OBJECT = 'import-object';

/** Import of a vector data file from a bucket. */
export function createObjectImport(
  pools: Pick<Pools, 'run'>,
  storeOf: (connection: string) => Promise<ObjectStore>,
): RemoteKind<ObjectSource> {
  return {
    kind: OBJECT,
    title: 'Import an object of a bucket',
    async fetch({ input, signal }, folder) {
      const { connection, key } = input.remote;
      const path = join(folder, `object${extname(key).toLowerCase()}`);
      await rm(path, { force: true });
      const store = await storeOf(connection);
      const task = { store, key, path, maxBytes: LIMITS.uploadBytes, timeoutMs: LIMITS.downloadMs };
      const { bytes } = await pools.run('ingest.object', task, { signal });
      const report: ObjectReport = { bytes };
      return { path, title: basename(key, extname(key)).slice(0, 200), report };
    },
  };
}
