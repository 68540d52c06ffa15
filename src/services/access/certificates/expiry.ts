import { boundedCache } from '../../../core/values/bounded-cache.js';
import { daysLeft, type Proof, type Success } from './judgement.js';

/** A certificate that expires soon. */
export interface Expiry {
  /** Name of the holder. */
  readonly name: string;
  readonly fingerprint: string;
  /** Days until it expires. Negative for an expired certificate that is accepted in its grace period. */
  readonly days: number;
  readonly message: string;
}

const MAX_CERTIFICATES = 10_000;

/** Reports certificates that expire soon, once for each remaining day. */
export class ExpiryWatch {
  readonly #days = boundedCache<string, number>(MAX_CERTIFICATES);

  constructor(private readonly tell: (expiry: Expiry) => void) {}

  look({ profile, mapping }: Success, { leaf }: Proof, now: number): void {
    const days = daysLeft(leaf, now);
    const { fingerprint } = leaf;
    if (days > profile.body.expirationWarningThresholdDays || this.#days.get(fingerprint) === days) return;
    this.#days.set(fingerprint, days);
    const name = mapping.body.principalId;
    const ends = new Date(leaf.notAfter).toISOString();
    const message = `the client certificate ${fingerprint} of ${name} ${days < 0 ? 'expired' : 'expires'} at ${ends}`;
    this.tell({ name, fingerprint, days, message });
  }
}
