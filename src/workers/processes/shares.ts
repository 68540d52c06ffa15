import type { FeatureRow } from '../../core/features/features.js';
import type { Measure } from '../../core/processes/feature-processes.js';
import type { Intersections } from '../../native/processing.js';
import { type Measures, measureGeometries } from '../../native/proximity.js';
import { listGeometries } from './run.js';
import type { Attribute, TableValue } from './table.js';

/** Attributes of a piece that two features share. */
export const SHARE_ATTRIBUTES: readonly Attribute[] = [
  { name: 'sharedArea', type: 'number' },
  { name: 'sharedLength', type: 'number' },
  { name: 'featureShare', type: 'number' },
  { name: 'overlayShare', type: 'number' },
];

interface Pieces extends Omit<Intersections, 'looks'> {
  rows: readonly FeatureRow[];
  near: readonly FeatureRow[];
}

/** The size of each piece, and the share that it is of both features; of their areas, or of lines their lengths. */
export function computeShares(
  { rows, near, pairs, pieces }: Pieces,
  crs: string,
  { ground, perUnit }: Measure,
): (piece: number) => TableValue[] {
  const measure = (blobs: readonly (Uint8Array | null)[]) => measureGeometries(blobs, crs, ground);
  const lefts = measure(listGeometries(rows));
  // A window can contain many more features than the rows meet.
  const partners = [...new Set(pairs.filter((_, i) => i % 2 === 1))];
  const sizes = measure(partners.map((i) => near[i]!.geometry));
  const rights = new Map(partners.map((i, at) => [i, sizes[at]]));
  const own = measure(pieces.map((piece) => (typeof piece === 'string' ? null : piece)));
  return (i) => {
    const piece = own[i];
    const size = piece && buildSize(piece);
    if (!size) return [null, null, null, null];
    const findShare = (whole: Measures | undefined) => {
      const all = whole && buildSize(whole);
      return all && all.isArea === size.isArea ? Math.min(1, size.value / all.value) : null;
    };
    return [
      size.isArea ? size.value / perUnit ** 2 : null,
      size.isArea ? null : size.value / perUnit,
      findShare(lefts[pairs[2 * i]!]),
      findShare(rights.get(pairs[2 * i + 1]!)),
    ];
  };
}

function buildSize({ area, length }: Measures): { value: number; isArea: boolean } | undefined {
  if (area > 0) return { value: area, isArea: true };
  return length > 0 ? { value: length, isArea: false } : undefined;
}
