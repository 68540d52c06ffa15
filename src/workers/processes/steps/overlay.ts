import type { FeatureRow } from '../../../core/features/features.js';
import type { FeatureProcess, Measure, OverlayKind } from '../../../core/processes/feature-processes.js';
import { PROCESS_LIMITS } from '../../../core/processes/limits.js';
import type { OverlayIndex } from '../../../native/processing.js';
import { createOverlayIndexer, LayerFaults } from '../layer-index.js';
import type { Layer, SearchedLayer } from '../layers.js';
import { listGeometries, type ProcessRun, tooManyPairs } from '../run.js';
import { computeShares, SHARE_ATTRIBUTES } from '../shares.js';
import type { FeatureTable, TableValue } from '../table.js';
import { joinLayers, joinSearchedLayers, type LayerPair } from './sides.js';

type Overlay = Extract<FeatureProcess, { kind: OverlayKind }>;

/** The faults of both layers. */
interface Faults {
  readonly left: LayerFaults;
  readonly right: LayerFaults;
}

/** Overlays features with the features of another source, which are projected to the input's CRS. */
export function overlayFeatures(run: ProcessRun, { kind, measure }: Overlay): Promise<number> {
  const carries = kind !== 'clip' && kind !== 'subtract';
  const extra = measure ? SHARE_ATTRIBUTES : [];
  const faults = { left: new LayerFaults(run), right: new LayerFaults(run) };
  if (kind === 'clip' || kind === 'subtract')
    return joinLayers(run, { carries, extra }, ({ left, right }, table) =>
      cut({ kind, features: left, others: right, faults }, table, ({ values }) => values),
    );
  if (kind === 'intersect')
    return joinLayers(run, { carries, extra }, (sides, table) =>
      intersect(run, { ...sides, faults, measure }, table),
    );
  return joinSearchedLayers(run, { carries }, async (sides, table) => {
    const { left, right } = sides;
    if (kind === 'union') await intersect(run, { ...sides, faults, measure: undefined }, table);
    const [ofLeft, ofRight] = [nulls(left.attributes.length), nulls(right.attributes.length)];
    const kept = { kind: 'subtract', features: left, others: right, faults } as const;
    await cut(kept, table, ({ values }) => [...values, ...ofRight]);
    const turned = { left: faults.right, right: faults.left };
    const added = { kind: 'subtract', features: right, others: left, faults: turned } as const;
    await cut(added, table, ({ values }) => [...ofLeft, ...values]);
  });
}

const nulls = (count: number): null[] => new Array(count).fill(null);

interface Cut {
  kind: 'clip' | 'subtract';
  features: Layer;
  others: SearchedLayer;
  faults: Faults;
}

/** Returns the part of each feature inside or outside the features of the other source. */
async function cut(
  { kind, features, others, faults }: Cut,
  table: FeatureTable,
  valuesOf: (row: FeatureRow) => readonly TableValue[],
): Promise<void> {
  const indexRows = createOverlayIndexer(faults.right);
  for await (const rows of features.rows()) {
    const near = await others.near(rows);
    const results = indexRows(near).cut(listGeometries(rows), kind, table.srsId);
    rows.forEach((row, i) => {
      const geometry = faults.left.take(results[i]!, row);
      if (geometry) table.add(geometry, valuesOf(row));
    });
  }
}

interface Intersection extends LayerPair {
  faults: Faults;
  measure: Measure | undefined;
}

async function intersect(
  run: ProcessRun,
  { left, right, faults, measure }: Intersection,
  table: FeatureTable,
): Promise<void> {
  const indexRows = createOverlayIndexer(faults.right);
  let count = 0;
  for await (const all of left.rows()) {
    const near = await right.near(all);
    for (const { rows, pairs, pieces } of listPieces(run, all, indexRows(near), table.srsId)) {
      const shares = measure && computeShares({ rows, near, pairs, pieces }, left.crs, measure);
      pieces.forEach((piece, i) => {
        const [a, b] = [rows[pairs[2 * i]!]!, near[pairs[2 * i + 1]!]!];
        const geometry = faults.left.take(piece, a);
        if (geometry) table.add(geometry, [...a.values, ...b.values, ...(shares ? shares(i) : [])]);
      });
      count += pieces.length;
      if (count > PROCESS_LIMITS.processPairs) throw tooManyPairs();
    }
  }
}

/** Yields the parts that rows share with the rows of an index, for a part of the rows at a time. */
function* listPieces(run: ProcessRun, rows: readonly FeatureRow[], index: OverlayIndex, srsId: number) {
  const bounds = { maxPairs: PROCESS_LIMITS.processPieces, maxBytes: PROCESS_LIMITS.processHeldBytes };
  for (let start = 0; start < rows.length; ) {
    run.cancellation?.check();
    const rest = rows.slice(start);
    const { pairs, pieces, looks } = index.intersect(listGeometries(rest), srsId, bounds);
    yield { rows: rest.slice(0, looks), pairs, pieces };
    start += looks;
  }
}
