import type { TileSettings } from '../../core/collection.js';
import type { Config } from '../../core/config.js';
import type { StatedCrs } from '../../core/stated-crs.js';
import type { TableRule } from '../../core/table-rule.js';
import { MatrixSets } from '../../core/tile-matrix.js';
import { configuredMatrixSets } from '../tiles/matrix-sets.js';
import { requireTileSettings } from '../tiles/settings.js';
import { requireStatedCrs } from './sidecar-crs.js';

/** What of the configuration says which data is published, and how. */
export interface DataSettings {
  readonly sources: readonly string[];
  /** Tiles by collection. */
  readonly tiles?: Readonly<Record<string, TileSettings>>;
  /** CRS by file. */
  readonly crs?: StatedCrs;
  readonly matrixSets?: MatrixSets;
  /** Tables of databases. */
  readonly tables?: TableRule;
}

/** Throws a `ConfigError` that names what is wrong. */
export function dataSettings({ data, tiles, postgis }: Config): Required<DataSettings> {
  requireTileSettings(tiles.collections);
  requireStatedCrs(data.crs);
  return {
    sources: data.sources,
    tiles: tiles.collections,
    crs: data.crs,
    matrixSets: new MatrixSets(configuredMatrixSets(tiles.matrixSets)),
    tables: { include: postgis.include, exclude: postgis.exclude, maxTables: postgis.maxTables },
  };
}
