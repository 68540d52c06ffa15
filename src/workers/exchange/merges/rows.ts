import type { MergeRowsResult, MergeRowsTask } from '../../../core/edits/merges.js';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { FieldError } from '../../../core/errors/field-errors.js';
import type { FieldValue } from '../../../core/features/feature-values.js';
import { findField } from '../../../core/features/features.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { Field, VectorSource } from '../../../core/sources/vector-source.js';
import { canonicalDigits } from '../../../core/values/exact-number.js';
import type { JsonText } from '../../../core/values/json-text.js';
import { type MergeColumns, matchMergeColumns } from '../../edits/merges/columns.js';
import { writeReport } from '../../edits/merges/report.js';
import { MergeSpool, type ReadyRow } from '../../edits/merges/spool.js';
import { isFailure, prepareFeature } from '../../edits/prepare.js';
import type { Cancellation } from '../../threads/cancellation.js';
import { type FileRow, type FileRows, openRows } from './file-rows.js';
import { asFieldValue, isBlank } from './values.js';

/** Number of rows between two checks of the cancellation. */
const STEP = 500;

/** Checks every row of a file like an edit, and keeps the parts that will be written. */
export function mergeRows(task: MergeRowsTask, cancellation?: Cancellation): MergeRowsResult {
  const file = openRows(task.staging, task.stagingTable, task.isText);
  const columns = matchMergeColumns(file.names, task);
  requireKey(task, columns);
  const spool = MergeSpool.create(task.spool, file);
  try {
    const count = new Int32Array(task.count);
    let unplaced = 0;
    for (const row of file.read()) {
      if (row.row % STEP === 1) cancellation?.check();
      if (row.geometry === undefined && !row.problem) unplaced++;
      take(row, { task, file, columns, spool });
      Atomics.add(count, 0, 1);
    }
    const result = buildResult(spool, columns, noteUnplaced(unplaced, task));
    if (result.rejected > 0 && (!task.request.rejectRows || result.rows === 0))
      writeReport(spool, task.report);
    spool.commit();
    return result;
  } finally {
    spool.close();
  }
}

interface MergeContext {
  task: MergeRowsTask;
  file: FileRows;
  columns: MergeColumns;
  spool: MergeSpool;
}

function take(fileRow: FileRow, { task, file, columns, spool }: MergeContext): void {
  const { target, visible, writable, request } = task;
  const { row, id: fileId, geometry, values: members, problem } = fileRow;
  const reject = (reasons: FieldError[]) => spool.reject({ row, id: fileId, reasons });
  if (problem) return reject([problem]);
  const values: Record<string, JsonText> = {};
  const written: Record<string, JsonText> = {};
  const blanks: string[] = [];
  for (const [column, field] of columns.fields) {
    const json = members.get(column);
    if (json === undefined) continue;
    const value = asFieldValue(json, field, file.form);
    values[field.name] = value;
    if (value !== json) written[field.name] = json;
    if (file.form === 'text' && isBlank(json)) blanks.push(field.name);
  }
  const feature = { values, ...(geometry === undefined ? {} : { geometry }) };
  const operation = { type: 'create', feature } as const;
  const isUpsert = request.mode === 'upsert';
  const rules = { source: target, visible, writable, crs: file.crs, swapAxes: false };
  const edit = prepareFeature(operation, rules, isUpsert);
  if (isFailure(edit)) return reject(edit.errors ?? [{ name: '', detail: edit.message }]);
  const ready: ReadyRow = { row, fileId, values: edit.values };
  if (edit.geometry !== undefined) ready.geometry = edit.geometry;
  if (columns.id !== undefined) ready.id = findId(members.get(columns.id), target);
  if (isUpsert) {
    ready.sent = feature;
    ready.written = written;
    ready.blanks = blanks;
    if (edit.wrongValues) ready.wrongValues = edit.wrongValues;
    const { keyField = '' } = request;
    const name = `/properties/${keyField}`;
    ready.key =
      keyField === target.idColumn
        ? findKey(ready.id)
        : findKey(edit.values.get(keyField), findField(target, keyField));
    if (ready.key === undefined) return reject([{ name, detail: 'is required, because it is the key' }]);
    const other = spool.rowOf(ready.key);
    if (other !== undefined) return reject([{ name, detail: `is also the key of row ${other}` }]);
  }
  spool.add(ready);
}

/** Returns one spelling of each value, because UUIDs are case-insensitive. */
function findId(json: JsonText | undefined, { idType }: VectorSource): string | undefined {
  if (json === undefined || json === 'null') return undefined;
  const text = json.startsWith('"') ? (JSON.parse(json) as string) : json;
  if (text === '') return undefined;
  return idType === 'uuid' ? text.toLowerCase() : text;
}

/** Numbers by their digits, whether they are numbers or text. */
function findKey(value: FieldValue | undefined, field?: Field): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  const isNumber = field?.type === 'integer' || field?.type === 'number';
  return isNumber ? canonicalDigits(String(value)) : JSON.stringify(value);
}

function requireKey({ request: { mode, keyField } }: MergeRowsTask, { fields, id }: MergeColumns): void {
  if (mode !== 'upsert') return;
  const isThere = [...fields.values()].some(({ name }) => name === keyField);
  if (!isThere && id?.toLowerCase() !== keyField?.toLowerCase())
    throw new TaskFailure('invalid-input', `The file has no column ${keyField}, which is the key.`);
}

/** Warning about rows whose file does not say whether they have a geometry. */
function noteUnplaced(count: number, { request: { mode } }: MergeRowsTask): string[] {
  if (count === 0) return [];
  const rows = count === 1 ? '1 row of the file has' : `${count} rows of the file have`;
  return [
    mode === 'upsert'
      ? `${rows} no geometry: features that are there keep theirs.`
      : `${rows} no geometry: the features have none.`,
  ];
}

function buildResult(
  spool: MergeSpool,
  { warnings }: MergeColumns,
  notes: readonly string[],
): MergeRowsResult {
  const { count: rows, rejectedCount: rejected } = spool;
  const rejections = [...spool.rejected(LIMITS.mergeNamed)];
  return { rows, rejected, rejections, warnings: [...warnings, ...notes] };
}
