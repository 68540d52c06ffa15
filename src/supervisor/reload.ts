/** The two-phase reload: all gateways switch to the new configuration, or none does. */

import type { ReloadScope, ToSupervisor } from './messages.js';
import type { SlotChild } from './slot.js';

export type ReloadOutcome = { ok: true } | { ok: false; reason: string };

type PrepareMessage = Extract<ToSupervisor, { type: 'prepared' | 'preparing' }>;

/** Maximum time in which a gateway reads one source. */
const PREPARE_TIMEOUT_MS = 60_000;

/** Callbacks for the messages of a gateway during a round. */
interface RoundWaiter {
  /** The gateway reported progress. */
  goOn(): void;
  end(outcome: ReloadOutcome): void;
}

export class Reloader {
  #round = 0;
  #waiting = new Map<SlotChild, RoundWaiter>();
  #current: Promise<ReloadOutcome> | null = null;
  #next: { outcome: Promise<ReloadOutcome>; changes: ReloadScope | undefined } | null = null;

  /** Scope of a failed reload, which the next reload includes. */
  #missed: ReloadScope | undefined = [];

  constructor(private readonly gateways: () => SlotChild[]) {}

  /**
   * Reloads what changed, or everything, once the running reload has ended; requests that come while it runs share one
   * further round.
   */
  reload(changes?: ReloadScope): Promise<ReloadOutcome> {
    if (!this.#current) return this.#start(changes);
    if (this.#next) {
      this.#next.changes = mergeScopes(this.#next.changes, changes);
      return this.#next.outcome;
    }
    const outcome = this.#current.then(() => {
      const next = this.#next!;
      this.#next = null;
      return this.#start(next.changes);
    });
    this.#next = { outcome, changes };
    return outcome;
  }

  receive(message: PrepareMessage, child: SlotChild): void {
    if (message.round !== this.#round) return;
    const waiting = this.#waiting.get(child);
    if (message.type === 'preparing') waiting?.goOn();
    else waiting?.end(message.ok ? { ok: true } : { ok: false, reason: message.reason });
  }

  #start(changes: ReloadScope | undefined): Promise<ReloadOutcome> {
    const all = mergeScopes(this.#missed, changes);
    this.#current = this.#runRound(all)
      .then((outcome) => {
        this.#missed = outcome.ok ? [] : all;
        return outcome;
      })
      .finally(() => {
        this.#current = null;
      });
    return this.#current;
  }

  async #runRound(changes: ReloadScope | undefined): Promise<ReloadOutcome> {
    const children = this.gateways();
    if (children.length === 0) return { ok: false, reason: 'no gateway is running' };
    this.#round += 1;
    const round = this.#round;
    const outcomes = await Promise.all(children.map((child) => this.#prepare(child, round, changes)));
    this.#waiting.clear();
    const failed = outcomes.find((outcome) => !outcome.ok);
    for (const child of children) child.send({ type: failed ? 'abort' : 'commit', round });
    return failed ?? { ok: true };
  }

  #prepare(child: SlotChild, round: number, changes: ReloadScope | undefined): Promise<ReloadOutcome> {
    return new Promise((resolve) => {
      const late = {
        ok: false,
        reason: `a gateway read nothing more for ${PREPARE_TIMEOUT_MS / 1000} s`,
      } as const;
      const timer = setTimeout(() => end(late), PREPARE_TIMEOUT_MS);
      const onExit = () => end({ ok: false, reason: 'a gateway ended while it was preparing' });
      const end = (outcome: ReloadOutcome) => {
        clearTimeout(timer);
        child.process.off('exit', onExit);
        resolve(outcome);
      };
      child.process.once('exit', onExit);
      this.#waiting.set(child, { goOn: () => void timer.refresh(), end });
      child.send({ type: 'prepare', round, changes });
    });
  }
}

function mergeScopes(one: ReloadScope | undefined, other: ReloadScope | undefined): ReloadScope | undefined {
  return one && other && [...one, ...other];
}
