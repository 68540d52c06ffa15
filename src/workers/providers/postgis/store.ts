import type { PostgisSource } from '../../../core/sources/vector-source.js';
import type { FeatureStore } from '../feature-store.js';
import { edit } from './edits/edit.js';
import { events } from './edits/events.js';
import { withNumbers } from './edits/key-looks.js';
import { merge } from './edits/merge.js';
import { postgisRows } from './overview-rows.js';
import { process } from './processes/index.js';
import { extent } from './queries/extent.js';
import { groupCount, groups } from './queries/groups.js';
import { count, item, items } from './queries/items.js';
import { losses } from './queries/losses.js';
import { occupied } from './queries/occupancy.js';
import { rows } from './queries/rows.js';
import { top } from './queries/top.js';
import { encodeScene } from './scene-tile.js';
import { tileLayer } from './tile.js';

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
  encodeScene,
  occupied: (source, boxes, cancellation) => occupied(source as PostgisSource, boxes, cancellation),
  extent: withNumbers(extent),
  rows,
  process,
  overviewRows: (source) => postgisRows(source as PostgisSource),
  edit,
  merge,
  events,
};
