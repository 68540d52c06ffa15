import { TaskFailure } from '../../core/errors/failure.js';
import type { FeatureRow } from '../../core/features/features.js';
import { RESULT_TABLE } from '../../core/processes/feature-processes.js';
import { PROCESS_LIMITS } from '../../core/processes/limits.js';
import { centroids } from '../../native/analytics.js';
import { type Metric, metric } from '../features/analytics/plane.js';
import { connect, quote } from '../providers/geopackage/connection.js';
import { listGeometries, type ProcessRun } from './run.js';
import type { TableValue } from './table.js';

const CRS84 = 'OGC:CRS84';

/** Centroids of features, and a number of each, which are in memory together. */
export class Centroids {
  readonly #parts: Float64Array[] = [];
  readonly #values: Float64Array[] = [];
  #count = 0;

  /** `ground`: positions are longitudes and latitudes. Otherwise they are in the plane of the features. */
  constructor(
    private readonly crs: string,
    readonly ground: boolean,
  ) {}

  /**
   * Adds features. Returns the index of each among all features; undefined for features without a position or a
   * number. Throws `too-large`.
   */
  add(rows: readonly FeatureRow[], weightOf: (row: FeatureRow) => number): (number | undefined)[] {
    const xy = centroids(listGeometries(rows), this.crs, this.ground ? CRS84 : this.crs);
    const [positions, values] = [new Float64Array(xy.length), new Float64Array(rows.length)];
    let length = 0;
    const places = rows.map((row, i) => {
      const value = weightOf(row);
      if (Number.isNaN(xy[2 * i]!) || !Number.isFinite(value)) return undefined;
      positions.set(xy.subarray(2 * i, 2 * i + 2), 2 * length);
      values[length++] = value;
      return this.#count++;
    });
    if (this.#count > PROCESS_LIMITS.processPlaces)
      throw new TaskFailure(
        'too-large',
        `This process supports at most ${PROCESS_LIMITS.processPlaces} features.`,
      );
    this.#parts.push(positions.subarray(0, 2 * length));
    this.#values.push(values.subarray(0, length));
    return places;
  }

  /** x and y by turns. */
  positions(): Float64Array {
    return concatenate(this.#parts);
  }

  values(): Float64Array {
    return concatenate(this.#values);
  }

  /** Points whose straight distances are those over the ground, or in the plane. */
  metric(): Metric {
    const positions = this.positions();
    return this.ground ? metric(positions) : { points: positions, dimensions: 2 };
  }
}

function concatenate(parts: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** The number of a field; NaN for null. */
export const numberAt = ({ values }: FeatureRow, at: number) =>
  values[at] === null ? Number.NaN : Number(values[at]);

/** Calls between two checks of the cancellation. */
const LOOK_EVERY = 10_000;

/**
 * Writes these values into the last columns of the result, which contain indices. Their names come from the table,
 * because they depend on the input's attributes.
 */
export function replacePlaces(
  run: ProcessRun,
  replacements: readonly ((place: number) => TableValue)[],
): void {
  const db = connect(run.task.output, false);
  try {
    db.pragma('journal_mode = MEMORY');
    const columns = db.prepare('SELECT name FROM pragma_table_info(?) ORDER BY cid').pluck();
    const names = (columns.all(RESULT_TABLE) as string[]).slice(-replacements.length);
    let calls = 0;
    const changes = replacements.map((replace, i) => {
      db.function(`value_${i}`, (place) => {
        if (calls++ % LOOK_EVERY === 0) run.cancellation?.check();
        return place === null ? null : replace(Number(place));
      });
      const name = quote(names[i]!);
      return `${name} = value_${i}(${name})`;
    });
    db.exec(`UPDATE ${RESULT_TABLE} SET ${changes.join(', ')}`);
  } finally {
    db.close();
  }
}
