import type { FeatureProcess, Measure, OverlayKind } from '../../core/feature-processes.js';
import type { FeatureRow } from '../../core/features.js';
import { type Blobs, OverlayIndex } from '../../native/processing.js';
import { indexOver, type Layer, type SearchedLayer } from './layers.js';
import { geometriesOf, type Run } from './run.js';
import { SHARES, sharesOf } from './shares.js';
import { type Sides, withSearchedSides, withSides } from './sides.js';
import type { AttributeValue, FeatureTable } from './table.js';

type Overlay = Extract<FeatureProcess, { kind: OverlayKind }>;

/** Features laid over those of another source, which are projected to the CRS of the input. */
export function overlayFeatures(run: Run, { kind, measure }: Overlay): Promise<number> {
  const carries = kind !== 'clip' && kind !== 'subtract';
  const extra = measure ? SHARES : [];
  if (kind === 'clip' || kind === 'subtract')
    return withSides(run, { carries, extra }, ({ left, right }, table) =>
      cut(run, { kind, features: left, others: right }, table, ({ values }) => values),
    );
  if (kind === 'intersect')
    return withSides(run, { carries, extra }, (sides, table) => intersect(run, sides, table, measure));
  return withSearchedSides(run, { carries }, async (sides, table) => {
    const { left, right } = sides;
    if (kind === 'union') await intersect(run, sides, table, undefined);
    const [ofLeft, ofRight] = [nulls(left.attributes.length), nulls(right.attributes.length)];
    const kept = { kind: 'subtract', features: left, others: right } as const;
    await cut(run, kept, table, ({ values }) => [...values, ...ofRight]);
    const added = { kind: 'subtract', features: right, others: left } as const;
    await cut(run, added, table, ({ values }) => [...ofLeft, ...values]);
  });
}

const overlayOf = (blobs: Blobs) => new OverlayIndex().add(blobs);

const nulls = (count: number): null[] => new Array(count).fill(null);

interface Cut {
  kind: 'clip' | 'subtract';
  features: Layer;
  others: SearchedLayer;
}

/** What is left of each feature inside or outside of the others. */
async function cut(
  run: Run,
  { kind, features, others }: Cut,
  table: FeatureTable,
  valuesOf: (row: FeatureRow) => readonly AttributeValue[],
): Promise<void> {
  const indexOf = indexOver(overlayOf);
  for await (const rows of features.rows()) {
    const near = await others.near(rows);
    const results = indexOf(near).cut(geometriesOf(rows), kind, table.srsId);
    rows.forEach((row, i) => {
      const geometry = run.take(results[i]!, undefined);
      if (geometry) table.add(geometry, valuesOf(row));
    });
  }
}

async function intersect(
  run: Run,
  { left, right }: Sides,
  table: FeatureTable,
  measure: Measure | undefined,
): Promise<void> {
  const indexOf = indexOver(overlayOf);
  for await (const rows of left.rows()) {
    const near = await right.near(rows);
    const { pairs, pieces } = indexOf(near).intersect(geometriesOf(rows), table.srsId);
    const shares = measure && sharesOf({ rows, near, pairs, pieces }, left.crs, measure);
    pieces.forEach((piece, i) => {
      const [a, b] = [rows[pairs[2 * i]!]!, near[pairs[2 * i + 1]!]!];
      const geometry = run.take(piece, undefined);
      if (geometry) table.add(geometry, [...a.values, ...b.values, ...(shares ? shares(i) : [])]);
    });
  }
}
