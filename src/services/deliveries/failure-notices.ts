import type { Notices } from '../notices/notices.js';
import { DELIVERY_LIMITS } from './limits.js';

/** Notices to operators about failing receivers: at most one per receiver and hour. */
export class FailureNotices {
  readonly #sent = new Map<string, number>();

  constructor(
    private readonly notices: Notices,
    private readonly now: () => number = () => performance.now(),
  ) {}

  report(subject: string, message: string): void {
    const last = this.#sent.get(subject);
    if (last !== undefined && this.now() - last < DELIVERY_LIMITS.noticeMs) return;
    this.#sent.set(subject, this.now());
    this.notices.notify({ kind: 'delivery-failing', severity: 'error', subject, message });
  }
}
