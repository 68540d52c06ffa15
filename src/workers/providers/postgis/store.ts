import type { PostgisSource } from '../../../core/vector-source.js';
import type { FeatureStore } from '../feature-store.js';
import { edit } from './edit.js';
import { events } from './events.js';
import { extent } from './extent.js';
import { groupCount, groups } from './groups.js';
import { count, item, items } from './items.js';
import { withNumbers } from './key-looks.js';
import { losses } from './losses.js';
import { merge } from './merge.js';
import { occupied } from './occupied.js';
import { postgisRows } from './overview-rows.js';
import { process } from './processes/index.js';
import { rows } from './rows.js';
import { tileLayer } from './tile.js';
import { top } from './top.js';

/** Tables and views of PostGIS databases, read by libpq; the native part writes features from the binary rows. */
export const postgisStore: FeatureStore = {
  items: withNumbers(items),
  item: withNumbers(item),
  count: withNumbers(count),
  losses: withNumbers(losses),
  groups: withNumbers(groups),
  groupCount: withNumbers(groupCount),
  top: withNumbers(top),
  tileLayer,
  occupied: (source, boxes, cancellation) => occupied(source as PostgisSource, boxes, cancellation),
  extent: withNumbers(extent),
  rows,
  process,
  overviewRows: (source) => postgisRows(source as PostgisSource),
  edit,
  merge,
  events,
};
