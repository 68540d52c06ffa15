import { type FeatureRow, findField } from '../../../core/features/features.js';
import type {
  BooleanStatistics,
  FieldStatistics,
  NumberStatistics,
  StatisticsResult,
  StatisticsTask,
  TextStatistics,
  TimeStatistics,
} from '../../../core/features/field-statistics.js';
import { FEATURE_LIMITS } from '../../../core/features/limits.js';
import type { FieldType } from '../../../core/sources/vector-source.js';
import { getFeatureStore } from '../../providers/store.js';
import type { Cancellation } from '../../threads/cancellation.js';
import { BooleanColumn, type ColumnCollector, NumberColumn, TextColumn, TimeColumn } from './columns.js';

type AnyStatistics = NumberStatistics | TextStatistics | TimeStatistics | BooleanStatistics;

/**
 * Returns statistics of all fields in one pass over the rows. Limits of rows and of time can end it early, which the
 * result states.
 */
export async function fieldStatistics(
  { source, filter, fields }: StatisticsTask,
  cancellation?: Cancellation,
  limits: { rows: number; ms: number } = {
    rows: FEATURE_LIMITS.statisticsRows,
    ms: FEATURE_LIMITS.statisticsMs,
  },
): Promise<StatisticsResult> {
  const columns = fields.map(
    (name) => new FieldCollector(name, buildColumn(findField(source, name)!.type, fields.length)),
  );
  const until = performance.now() + limits.ms;
  const query = { source, filter, fields, geometry: false, limit: limits.rows + 1, exact: true };
  let read = 0;
  let complete = true;
  for await (const batch of getFeatureStore(source).rows(query, cancellation)) {
    cancellation?.check();
    const rows = batch.slice(0, limits.rows - read);
    for (const [i, column] of columns.entries()) column.add(rows, i);
    read += rows.length;
    complete = rows.length === batch.length;
    if (!complete) break;
    if (performance.now() < until) continue;
    complete = false;
    break;
  }
  return { read, complete, fields: columns.map((column) => column.statistics()) };
}

/** Texts that all columns count at a time, together. */
const TEXTS = 200_000;

function buildColumn(type: FieldType, columns: number): ColumnCollector<AnyStatistics> {
  switch (type) {
    case 'integer':
    case 'number':
      return new NumberColumn(type === 'integer');
    case 'boolean':
      return new BooleanColumn();
    case 'date':
    case 'date-time':
      return new TimeColumn(type === 'date');
    default:
      return new TextColumn(Math.min(20_000, Math.max(200, Math.floor(TEXTS / columns))));
  }
}

class FieldCollector {
  #count = 0;
  #nulls = 0;

  constructor(
    readonly name: string,
    readonly column: ColumnCollector<AnyStatistics>,
  ) {}

  /** Takes the values at place `i` of rows. */
  add(rows: readonly FeatureRow[], i: number): void {
    for (const { values } of rows) {
      const value = values[i];
      if (value === null || value === undefined) this.#nulls++;
      else {
        this.#count++;
        this.column.add(value);
      }
    }
  }

  statistics(): FieldStatistics {
    return { name: this.name, count: this.#count, nulls: this.#nulls, ...this.column.statistics() };
  }
}
