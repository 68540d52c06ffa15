import { open } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import type { VectorLayerInfo } from '../../../core/tasks/vector-tasks.js';
import { vectorCollection } from './collections.js';
import { type Found, INSPECT_DEADLINE_MS, type PublishDeps } from './source.js';

/** STAC catalogs on disk: their items become a store once, and are published as footprints and as items. */

/** Names of root documents of a catalog in a folder. */
const ROOTS = ['catalog.json', 'collection.json'];
const JSON_FILES = new Set(['.json', '.geojson', '.geojsonl', '.ndjson']);
/** Bytes at the start of a document in which it must declare itself as STAC. */
const HEAD_BYTES = 65_536;
/** Maximum number of omitted documents that are named one by one. */
const MAX_NAMED = 20;

/** The root of a STAC catalog among the names of a folder. */
export async function stacRoot(folder: string, names: readonly string[]): Promise<string | undefined> {
  for (const root of ROOTS) if (names.includes(root) && (await isStac(join(folder, root)))) return root;
  return undefined;
}

/** Whether a file is a STAC document, or contains such documents as lines. */
export async function isStac(path: string): Promise<boolean> {
  if (!JSON_FILES.has(extname(path).toLowerCase())) return false;
  const file = await open(path, 'r').catch(() => undefined);
  if (!file) return false;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return /"stac_version"\s*:/.test(buffer.toString('latin1', 0, bytesRead));
  } catch {
    return false;
  } finally {
    await file.close();
  }
}

/** A table of STAC items has the name of their collection. */
export function collectionName({ stac, source }: VectorLayerInfo): string {
  return String(stac?.['id'] ?? source.table);
}

/** The collections of a catalog, and the omitted documents. */
export async function readStac(path: string, deps: PublishDeps): Promise<Found> {
  const folder = join(deps.dataDir, 'converted');
  const { store, stamp, refused, refusedCount } = await deps.pools.run('vector.stacIngest', {
    path,
    folder,
    local: true,
  });
  const layers = await deps.pools.run(
    'vector.inspect',
    { kind: 'geopackage', path: store },
    { deadlineMs: INSPECT_DEADLINE_MS },
  );
  const named = refused.slice(0, MAX_NAMED).map(({ path: part, reason }) => ({ path, layer: part, reason }));
  const further = refusedCount - named.length;
  const rest =
    further > 0 ? [{ path, reason: `${further} more documents of the catalog were skipped.` }] : [];
  return {
    collections: layers.map((layer) => ({
      name: collectionName(layer),
      group: basename(path, extname(path)),
      make: vectorCollection(layer, path, { version: stamp, origin: stamp }),
    })),
    quarantined: [...named, ...rest],
  };
}
