/** The two-phase reload: all gateways switch to the new configuration, or none does. */

import type { ToSupervisor } from './messages.js';
import type { SlotChild } from './slot.js';

export type ReloadOutcome = { ok: true } | { ok: false; reason: string };

type Prepared = Extract<ToSupervisor, { type: 'prepared' }>;

const PREPARE_TIMEOUT_MS = 60_000;

export class Reloader {
  #round = 0;
  #waiting = new Map<SlotChild, (outcome: ReloadOutcome) => void>();
  #current: Promise<ReloadOutcome> | null = null;
  #next: Promise<ReloadOutcome> | null = null;

  constructor(private readonly gateways: () => SlotChild[]) {}

  /** Reloads once the running reload, if any, has ended; requests that come meanwhile share one further round. */
  reload(): Promise<ReloadOutcome> {
    if (!this.#current) return this.#start();
    this.#next ??= this.#current.then(() => {
      this.#next = null;
      return this.#start();
    });
    return this.#next;
  }

  receive(message: Prepared, child: SlotChild): void {
    if (message.round !== this.#round) return;
    this.#waiting.get(child)?.(message.ok ? { ok: true } : { ok: false, reason: message.reason });
  }

  #start(): Promise<ReloadOutcome> {
    this.#current = this.#runRound().finally(() => {
      this.#current = null;
    });
    return this.#current;
  }

  async #runRound(): Promise<ReloadOutcome> {
    const children = this.gateways();
    if (children.length === 0) return { ok: false, reason: 'no gateway is running' };
    this.#round += 1;
    const round = this.#round;
    const outcomes = await Promise.all(children.map((child) => this.#prepare(child, round)));
    this.#waiting.clear();
    const failed = outcomes.find((outcome) => !outcome.ok);
    for (const child of children) child.send({ type: failed ? 'abort' : 'commit', round });
    return failed ?? { ok: true };
  }

  #prepare(child: SlotChild, round: number): Promise<ReloadOutcome> {
    return new Promise((resolve) => {
      const late = { ok: false, reason: `a gateway did not answer within ${PREPARE_TIMEOUT_MS} ms` } as const;
      const timer = setTimeout(() => end(late), PREPARE_TIMEOUT_MS);
      const onExit = () => end({ ok: false, reason: 'a gateway ended while it was preparing' });
      const end = (outcome: ReloadOutcome) => {
        clearTimeout(timer);
        child.process.off('exit', onExit);
        resolve(outcome);
      };
      child.process.once('exit', onExit);
      this.#waiting.set(child, end);
      child.send({ type: 'prepare', round });
    });
  }
}
