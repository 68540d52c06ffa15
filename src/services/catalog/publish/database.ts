import { createHash } from 'node:crypto';
import { TaskFailure } from '../../../core/errors/failure.js';
import { countBy } from '../../../core/features/count-by.js';
import { withoutPassword } from '../../../core/sources/database-url.js';
import type { PostgisSource } from '../../../core/sources/vector-source.js';
import type { DiscoveredDatabase, VectorLayerInfo } from '../../../core/tasks/vector-tasks.js';
import { rasterCollection, type Versions, vectorCollection } from './collections.js';
import { type CollectionDraft, type Found, INSPECT_DEADLINE_MS, type PublishDeps } from './source.js';

/** Contents of a PostGIS database, or the reason why it cannot be published. */
export async function readDatabase(url: string, deps: PublishDeps): Promise<Found> {
  const path = withoutPassword(url);
  const contents: Found = { collections: [], quarantined: [] };
  try {
    const { layers, rasters, problems } = await deps.databases.discover(url);
    contents.quarantined.push(
      ...problems.map(({ layer, reason, isSlow }) => ({
        path,
        layer,
        reason,
        ...(isSlow && { isUnread: isSlow }),
      })),
    );
    const columns = countBy(layers, fullName);
    for (const layer of layers) {
      try {
        contents.collections.push(buildDraft(layer, columns, path));
      } catch (error) {
        const { schema, table } = layer.source as PostgisSource;
        contents.quarantined.push({ path, layer: `${schema}.${table}`, reason: (error as Error).message });
      }
    }
    for (const source of rasters) await addRaster(contents, source, path, deps);
    if (layers.length + rasters.length + problems.length === 0)
      contents.quarantined.push({
        path,
        reason: 'The database has no tables with a geometry or raster column.',
      });
  } catch (error) {
    const reason = error instanceof TaskFailure ? error.message : 'The database could not be read.';
    contents.quarantined.push({ path, reason, isUnread: true });
  }
  return contents;
}

/** An unreadable raster must not hide the remaining contents. */
async function addRaster(
  contents: Found,
  { identity, ...source }: DiscoveredDatabase['rasters'][number],
  path: string,
  deps: PublishDeps,
): Promise<void> {
  const { schema, table, column } = source;
  try {
    const raster = await deps.pools.run('raster.inspect', { source }, { deadlineMs: INSPECT_DEADLINE_MS });
    const definition = `${path}\0${schema}\0${table}\0${column}\0${Date.now()}`;
    const version = createHash('sha1').update(definition).digest('hex').slice(0, 12);
    const make = rasterCollection(raster, table, path, version);
    contents.collections.push({
      name: table,
      group: schema,
      make: (id, layerId) => ({ ...make(id, layerId), ...(identity === undefined ? {} : { identity }) }),
    });
  } catch (error) {
    const reason = error instanceof TaskFailure ? error.message : 'The raster could not be read.';
    contents.quarantined.push({ path, layer: `${schema}.${table}`, reason });
  }
}

function fullName({ source }: VectorLayerInfo): string {
  const { schema, table } = source as PostgisSource;
  return JSON.stringify([schema, table]);
}

/** A table with several geometry columns makes several collections. */
function buildDraft(
  layer: VectorLayerInfo,
  columns: ReadonlyMap<string, number>,
  path: string,
): CollectionDraft {
  const { schema, table, geometryColumn } = layer.source as PostgisSource;
  const name = columns.get(fullName(layer))! > 1 ? `${table}_${geometryColumn}` : table;
  return { name, group: schema, make: vectorCollection(layer, path, buildVersions(layer)) };
}

/** Rows change unseen; the definition does not, and each time it is read counts as a change of the rows. */
function buildVersions({ source }: VectorLayerInfo): Versions {
  const { database, ...definition } = source as PostgisSource;
  const text = `${withoutPassword(database)}${JSON.stringify(definition)}`;
  const origin = createHash('sha1').update(text).digest('hex').slice(0, 12);
  const readAt = Date.now();
  return { version: `${origin}.${readAt.toString(36)}`, origin, readAt };
}
