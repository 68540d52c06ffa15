import { ApiError } from '../../../core/errors/errors.js';
import { computeClientNetwork, unmapped } from '../../../core/kit/networks.js';
import type { RateBucketStore } from '../../../stores/access/rate-buckets.js';

/** Milliseconds in which an address gets all of its attempts back. */
const WINDOW_MS = 900_000;

/** Wrong passwords and client secrets of an address, counted by all processes of a state together. */
export class Attempts {
  /** `perAddress`: wrong attempts within 15 minutes; 0: any number. */
  constructor(
    private readonly buckets: Pick<RateBucketStore, 'take' | 'putBack'>,
    private readonly perAddress: number,
  ) {}

  /**
   * Does the work, which gives undefined for a wrong secret. The attempt is taken before and given back for a right one:
   * guesses side by side are as many as one after the other. Throws `too-many-requests`.
   */
  async spend<T>(address: string, work: () => Promise<T | undefined>): Promise<T | undefined> {
    // If there is no address, the connection is lost and no client reads the response.
    if (this.perAddress === 0 || address === '') return work();
    const size = { capacity: this.perAddress, windowMs: WINDOW_MS };
    const bucket = `password ${computeClientNetwork(unmapped(address))}`;
    const { taken, left } = await this.buckets.take(bucket, 1, size);
    if (taken === 0) throw tooMany(((1 - left) / this.perAddress) * WINDOW_MS);
    let found: T | undefined;
    let isKnown = false;
    try {
      found = await work();
      isKnown = true;
      return found;
    } finally {
      if (found !== undefined || !isKnown) await this.buckets.putBack(bucket);
    }
  }
}

/** No limit, for the command line and tests, which have no client address. */
export const UNLIMITED: Pick<Attempts, 'spend'> = { spend: (_address, work) => work() };

function tooMany(waitMs: number): ApiError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  return new ApiError(
    'too-many-requests',
    `Too many wrong passwords came from this IP address. Retry in ${seconds} seconds.`,
    { headers: { 'retry-after': String(seconds) } },
  );
}
