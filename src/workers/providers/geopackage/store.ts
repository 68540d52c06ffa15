import type { GeoPackageSource } from '../../../core/sources/vector-source.js';
import { measuredIn } from '../../edits/domain.js';
import type { FeatureStore } from '../feature-store.js';
import { reader } from './connection.js';
import { edit } from './edits/edit.js';
import { events } from './edits/events.js';
import { merge } from './edits/merge.js';
import { geopackageRows } from './overview-rows.js';
import { computeFilteredExtent, computeTableExtent } from './queries/extent.js';
import { groupCount, groups } from './queries/groups.js';
import { count, item, items } from './queries/items.js';
import { losses } from './queries/losses.js';
import { occupied } from './queries/occupancy.js';
import { columns, rows } from './queries/rows.js';
import { top } from './queries/top.js';
import { encodeScene } from './scene-tile.js';
import { inspectGeoPackage, otherTables } from './schema/inspect.js';
import { tileLayer } from './tile.js';

/** Feature tables of GeoPackage files, read by better-sqlite3 with our SQLite extension. */
export const geopackageStore: FeatureStore = {
  inspect: inspectGeoPackage,
  otherTables,
  items: async (task) => items(task),
  item: async (task) => item(task),
  count: async (task) => count(task),
  losses: async (task) => losses(task),
  groups: async (task) => groups(task),
  groupCount: async (task) => groupCount(task),
  top: async (task) => top(task),
  tileLayer: async (task, layer) => tileLayer(task, layer),
  encodeScene: async (task) => encodeScene(task),
  occupied: async (source, boxes) => occupied(source as GeoPackageSource, boxes),
  extent: async ({ source, filter }) => {
    const table = source as GeoPackageSource;
    const { extent } =
      filter === undefined
        ? computeTableExtent(reader(table.path), table)
        : computeFilteredExtent(table, filter);
    return measuredIn(extent, table.crs);
  },
  rows,
  columns,
  overviewRows: (source) => geopackageRows(source as GeoPackageSource),
  edit,
  merge,
  events: async (task) => events(task),
};
