import type { FieldError } from '../../core/errors.js';
import { canonicalDigits } from '../../core/exact-number.js';
import { TaskFailure } from '../../core/failure.js';
import { featureTexts } from '../../core/feature-text.js';
import type { FieldValue } from '../../core/feature-values.js';
import { fieldOf, type PageKey } from '../../core/features.js';
import { type JsonText, membersIn } from '../../core/json-text.js';
import { LIMITS } from '../../core/limits.js';
import type { MergeRowsResult, MergeRowsTask } from '../../core/merges.js';
import type { Field, GeoPackageSource, VectorSource } from '../../core/vector-source.js';
import type { Cancellation } from '../cancellation.js';
import { isFailure, prepareFeature } from '../edits/prepare.js';
import { inspect } from '../providers/geopackage/inspect.js';
import { items } from '../providers/geopackage/items.js';
import { type Columns, columnsOf } from './columns.js';
import { writeReport } from './report.js';
import { type ReadyRow, Spool } from './spool.js';
import { asFieldValue } from './values.js';

const PAGE = 500;
const PAGE_BYTES = 8_388_608;
/** Decimal places that tell any two stored positions apart. */
const EXACT = 15;

/** A feature of the file. */
interface FileRow {
  row: number;
  id: string;
  geometry: string;
  properties: string;
}

/** Checks every row of a file as edits are checked, and keeps what of them will be written. */
export function mergeRows(task: MergeRowsTask, cancellation?: Cancellation): MergeRowsResult {
  const file = stagedSource(task);
  const columns = columnsOf(file, task);
  requireKey(task, columns);
  const spool = Spool.create(task.spool, file.crs);
  try {
    const count = new Int32Array(task.count);
    for (const feature of featuresOf(file)) {
      if (feature.row % PAGE === 1) cancellation?.check();
      take(feature, { task, file, columns, spool });
      Atomics.add(count, 0, 1);
    }
    const result = resultOf(spool, columns);
    if (result.rejected > 0 && (!task.request.rejectRows || result.rows === 0))
      writeReport(spool, task.report);
    spool.commit();
    return result;
  } finally {
    spool.close();
  }
}

interface Taking {
  task: MergeRowsTask;
  file: VectorSource;
  columns: Columns;
  spool: Spool;
}

function take(feature: FileRow, { task, file, columns, spool }: Taking): void {
  const { target, visible, writable, request } = task;
  const { row, id: fileId, geometry } = feature;
  const reject = (reasons: FieldError[]) => spool.reject({ row, id: fileId, reasons });
  const members = membersIn(feature.properties)!;
  const values = Object.fromEntries(
    [...columns.fields].map(([column, field]) => [
      field.name,
      asFieldValue(members.get(column) ?? 'null', field),
    ]),
  );
  const operation = { type: 'create', feature: { geometry, values } } as const;
  const edit = prepareFeature(operation, {
    ...{ source: target, visible, writable },
    ...{ crs: file.crs, swapAxes: false },
  });
  if (isFailure(edit)) return reject(edit.errors ?? [{ name: '', detail: edit.message }]);
  const ready: ReadyRow = { row, fileId, geometry: edit.geometry ?? null, values: edit.values };
  if (columns.id !== undefined) ready.id = idOf(members.get(columns.id), target);
  if (request.mode === 'upsert') {
    ready.sent = operation.feature;
    const { keyField = '' } = request;
    const name = `/properties/${keyField}`;
    ready.key =
      keyField === target.idColumn
        ? keyOf(ready.id)
        : keyOf(edit.values.get(keyField), fieldOf(target, keyField));
    if (ready.key === undefined) return reject([{ name, detail: 'is the key, and missing' }]);
    const other = spool.rowOf(ready.key);
    if (other !== undefined) return reject([{ name, detail: `is the key of row ${other}, too` }]);
  }
  spool.add(ready);
}

/** One writing of each value: those of UUIDs do not differ in their case. */
function idOf(json: JsonText | undefined, { idType }: VectorSource): string | undefined {
  if (json === undefined || json === 'null') return undefined;
  const text = json.startsWith('"') ? (JSON.parse(json) as string) : json;
  if (text === '') return undefined;
  return idType === 'uuid' ? text.toLowerCase() : text;
}

/** Numbers by their digits, whether they are numbers or text. */
function keyOf(value: FieldValue | undefined, field?: Field): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  const isNumber = field?.type === 'integer' || field?.type === 'number';
  return isNumber ? canonicalDigits(String(value)) : JSON.stringify(value);
}

function requireKey({ request: { mode, keyField } }: MergeRowsTask, { fields, id }: Columns): void {
  if (mode !== 'upsert') return;
  const isThere = [...fields.values()].some(({ name }) => name === keyField);
  if (!isThere && id?.toLowerCase() !== keyField?.toLowerCase())
    throw new TaskFailure('invalid-input', `The file has no column ${keyField}, which is the key.`);
}

function stagedSource({ staging, stagingTable }: MergeRowsTask): GeoPackageSource {
  const layer = inspect(staging).find(({ source }) => source.table === stagingTable);
  if (!layer) throw new TaskFailure('invalid-input', 'The staging file has no such feature table.');
  return layer.source as GeoPackageSource;
}

/** All rows in the order of their ids, which is that of the file where it has none of its own. */
function* featuresOf(source: GeoPackageSource): Generator<FileRow> {
  let after: PageKey | undefined;
  let row = 0;
  for (let more = true; more; ) {
    const page = items({
      ...{ source, filter: undefined, format: 'geojson', crs: source.crs, swapAxes: false, precision: EXACT },
      ...{ limit: PAGE, offset: 0, maxBytes: PAGE_BYTES },
      ...(after ? { after } : {}),
    });
    for (const { id, geometry, properties } of featureTexts(page.features))
      yield { row: ++row, id, geometry, properties };
    after = page.last;
    more = page.more && page.returned > 0;
  }
}

function resultOf(spool: Spool, { warnings }: Columns): MergeRowsResult {
  const { count: rows, rejectedCount: rejected } = spool;
  return { rows, rejected, rejections: [...spool.rejected(LIMITS.mergeNamed)], warnings };
}
