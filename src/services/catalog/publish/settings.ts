import type { TileSettings } from '../../../core/catalog/collection.js';
import type { TableRule } from '../../../core/catalog/table-rule.js';
import type { Config } from '../../../core/config/config.js';
import type { FederatedSetting } from '../../../core/federation/federated-source.js';
import type { StatedCrs } from '../../../core/geometry/stated-crs.js';
import { MatrixSets } from '../../../core/tiles/tile-matrix.js';
import { readFederatedSettings } from '../../federation/settings.js';
import { requireStatedCrs } from '../inspections/sidecar-crs.js';
import { configuredMatrixSets } from '../tiles/matrix-sets.js';
import { requireTileSettings } from '../tiles/settings.js';

/** Settings that select the published data and control its publication. */
export interface DataSettings {
  readonly sources: readonly string[];
  /** Tiles by collection. */
  readonly tiles?: Readonly<Record<string, TileSettings>>;
  /** CRS by file. */
  readonly crs?: StatedCrs;
  readonly matrixSets?: MatrixSets;
  /** Tables of databases. */
  readonly tables?: TableRule;
  /** Layers of other servers. */
  readonly federated?: readonly FederatedSetting[];
}

/** Data settings of the configuration. Throws a `ConfigError` that describes the error. */
export function dataSettings({ data, tiles, postgis, federation }: Config): Required<DataSettings> {
  requireTileSettings(tiles.collections);
  requireStatedCrs(data.crs);
  return {
    sources: data.sources,
    tiles: tiles.collections,
    crs: data.crs,
    matrixSets: new MatrixSets(configuredMatrixSets(tiles.matrixSets)),
    tables: { include: postgis.include, exclude: postgis.exclude, maxTables: postgis.maxTables },
    federated: readFederatedSettings(federation.sources),
  };
}
