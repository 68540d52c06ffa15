/**
 * Latencies are counted in log-linear buckets: each doubling has 16 buckets of equal width, so the middle of a bucket
 * differs from each of its values by at most 1/32. 128 buckets of this precision would span only a factor of 256, but
 * cached tiles take tens of microseconds and large exports minutes.
 */
const BITS_PER_DOUBLING = 4;
/** The first bucket starts at 2^-7 ms (8 µs), and the last one ends at 2^17 ms (131 s). */
const FIRST_EXPONENT = -7;
const LAST_EXPONENT = 17;
const PER_DOUBLING = 1 << BITS_PER_DOUBLING;
export const LATENCY_BUCKETS = (LAST_EXPONENT - FIRST_EXPONENT) * PER_DOUBLING;

const EXPONENT_BIAS = 127;
const MANTISSA_BITS = 23;
/** A float has its exponent and then its mantissa, so its highest bits are the number of its bucket. */
const SHIFT = MANTISSA_BITS - BITS_PER_DOUBLING;
const FIRST = (EXPONENT_BIAS + FIRST_EXPONENT) << BITS_PER_DOUBLING;
const float = new Float32Array(1);
const bits = new Int32Array(float.buffer);

/** Bucket of a latency in milliseconds. Values outside all buckets are in the first or the last one. */
export function findLatencyBucket(ms: number): number {
  float[0] = ms;
  const bucket = (bits[0]! >> SHIFT) - FIRST;
  return bucket < 0 ? 0 : bucket >= LATENCY_BUCKETS ? LATENCY_BUCKETS - 1 : bucket;
}

/** Middle of a bucket, in milliseconds. */
function findMiddle(bucket: number): number {
  const doubling = 2 ** (FIRST_EXPONENT + (bucket >> BITS_PER_DOUBLING));
  return doubling * (1 + ((bucket & (PER_DOUBLING - 1)) + 0.5) / PER_DOUBLING);
}

/** Sums of latencies as JSON data. */
export interface LatencySample {
  readonly requests: number;
  readonly errors: number;
  readonly maxMs: number;
  /** Pairs of a bucket and its number of requests, as one list. */
  readonly counts: readonly number[];
}

/** Latency and errors of some requests. Sums of several processes and periods are added exactly. */
export class LatencySums {
  requests = 0;
  /** Requests that failed in the server. */
  errors = 0;
  maxMs = 0;
  readonly #counts = new Uint32Array(LATENCY_BUCKETS);

  /** Records a request. Called for each response, so it creates no objects. */
  record(ms: number, isError: boolean): void {
    this.requests++;
    if (isError) this.errors++;
    if (ms > this.maxMs) this.maxMs = ms;
    this.#counts[findLatencyBucket(ms)]! += 1;
  }

  add({ requests, errors, maxMs, counts }: LatencySample): void {
    this.requests += requests;
    this.errors += errors;
    this.maxMs = Math.max(this.maxMs, maxMs);
    for (let i = 0; i + 1 < counts.length; i += 2) this.#counts[counts[i]!]! += counts[i + 1]!;
  }

  /** The smallest latency that at least this share of the requests does not exceed. 0 without requests. */
  percentile(share: number): number {
    const rank = Math.max(1, Math.ceil(share * this.requests));
    if (rank >= this.requests) return this.maxMs;
    let seen = 0;
    for (let bucket = 0; bucket < LATENCY_BUCKETS; bucket++) {
      seen += this.#counts[bucket]!;
      if (seen >= rank) return Math.min(findMiddle(bucket), this.maxMs);
    }
    return this.maxMs;
  }

  sample(): LatencySample {
    const { requests, errors, maxMs } = this;
    const counts: number[] = [];
    for (let bucket = 0; bucket < LATENCY_BUCKETS; bucket++) {
      const count = this.#counts[bucket]!;
      if (count > 0) counts.push(bucket, count);
    }
    return { requests, errors, maxMs, counts };
  }

  clear(): void {
    this.requests = 0;
    this.errors = 0;
    this.maxMs = 0;
    this.#counts.fill(0);
  }
}

/** Latencies by protocol. */
export type ProtocolLatencies = Map<string, LatencySums>;

export function addLatencies(
  to: ProtocolLatencies,
  samples: Iterable<readonly [protocol: string, sample: LatencySample]>,
): void {
  for (const [protocol, sample] of samples) {
    let sums = to.get(protocol);
    if (!sums) to.set(protocol, (sums = new LatencySums()));
    sums.add(sample);
  }
}

/** Latency of the requests that this process is counting. */
export class LatencyRecorder {
  readonly #cells: ProtocolLatencies = new Map();

  /** Sums of a protocol. Keep them: finding them is the slow part. */
  cell(protocol: string): LatencySums {
    let cell = this.#cells.get(protocol);
    if (!cell) this.#cells.set(protocol, (cell = new LatencySums()));
    return cell;
  }

  /** Sums of the protocols with requests. */
  read(): [protocol: string, sample: LatencySample][] {
    return [...this.#cells]
      .filter(([, { requests }]) => requests > 0)
      .map(([protocol, sums]) => [protocol, sums.sample()]);
  }

  /** Like `read`. The next request starts new sums. */
  take(): [protocol: string, sample: LatencySample][] {
    const taken = this.read();
    for (const cell of this.#cells.values()) cell.clear();
    return taken;
  }
}
