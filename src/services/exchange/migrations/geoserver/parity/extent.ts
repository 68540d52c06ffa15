import type { Box } from '../../../../../core/geometry/box.js';
import { createProbe, type Probe } from './scorecard.js';

/**
 * Maximum difference of sides, as a fraction of the longest side. GeoServer stores an extent that it once computed,
 * with few digits.
 */
const SHARE = 0.01;
const DEGREES = 1e-4;

/** Compares the bounding box that the GeoServer declares with the extent of the collection, in CRS84. */
export function extentProbe(source: Box | undefined, target: Box | undefined): Probe {
  if (!source) return createProbe('extent', 'skipped', 'The GeoServer declares no box of the layer.');
  if (!target)
    return createProbe('extent', 'skipped', 'The collection has no extent in degrees.', { source });
  const facts = { source, target };
  const isApart =
    target[0] > source[2] || target[2] < source[0] || target[1] > source[3] || target[3] < source[1];
  if (isApart && target[0] <= target[2])
    return createProbe(
      'extent',
      'fail',
      'The collection is outside the bounding box that the GeoServer declares.',
      facts,
    );
  const near = Math.max(DEGREES, SHARE * Math.max(source[2] - source[0], source[3] - source[1]));
  const isAlike = source.every((side, i) => Math.abs(side - target[i]!) <= near);
  return isAlike
    ? createProbe('extent', 'pass', null, facts)
    : createProbe('extent', 'warn', 'The extent is not the box that the GeoServer declares.', facts);
}
