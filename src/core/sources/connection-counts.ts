/** Statistics of the database connections of a thread, in memory shared with the gateway. */

/** Upper bounds of the buckets of the time to get a connection, in milliseconds. */
export const ACQUISITION_BOUNDS = [1, 5, 25, 100, 1000, 10_000] as const;

const FIELDS = ['capacity', 'open', 'active', 'acquisitions', 'waitMs', 'failures', 'timeouts'] as const;
type Field = (typeof FIELDS)[number];

export interface ConnectionTotals extends Record<Field, number> {
  /** Acquisitions by duration; one more than `ACQUISITION_BOUNDS`. */
  buckets: number[];
}

/** One thread writes; all other threads only read. */
export class ConnectionCounts {
  readonly #values: Float64Array;

  constructor(readonly shared: SharedArrayBuffer = emptyCounts()) {
    this.#values = new Float64Array(shared);
  }

  add(field: Field, by: number): void {
    this.#values[FIELDS.indexOf(field)]! += by;
  }

  acquired(ms: number): void {
    this.add('acquisitions', 1);
    this.add('waitMs', ms);
    const at = ACQUISITION_BOUNDS.findIndex((bound) => ms <= bound);
    this.#values[FIELDS.length + (at < 0 ? ACQUISITION_BOUNDS.length : at)]! += 1;
  }

  get totals(): ConnectionTotals {
    const totals = { buckets: [...this.#values.subarray(FIELDS.length)] } as ConnectionTotals;
    FIELDS.forEach((field, i) => {
      totals[field] = this.#values[i]!;
    });
    return totals;
  }
}

function emptyCounts(): SharedArrayBuffer {
  return new SharedArrayBuffer(
    (FIELDS.length + ACQUISITION_BOUNDS.length + 1) * Float64Array.BYTES_PER_ELEMENT,
  );
}

/** The sum over several threads. */
export function sumConnectionCounts(counts: readonly ConnectionCounts[]): ConnectionTotals {
  const sum = new ConnectionCounts().totals;
  for (const { totals } of counts) {
    for (const field of FIELDS) sum[field] += totals[field];
    totals.buckets.forEach((n, i) => {
      sum.buckets[i]! += n;
    });
  }
  return sum;
}
