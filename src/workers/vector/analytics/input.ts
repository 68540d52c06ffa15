import type { FeatureQuery, FeatureRow } from '../../../core/features.js';
import { LIMITS } from '../../../core/limits.js';
import { centroids } from '../../../native/analytics.js';
import type { Cancellation } from '../../cancellation.js';
import { storeOf } from '../../providers/store.js';

/** The features that an operation computes with. */
export interface Input {
  rows: FeatureRow[];
  /** True when the store has more of them than may be read. */
  truncated: boolean;
}

/** Reads features in the order of their ids, up to the limit of the contract. */
export async function readInput(
  { source, filter }: FeatureQuery,
  fields: readonly string[],
  cancellation?: Cancellation,
): Promise<Input> {
  const rows: FeatureRow[] = [];
  const query = { source, filter, fields: [...fields], geometry: true, limit: LIMITS.analyticsInput + 1 };
  for await (const batch of storeOf(source).rows(query, cancellation)) {
    cancellation?.check();
    for (const row of batch) rows.push(row);
  }
  const truncated = rows.length > LIMITS.analyticsInput;
  if (truncated) rows.length = LIMITS.analyticsInput;
  return { rows, truncated };
}

/** Features that have a centroid, and these as longitude, latitude pairs. */
export interface Located {
  rows: FeatureRow[];
  positions: Float64Array;
}

/** Leaves out features without a place. */
export function located(rows: readonly FeatureRow[], crs: string): Located {
  const centres = centroids(
    rows.map((row) => row.geometry),
    crs,
  );
  const placedRows = rows.filter((_, i) => !Number.isNaN(centres[2 * i]!));
  if (placedRows.length === rows.length) return { rows: placedRows, positions: centres };
  return { rows: placedRows, positions: centres.filter((ordinate) => !Number.isNaN(ordinate)) };
}

/** The names without repeats, and where each is among them. */
export function columnsOf(...names: readonly (readonly string[])[]): {
  fields: string[];
  at(name: string): number;
} {
  const fields = [...new Set(names.flat())];
  const places = new Map(fields.map((name, i) => [name, i]));
  return { fields, at: (name) => places.get(name)! };
}
