import type { FeatureRow } from '../../../core/features/features.js';
import type { Box } from '../../../core/geometry/box.js';
import type { FeatureProcess } from '../../../core/processes/feature-processes.js';
import { geojsonToWkb, validateGeometry, wkbToGeoPackage } from '../../../native/index.js';
import { processGeometries } from '../../../native/processing.js';
import { readBlobBox } from '../blob.js';
import { KeyFile } from '../key-file.js';
import { getIdType, listGeometries, type ProcessRun } from '../run.js';
import { FeatureTable } from '../table.js';
import { normalForms } from './normal-forms.js';

type Quality = Extract<FeatureProcess, { kind: 'quality' }>;

/** A fault of a feature; without a feature, how many there are. */
interface Finding {
  check: string;
  row?: FeatureRow;
  geometry?: Uint8Array | null;
  field?: string;
  detail?: string;
  count?: number;
}

/** A feature for each fault, in the order of the features; then the nulls of each field, and how many features there are. */
export async function reportQuality(run: ProcessRun, { extent }: Quality): Promise<number> {
  const { input, output } = run.task;
  const table = FeatureTable.create(output, input.source.crs, [
    { name: 'check', type: 'string' },
    { name: 'featureId', type: getIdType(input.source) },
    { name: 'field', type: 'string' },
    { name: 'detail', type: 'string' },
    { name: 'count', type: 'integer' },
  ]);
  const report = ({ check, row, geometry = null, field, detail, count }: Finding) =>
    table.add(geometry, [check, row?.id, field, detail, count]);
  const keys = new KeyFile(`${output}.keys`);
  const nulls = input.fields.map(() => 0);
  let features = 0;
  try {
    for await (const rows of run.rows(input)) {
      features += rows.length;
      for (const finding of listFindings(rows, run, table, keys, extent)) report(finding);
      for (const { values } of rows) {
        for (const [i, value] of values.entries()) if (value === null) nulls[i]!++;
      }
    }
    for (const [i, field] of input.fields.entries())
      report({ check: 'null-values', field, count: nulls[i]! });
    report({ check: 'features', count: features });
    return table.finish();
  } finally {
    table.abandon();
    keys.remove();
  }
}

function* listFindings(
  rows: readonly FeatureRow[],
  run: ProcessRun,
  { crs, srsId }: FeatureTable,
  keys: KeyFile,
  extent: Box | undefined,
): Iterable<Finding> {
  const blobs = listGeometries(rows);
  const copies = processGeometries(blobs, { name: 'none' }, { crs, target: crs, srsId });
  const forms = normalForms(blobs, crs);
  for (const [i, row] of rows.entries()) {
    run.cancellation?.check();
    const [blob, copy] = [blobs[i]!, copies[i]!];
    if (blob === null) yield { check: 'null-geometry', row };
    else if (copy === null) yield { check: 'empty-geometry', row };
    else if (typeof copy === 'string') yield { check: 'invalid-geometry', row, detail: copy };
    else {
      yield* invalidity(row, blob, copy, srsId);
      const first = keys.firstOf([forms[i]!], String(row.id));
      if (first !== undefined)
        yield { check: 'duplicate-geometry', row, geometry: copy, detail: `the same as ${first}` };
      const box = readBlobBox(copy);
      if (extent && box && !holds(extent, box)) yield { check: 'out-of-extent', row, geometry: copy };
    }
  }
}

/** Yields the position at which a geometry is not valid, if GEOS reports one. */
function* invalidity(row: FeatureRow, blob: Uint8Array, copy: Uint8Array, srsId: number): Iterable<Finding> {
  const fault = validateGeometry(blob);
  if (!fault) return;
  const { reason: detail, x, y } = fault;
  const place = { type: 'Point', coordinates: [x, y] };
  const geometry =
    x === undefined || y === undefined
      ? copy
      : wkbToGeoPackage(geojsonToWkb(place, { from: 'OGC:CRS84', to: 'OGC:CRS84' }), srsId);
  yield { check: 'invalid-geometry', row, geometry, detail };
}

const holds = ([west, south, east, north]: Box, [w, s, e, n]: Box) =>
  w >= west && s >= south && e <= east && n <= north;
