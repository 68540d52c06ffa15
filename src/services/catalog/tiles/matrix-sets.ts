import { readFileSync } from 'node:fs';
import { ConfigError } from '../../../core/config/config.js';
import type { Crs } from '../../../core/geometry/crs.js';
import { MatrixSetError, readMatrixSet } from '../../../core/tiles/tile-matrix/document.js';
import { REGISTERED_SETS } from '../../../core/tiles/tile-matrix/registry.js';
import type { TileMatrixSet } from '../../../core/tiles/tile-matrix.js';
import { parseCrs } from '../../../native/crs.js';
import { describeCrs } from '../../../native/index.js';

const MAX_SETS = 200;

/**
 * The sets that the configuration adds: definitions (OGC 17-083r4, JSON encoding), or the names of files with a
 * definition. Throws a `ConfigError` that names every wrong member of every wrong set.
 */
export function configuredMatrixSets(entries: readonly unknown[]): TileMatrixSet[] {
  const problems: string[] = [];
  if (entries.length > MAX_SETS)
    throw new ConfigError([`tiles.matrixSets has more than ${MAX_SETS} entries`]);
  const sets: TileMatrixSet[] = [];
  entries.forEach((entry, i) => {
    const name = typeof entry === 'string' ? entry : `${i}`;
    try {
      const set = readMatrixSet(typeof entry === 'string' ? parseDocument(entry) : entry, getCrs);
      if ([...REGISTERED_SETS, ...sets].some(({ id }) => id === set.id)) {
        throw new MatrixSetError([`id '${set.id}' is that of another set`]);
      }
      sets.push(set);
    } catch (error) {
      if (!(error instanceof MatrixSetError)) throw error;
      problems.push(...error.problems.map((problem) => `tiles.matrixSets/${name}: ${problem}`));
    }
  });
  if (problems.length > 0) throw new ConfigError(problems);
  return sets;
}

function parseDocument(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new MatrixSetError([`cannot be read: ${(error as Error).message}`]);
  }
}

/**
 * The CRS of a definition: a URI, or an object with a URI, or with WKT or PROJJSON under `wkt` (17-083r4, 6.2.1.2).
 */
function getCrs(value: unknown): Crs | undefined {
  if (typeof value === 'string') return parseCrs(value);
  const { uri, wkt } = (value ?? {}) as { uri?: unknown; wkt?: unknown };
  if (typeof uri === 'string') return parseCrs(uri);
  const proj = typeof wkt === 'object' && wkt !== null ? JSON.stringify(wkt) : wkt;
  if (typeof proj !== 'string') return undefined;
  try {
    const { isGeographic, axisSwapped } = describeCrs(proj);
    // A CRS without a code has no URI that clients could send.
    const unnamed = 'http://www.opengis.net/def/crs/OGC/0/unknown';
    return { uri: unnamed, proj, epsg: 0, northFirst: axisSwapped, geographic: isGeographic };
  } catch {
    return undefined;
  }
}
