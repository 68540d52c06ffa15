import { type FeatureQuery, type FeatureRow, findField } from '../../../core/features/features.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { isDecimal, type VectorSource } from '../../../core/sources/vector-source.js';
import { readNumber } from '../../../core/values/exact-number.js';
import { centroids } from '../../../native/analytics.js';
import { getFeatureStore } from '../../providers/store.js';
import type { Cancellation } from '../../threads/cancellation.js';
import type { Value } from './statistics.js';

/** The features that an operation computes with. */
export interface Input {
  rows: FeatureRow[];
  /** True if the store has more rows than the limit allows to read. */
  truncated: boolean;
}

/** Reads features in the order of their ids, up to the limit of the contract. */
export async function readInput(
  { source, filter }: FeatureQuery,
  fields: readonly string[],
  cancellation?: Cancellation,
): Promise<Input> {
  const rows: FeatureRow[] = [];
  const query = {
    source,
    filter,
    fields: [...fields],
    geometry: true,
    limit: LIMITS.analyticsInput + 1,
    exact: true,
  };
  for await (const batch of getFeatureStore(source).rows(query, cancellation)) {
    cancellation?.check();
    readDecimals(source, fields, batch);
    for (const row of batch) rows.push(row);
  }
  const truncated = rows.length > LIMITS.analyticsInput;
  if (truncated) rows.length = LIMITS.analyticsInput;
  return { rows, truncated };
}

/** Decimals of a database, which are text, become numbers with all their digits. */
export function readDecimals(
  source: VectorSource,
  fields: readonly string[],
  rows: readonly FeatureRow[],
): void {
  const places = fields.flatMap((name, i) => {
    const field = findField(source, name)!;
    return isDecimal(field) && !field.mask ? [i] : [];
  });
  if (places.length === 0) return;
  for (const { values } of rows as readonly { values: Value[] }[])
    for (const i of places) {
      const text = values[i];
      if (typeof text === 'string') values[i] = readNumber(text) ?? Number(text);
    }
}

/** Features that have a centroid, and these as longitude, latitude pairs. */
export interface FeatureCentroids {
  rows: FeatureRow[];
  positions: Float64Array;
}

/** Omits features without a geometry. */
export function located(rows: readonly FeatureRow[], crs: string): FeatureCentroids {
  const centres = centroids(
    rows.map((row) => row.geometry),
    crs,
  );
  const placedRows = rows.filter((_, i) => !Number.isNaN(centres[2 * i]!));
  if (placedRows.length === rows.length) return { rows: placedRows, positions: centres };
  return { rows: placedRows, positions: centres.filter((ordinate) => !Number.isNaN(ordinate)) };
}

/** The names without repeats, and where each is among them. */
export function indexColumns(...names: readonly (readonly string[])[]): {
  fields: string[];
  at(name: string): number;
} {
  const fields = [...new Set(names.flat())];
  const places = new Map(fields.map((name, i) => [name, i]));
  return { fields, at: (name) => places.get(name)! };
}
