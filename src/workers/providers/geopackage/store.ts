import type { FeatureStore } from '../store.js';
import { edit } from './edit.js';
import { events } from './events.js';
import { count, item, items } from './items.js';
import { rows } from './rows.js';
import { tileLayer } from './tile.js';

/** Feature tables of GeoPackage files, read by better-sqlite3 with our SQLite extension. */
export const geopackageStore: FeatureStore = {
  items: async (task) => items(task),
  item: async (task) => item(task),
  count: async (task) => count(task),
  tileLayer: async (task, layer) => tileLayer(task, layer),
  rows,
  edit,
  events: async (task) => events(task),
};
