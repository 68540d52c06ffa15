import type { FeatureProcess, Measure, OverlayKind, ProcessFeatures } from '../../core/feature-processes.js';
import type { FeatureRow } from '../../core/features.js';
import { intersectGeometries, overlayGeometries } from '../../native/processing.js';
import { geometriesOf, type Run, windowOf } from './run.js';
import { SHARES, sharesOf } from './shares.js';
import { type Sides, withSides } from './sides.js';
import type { AttributeValue, FeatureTable } from './table.js';

type Overlay = Extract<FeatureProcess, { kind: OverlayKind }>;

/** Features laid over those of another source, which are projected to the CRS of the input. */
export function overlayFeatures(run: Run, { kind, measure }: Overlay): Promise<number> {
  const carries = kind !== 'clip' && kind !== 'subtract';
  const extra = measure ? SHARES : [];
  return withSides(run, { carries, extra }, (sides, table) => {
    const widths = { left: sides.left.fields.length, right: carries ? sides.right.fields.length : 0 };
    return fill(run, { kind, ...(measure ? { measure } : {}) }, sides, table, widths);
  });
}

interface Widths {
  left: number;
  right: number;
}

async function fill(
  run: Run,
  { kind, measure }: Overlay,
  sides: Sides,
  table: FeatureTable,
  widths: Widths,
): Promise<void> {
  const { left, right } = sides;
  const ofLeft = (row: FeatureRow) => [...row.values, ...nulls(widths.right)];
  const ofRight = (row: FeatureRow) => [...nulls(widths.left), ...row.values];
  if (kind === 'clip') return cut(run, 'clip', left, right, table, ofLeft);
  if (kind === 'intersect' || kind === 'union') await intersect(run, sides, table, measure);
  if (kind === 'intersect') return;
  await cut(run, 'subtract', left, right, table, ofLeft);
  if (kind !== 'subtract') await cut(run, 'subtract', right, left, table, ofRight);
}

const nulls = (count: number): null[] => new Array(count).fill(null);

/** What is left of each feature inside or outside of the others. */
async function cut(
  run: Run,
  mode: 'clip' | 'subtract',
  features: ProcessFeatures,
  others: ProcessFeatures,
  table: FeatureTable,
  valuesOf: (row: FeatureRow) => AttributeValue[],
): Promise<void> {
  for await (const rows of run.rows(features)) {
    const near = await windowOf(run, rows, others);
    const results = overlayGeometries(geometriesOf(rows), geometriesOf(near), mode, table.srsId);
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
  for await (const rows of run.rows(left)) {
    const near = await windowOf(run, rows, right);
    const { pairs, pieces } = intersectGeometries(geometriesOf(rows), geometriesOf(near), table.srsId);
    const shares = measure && sharesOf({ rows, near, pairs, pieces }, left.source.crs, measure);
    pieces.forEach((piece, i) => {
      const [a, b] = [rows[pairs[2 * i]!]!, near[pairs[2 * i + 1]!]!];
      const geometry = run.take(piece, undefined);
      if (geometry) table.add(geometry, [...a.values, ...b.values, ...(shares ? shares(i) : [])]);
    });
  }
}
