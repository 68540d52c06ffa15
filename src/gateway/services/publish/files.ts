import { basename, extname } from 'node:path';
import { type ArchiveContainer, TaskFailure } from '../../../core/tasks.js';
import { archiveCollection, rasterCollection, vectorCollection } from './collections.js';
import { convert } from './convert.js';
import { ARCHIVE, GEOPACKAGE, OGR, RASTER, type SourceFile } from './find.js';
import { type Found, INSPECT_DEADLINE_MS, type PublishDeps } from './source.js';
import { isStac, readStac } from './stac.js';

/** What a file holds, or why it cannot be published. */
export async function readFileSource(file: SourceFile, deps: PublishDeps): Promise<Found> {
  if (file.problem) return { collections: [], quarantined: [{ path: file.path, reason: file.problem }] };
  try {
    return await readFile(file.path, deps);
  } catch (error) {
    const reason = error instanceof TaskFailure ? error.message : 'The file could not be read.';
    return { collections: [], quarantined: [{ path: file.path, reason }] };
  }
}

async function readFile(path: string, deps: PublishDeps): Promise<Found> {
  const extension = extname(path).toLowerCase();
  if (await isStac(path)) return readStac(path, deps);
  const version = deps.versionOf(path);
  if (GEOPACKAGE.has(extension)) return readGeoPackage(path, path, version, deps);
  if (RASTER.has(extension)) return readRaster(path, version, deps);
  const container = ARCHIVE.get(extension);
  if (container) return readArchive(path, container, version, deps);
  if (OGR.has(extension)) return readGeoPackage(await convert(path, version, deps), path, version, deps);
  throw new TaskFailure(
    'source-unreadable',
    `Files of type ${extension || 'without extension'} are not published.`,
  );
}

async function readGeoPackage(
  gpkg: string,
  file: string,
  version: string,
  deps: PublishDeps,
): Promise<Found> {
  const layers = await deps.pools.run('vector.inspect', { path: gpkg }, { deadlineMs: INSPECT_DEADLINE_MS });
  const found: Found = { collections: [], quarantined: [] };
  const versions = { version, origin: version };
  for (const layer of layers) {
    const name = layer.source.table;
    try {
      found.collections.push({ name, group: nameOf(file), make: vectorCollection(layer, file, versions) });
    } catch (error) {
      found.quarantined.push({ path: file, layer: name, reason: (error as Error).message });
    }
  }
  // Tables of tiles are a raster to GDAL, with the zooms as overviews.
  return layers.length > 0 ? found : readTiles(file, version, deps);
}

/** A GeoPackage that holds tiles in place of features. */
async function readTiles(file: string, version: string, deps: PublishDeps): Promise<Found> {
  try {
    return await readRaster(file, version, deps);
  } catch (error) {
    if (!(error instanceof TaskFailure) || error.code !== 'source-unreadable') throw error;
    const reason = 'The file has no feature tables, and no table of tiles that can be read.';
    return { collections: [], quarantined: [{ path: file, reason }] };
  }
}

async function readRaster(path: string, version: string, deps: PublishDeps): Promise<Found> {
  const raster = await deps.pools.run(
    'raster.inspect',
    { source: { kind: 'file', path } },
    { deadlineMs: INSPECT_DEADLINE_MS },
  );
  const name = nameOf(path);
  return {
    collections: [{ name, group: name, make: rasterCollection(raster, name, path, version) }],
    quarantined: [],
  };
}

async function readArchive(
  path: string,
  container: ArchiveContainer,
  version: string,
  deps: PublishDeps,
): Promise<Found> {
  const options = { deadlineMs: INSPECT_DEADLINE_MS };
  const archive = await deps.pools.run('vector.archive', { path, container }, options);
  const name = nameOf(path);
  return {
    collections: [{ name, group: name, make: archiveCollection(archive, name, version) }],
    quarantined: [],
  };
}

function nameOf(path: string): string {
  return basename(path, extname(path));
}
