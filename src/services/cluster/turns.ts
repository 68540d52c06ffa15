import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../core/config/config.js';
import { ApiError } from '../../core/errors/errors.js';
import { monotonicMs } from '../../core/values/presence.js';
import type { AnnouncementStore } from '../../stores/database/announcements.js';
import { instanceName } from '../../stores/database/instance.js';
import type { TurnStore } from '../../stores/database/turns.js';
import type { Announcements } from './announcements.js';
import { Lease } from './lease.js';

/** Milliseconds after which the turn of another machine's process that was lost ends; a running change prolongs it. */
const LEASE_MS = 10_000;
/** Milliseconds for which a change waits for its turn, and between two looks. */
const PATIENCE_MS = 15_000;
const LOOK_MS = 25;

export interface SharedTurnsDeps {
  readonly turns: TurnStore;
  readonly store: Pick<AnnouncementStore, 'newest'>;
  readonly announcements: Pick<Announcements, 'reached'>;
}

/** Lets changes of one resource follow each other in all processes that share a state. */
export class SharedTurns {
  constructor(private readonly deps: SharedTurnsDeps) {}

  /**
   * Runs a change once no other process changes the resource, and this process has applied their earlier changes.
   * Throws `unavailable` if that takes too long.
   */
  async run<T>(resource: string, change: () => Promise<T>): Promise<T> {
    const { turns, store, announcements } = this.deps;
    const holder = instanceName();
    await this.#take(resource, holder);
    const lease = new Lease({
      leaseMs: LEASE_MS,
      prolong: () => turns.prolong(resource, holder, LEASE_MS),
      // The change cannot be stopped, and what cannot be prolonged now may be the next time.
      lost() {},
      onError() {},
    });
    try {
      await announcements.reached(await store.newest());
      return await change();
    } finally {
      await lease.close();
      // A turn that cannot be released expires automatically.
      await turns.release(resource, holder).catch(() => {});
    }
  }

  async #take(resource: string, holder: string): Promise<void> {
    const end = monotonicMs() + PATIENCE_MS;
    while (!(await this.deps.turns.take(resource, holder, LEASE_MS))) {
      if (monotonicMs() > end)
        throw new ApiError(
          'unavailable',
          'Another change of this resource takes too long. Send the request again.',
        );
      await sleep(LOOK_MS);
    }
  }
}

/** Returns undefined for a server of one process that has the state for itself: no other process changes resources. */
export function createSharedTurns(
  { server, state }: Pick<Config, 'server' | 'state'>,
  deps: SharedTurnsDeps,
): SharedTurns | undefined {
  return server.processes === 1 && state.url === '' ? undefined : new SharedTurns(deps);
}
