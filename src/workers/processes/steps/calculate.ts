import { isArray, isCall, isInterval, isProperty, type Operand } from '../../../core/cql2/ast.js';
import { type FeatureProcess, RESULT_TABLE } from '../../../core/processes/feature-processes.js';
import { type GeoPackageSource, hasIntegerIds } from '../../../core/sources/vector-source.js';
import { connect, quote } from '../../providers/geopackage/connection.js';
import { GeoPackageFilterWriter, storedInstantSql } from '../../providers/geopackage/queries/filter-sql.js';
import { inspectGeoPackage } from '../../providers/geopackage/schema/inspect.js';
import { mapFeatures } from '../map.js';
import { listProcessAttributes, type ProcessRun } from '../run.js';

type Calculate = Extract<FeatureProcess, { kind: 'calculate' }>;

/** Rows that are changed between two checks of the cancellation. */
const STEP = 10_000;
/** Id below all ids, for tables that do not contain it. */
const BEFORE_ALL = -(2n ** 63n);

/** Each feature with the value of an expression. Whatever the store is, the result is a GeoPackage, whose SQL works it out. */
export async function calculateField(run: ProcessRun, process: Calculate): Promise<number> {
  const { name, type } = process;
  const addition = {
    attributes: [{ name, type }],
    valuesOf: (rows: readonly unknown[]) => rows.map(() => [null]),
  };
  const features = await mapFeatures(run, { kind: 'map', operation: { name: 'none' } }, addition);
  if (features > 0) update(run, process);
  return features;
}

function update(run: ProcessRun, { name, type, expression }: Calculate): void {
  const { input, output } = run.task;
  const result = inspectGeoPackage(output)[0]!.source as GeoPackageSource;
  // Values are of the kinds that the expression was checked with.
  const schema = { ...result, fields: input.source.fields };
  const { sql, values } = new GeoPackageFilterWriter(schema).operand(inResult(expression, run, result));
  const value = type === 'date-time' ? storedInstantSql(sql) : sql;
  const db = connect(output, false);
  try {
    db.pragma('journal_mode = MEMORY');
    const id = quote(result.idColumn);
    const change = db.prepare(
      `UPDATE ${RESULT_TABLE} AS t SET ${quote(name)} = ${value} WHERE ${id} >= ? AND ${id} <= ?`,
    );
    const ends = db.prepare(
      `SELECT min(id), max(id) FROM (SELECT ${id} AS id FROM ${RESULT_TABLE} WHERE ${id} > ? ORDER BY ${id} LIMIT ${STEP})`,
    );
    const after = ends.raw().safeIntegers();
    db.transaction(() => {
      for (let last = BEFORE_ALL; ; ) {
        run.cancellation?.check();
        const [first, end] = after.get(last) as [bigint | null, bigint | null];
        if (first === null || end === null) return;
        change.run(...values, first, end);
        last = end;
      }
    })();
  } finally {
    db.close();
  }
}

/** The expression with the names that ids and geometries have in the result. */
function inResult(operand: Operand, run: ProcessRun, result: GeoPackageSource): Operand {
  const { source } = run.task.input;
  const attributes = new Set(listProcessAttributes(run.task.input).map((attribute) => attribute.name));
  const formatName = (property: string) => {
    if (attributes.has(property)) return property;
    if (property === source.geometryColumn) return result.geometryColumn;
    if (property !== source.idColumn) return property;
    return hasIntegerIds(source) ? result.idColumn : source.idColumn;
  };
  const rename = (value: Operand): Operand => {
    if (typeof value !== 'object') return value;
    if (isArray(value)) return value.map(rename);
    if (isCall(value)) return { op: value.op, args: value.args.map(rename) };
    if (isProperty(value)) return { property: formatName(value.property) };
    if (!isInterval(value)) return value;
    const [start, end] = value.interval;
    return { interval: [rename(start) as typeof start, rename(end) as typeof end] };
  };
  return rename(operand);
}
