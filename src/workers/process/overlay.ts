import { around, type Box } from '../../core/box.js';
import { freeName } from '../../core/column-names.js';
import { bboxFilter } from '../../core/cql2/index.js';
import { TaskFailure } from '../../core/failure.js';
import type { FeatureProcess, ProcessFeatures } from '../../core/feature-processes.js';
import type { FeatureRow } from '../../core/features.js';
import { LIMITS } from '../../core/limits.js';
import { intersectGeometries, overlayGeometries } from '../../native/processing.js';
import { boxOf } from './blob.js';
import { indexedCopy, removeCopy } from './copy.js';
import { attributesOf, geometriesOf, type Run } from './run.js';
import { type AttributeValue, FeatureTable } from './table.js';

type OverlayKind = Exclude<FeatureProcess['kind'], 'map' | 'dissolve' | 'together'>;

/** Both sides in one CRS, in an order and with an index that make windows of neighbours small. */
interface Sides {
  left: ProcessFeatures;
  right: ProcessFeatures;
}

/** Features laid over those of another source, which are projected to the CRS of the input. */
export async function overlayFeatures(run: Run, kind: OverlayKind): Promise<number> {
  const { input, overlay, output } = run.task;
  const paths = { left: `${output}.left`, right: `${output}.right` };
  try {
    const left = await indexedCopy(run, input, input.source.crs, paths.left);
    const right = await indexedCopy(run, overlay!, input.source.crs, paths.right);
    const bothHave = kind !== 'clip' && kind !== 'subtract';
    const ofLeft = attributesOf(left);
    const ofRight = bothHave ? attributesOf(right) : [];
    const taken = new Set(ofLeft.map(({ name }) => name.toLowerCase()));
    const renamed = ofRight.map((attribute) => {
      const name = freeName(attribute.name, taken);
      taken.add(name.toLowerCase());
      return { ...attribute, name };
    });
    const table = FeatureTable.create(output, input.source.crs, [...ofLeft, ...renamed]);
    try {
      await fill(run, kind, { left, right }, table, { left: ofLeft.length, right: ofRight.length });
      return table.finish();
    } finally {
      table.abandon();
    }
  } finally {
    for (const path of Object.values(paths)) removeCopy(path);
  }
}

interface Widths {
  left: number;
  right: number;
}

async function fill(
  run: Run,
  kind: OverlayKind,
  sides: Sides,
  table: FeatureTable,
  widths: Widths,
): Promise<void> {
  const { left, right } = sides;
  const ofLeft = (row: FeatureRow) => [...row.values, ...nulls(widths.right)];
  const ofRight = (row: FeatureRow) => [...nulls(widths.left), ...row.values];
  if (kind === 'clip') return cut(run, 'clip', left, right, table, ofLeft);
  if (kind === 'intersect' || kind === 'union') await intersect(run, sides, table);
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
      const geometry = run.take(results[i]!, row.id);
      if (geometry) table.add(geometry, valuesOf(row));
    });
  }
}

async function intersect(run: Run, { left, right }: Sides, table: FeatureTable): Promise<void> {
  for await (const rows of run.rows(left)) {
    const near = await windowOf(run, rows, right);
    const { pairs, pieces } = intersectGeometries(geometriesOf(rows), geometriesOf(near), table.srsId);
    pieces.forEach((piece, i) => {
      const [a, b] = [rows[pairs[2 * i]!]!, near[pairs[2 * i + 1]!]!];
      const geometry = run.take(piece, a.id);
      if (geometry) table.add(geometry, [...a.values, ...b.values]);
    });
  }
}

/** The features whose envelope may meet that of some of the rows. */
async function windowOf(
  run: Run,
  rows: readonly FeatureRow[],
  others: ProcessFeatures,
): Promise<FeatureRow[]> {
  let box: Box | undefined;
  for (const { geometry } of rows) {
    const own = boxOf(geometry);
    if (own) box = box ? around(box, own) : own;
  }
  if (!box) return [];
  const { source } = others;
  const near: FeatureRow[] = [];
  const filter = bboxFilter(source.geometryColumn, box, source.crs);
  for await (const batch of run.rows({ ...others, filter })) {
    for (const row of batch) near.push(row);
    if (near.length > LIMITS.processWindow)
      throw new TaskFailure('too-large', `More than ${LIMITS.processWindow} features lie in one place.`);
  }
  return near;
}
