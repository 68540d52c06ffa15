import { createHash } from 'node:crypto';
import { withoutPassword } from '../../../core/database-url.js';
import { type PostgisSource, TaskFailure, type VectorLayerInfo } from '../../../core/tasks.js';
import type { Databases } from '../databases.js';
import { type Versions, vectorCollection } from './collections.js';
import type { Draft, Found } from './source.js';

/** What a PostGIS database holds, or why it cannot be published. */
export async function readDatabase(url: string, databases: Databases): Promise<Found> {
  const path = withoutPassword(url);
  const found: Found = { collections: [], quarantined: [] };
  try {
    const { layers, problems } = await databases.discover(url);
    found.quarantined.push(...problems.map(({ layer, reason }) => ({ path, layer, reason })));
    for (const layer of layers) {
      try {
        found.collections.push(draftOf(layer, layers, path));
      } catch (error) {
        const { schema, table } = layer.source as PostgisSource;
        found.quarantined.push({ path, layer: `${schema}.${table}`, reason: (error as Error).message });
      }
    }
    if (layers.length + problems.length === 0)
      found.quarantined.push({ path, reason: 'The database has no tables with a geometry column.' });
  } catch (error) {
    const reason = error instanceof TaskFailure ? error.message : 'The database could not be read.';
    found.quarantined.push({ path, reason });
  }
  return found;
}

/** A table with several geometry columns makes several collections. */
function draftOf(layer: VectorLayerInfo, all: readonly VectorLayerInfo[], path: string): Draft {
  const { schema, table, geometryColumn } = layer.source as PostgisSource;
  const columns = all.filter(
    ({ source }) => source.table === table && (source as PostgisSource).schema === schema,
  );
  const name = columns.length > 1 ? `${table}_${geometryColumn}` : table;
  return { name, group: schema, make: vectorCollection(layer, path, versionsOf(layer)) };
}

/** Rows change unseen; the definition does not, and each time it is read counts as a change of the rows. */
function versionsOf({ source }: VectorLayerInfo): Versions {
  const { database, ...definition } = source as PostgisSource;
  const text = `${withoutPassword(database)}${JSON.stringify(definition)}`;
  const origin = createHash('sha1').update(text).digest('hex').slice(0, 12);
  const readAt = Date.now();
  return { version: `${origin}.${readAt.toString(36)}`, origin, readAt };
}
