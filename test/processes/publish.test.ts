import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import type { ImportService } from '../../src/services/exchange/import.js';
import type { JobContext } from '../../src/services/jobs/kinds.js';
import { publishResult, type ResultPublishDeps } from '../../src/services/processes/publish.js';
import { FolderStorage } from '../../src/services/storage/folder.js';

/** Rasters that become collections, when jobs are killed and names are taken. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-publish-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const result = join(folder, 'raster.tif');
writeFileSync(result, 'pixels');
const storage = new FolderStorage(folder);
const imports = { refuse: () => {} } as unknown as ImportService;
const derivations = { record: async () => {}, sourcesOf: () => [] };

/** A job that has saved something in an earlier run. */
function jobOf(saved?: unknown) {
  const checkpoints: unknown[] = [];
  const context = {
    saved,
    signal: new AbortController().signal,
    checkpoint: async (data: unknown) => void checkpoints.push(data),
  } as unknown as JobContext;
  return { context, checkpoints };
}

let runs = 0;
function run(context: JobContext, collection: string, deps: Partial<ResultPublishDeps> = {}): Promise<void> {
  const publication = {
    path: result,
    mediaType: 'image/tiff',
    collection,
    title: 'A raster',
    sources: [],
    by: 'ann',
  };
  const own = join(folder, `job-${runs++}`);
  mkdirSync(own);
  return publishResult(context, publication, own, {
    imports,
    storage,
    derivations,
    reload: async () => {},
    ...deps,
  });
}

const contentOf = (name: string) => readFileSync(join(folder, 'published', `${name}.tif`), 'utf8');

it('a job has the name before its file, and its result stays', async () => {
  const { context, checkpoints } = jobOf();
  const stop = new Error('killed');
  const kill = {
    publishes: () => true,
    stat: async () => undefined,
    take: () => Promise.reject(stop),
  };
  await expect(run(context, 'relief', { storage: kill })).rejects.toBe(stop);
  expect(checkpoints).toEqual(['published/relief.tif']);
  await run(jobOf(checkpoints[0]).context, 'relief');
  expect([contentOf('relief'), readFileSync(result, 'utf8')]).toEqual(['pixels', 'pixels']);
  // Killed once more, after the file was moved.
  await run(jobOf(checkpoints[0]).context, 'relief');
  expect(contentOf('relief')).toBe('pixels');
});

it('a name that another job has by now is a conflict, and what is there stays', async () => {
  await run(jobOf().context, 'steep');
  writeFileSync(join(folder, 'published', 'steep.tif'), 'of another');
  const { context, checkpoints } = jobOf();
  await expect(run(context, 'steep')).rejects.toMatchObject({ code: 'conflict' });
  expect([contentOf('steep'), checkpoints]).toEqual(['of another', []]);
});

it('of two jobs that publish under one name at once, one has a conflict', async () => {
  const both = await Promise.allSettled([run(jobOf().context, 'flat'), run(jobOf().context, 'flat')]);
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  const lost = both.find((one) => one.status === 'rejected');
  expect(lost?.reason).toMatchObject({ code: 'conflict' });
});
