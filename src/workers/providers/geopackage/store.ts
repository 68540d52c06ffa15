import type { GeoPackageSource } from '../../../core/vector-source.js';
import { measuredIn } from '../domain.js';
import type { FeatureStore } from '../feature-store.js';
import { reader } from './connection.js';
import { edit } from './edit.js';
import { events } from './events.js';
import { extentOf, extentOfPassing } from './extent.js';
import { groupCount, groups } from './groups.js';
import { inspect, otherTables } from './inspect.js';
import { count, item, items } from './items.js';
import { losses } from './losses.js';
import { merge } from './merge.js';
import { occupied } from './occupied.js';
import { geopackageRows } from './overview-rows.js';
import { columns, rows } from './rows.js';
import { tileLayer } from './tile.js';
import { top } from './top.js';

/** Feature tables of GeoPackage files, read by better-sqlite3 with our SQLite extension. */
export const geopackageStore: FeatureStore = {
  inspect,
  otherTables,
  items: async (task) => items(task),
  item: async (task) => item(task),
  count: async (task) => count(task),
  losses: async (task) => losses(task),
  groups: async (task) => groups(task),
  groupCount: async (task) => groupCount(task),
  top: async (task) => top(task),
  tileLayer: async (task, layer) => tileLayer(task, layer),
  occupied: async (source, boxes) => occupied(source as GeoPackageSource, boxes),
  extent: async ({ source, filter }) => {
    const table = source as GeoPackageSource;
    const { extent } =
      filter === undefined ? extentOf(reader(table.path), table) : extentOfPassing(table, filter);
    return measuredIn(extent, table.crs);
  },
  rows,
  columns,
  overviewRows: (source) => geopackageRows(source as GeoPackageSource),
  edit,
  merge,
  events: async (task) => events(task),
};
