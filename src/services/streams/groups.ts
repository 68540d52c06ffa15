import type { Box } from '../../core/geometry/box.js';
import { Audience } from './audience.js';
import { SubscriptionGroup } from './group.js';
import type { Session } from './session.js';
import type { StreamSubscription } from './subscription.js';

/** The live subscriptions, each in one group. */
export class SubscriptionGroups {
  readonly #audience = new Audience<SubscriptionGroup>();
  readonly #byKey = new Map<string, Set<SubscriptionGroup>>();
  /** Groups that are not yet compared with the rest. */
  readonly #fresh = new Set<SubscriptionGroup>();
  /** Groups that received frames since the last check. */
  readonly #recipients = new Set<SubscriptionGroup>();

  /** From now on the subscription is live; on its own until `settle`. */
  admit(subscription: StreamSubscription, session: Session): void {
    const group = new SubscriptionGroup(subscription, session, (empty) => this.#forget(empty));
    this.#audience.add(group);
    if (group.key !== undefined) this.#fresh.add(group);
  }

  #forget(group: SubscriptionGroup): void {
    this.#audience.delete(group);
    this.#fresh.delete(group);
    this.#recipients.delete(group);
    const alike = this.#byKey.get(group.key!);
    if (alike?.delete(group) && alike.size === 0) this.#byKey.delete(group.key!);
  }

  /** Groups that can be interested in a change of a layer between these boxes. */
  of(layerId: number, boxes: readonly Box[]): SubscriptionGroup[] {
    return this.#audience.of(layerId, boxes);
  }

  /** A change for several. */
  tell(group: SubscriptionGroup, body: string, cursor: number): void {
    group.tell(body, cursor);
    this.#recipients.add(group);
  }

  /** Call between batches. Slow readers leave their groups, and subscriptions with equal frames join one group. */
  settle(): void {
    for (const group of this.#recipients)
      for (const [one, session] of group.releaseSlow()) this.admit(one, session);
    this.#recipients.clear();
    for (const group of this.#fresh) {
      if (group.isBlocked) continue;
      this.#fresh.delete(group);
      const alike = this.#byKey.get(group.key!) ?? new Set();
      this.#byKey.set(group.key!, alike);
      const mates = [...alike].find((other) => !other.isBlocked && other.sequence === group.sequence);
      if (mates) mates.absorb(group);
      else alike.add(group);
    }
  }
}
