import type { Addressee } from './frames.js';
import type { Listener } from './scope.js';
import type { Session } from './session.js';
import type { StreamSubscription } from './subscription.js';

let groups = 0;

/**
 * Live subscriptions that get the same frames from now on: one interest, one id, one principal, one kind of frame,
 * and the same next number. A frame for several is created and handed to the library once, which copies it to each
 * socket. A subscription without equals is a group of one.
 * A delivery takes 0.4 µs instead of 1.7 (bench streams).
 */
export class SubscriptionGroup implements Listener, Addressee {
  readonly #members = new Map<StreamSubscription, Session>();
  readonly #topic = `g${++groups}`;
  /** Key of equal frames, without their numbers. Undefined for a session that does not accept shared frames. */
  readonly key: string | undefined;
  /** Number of the next frame while there are several. */
  #sequence = 0;
  #lastCursor = 0;

  constructor(
    readonly first: StreamSubscription,
    session: Session,
    private readonly emptied: (group: SubscriptionGroup) => void,
  ) {
    this.#members.set(first, session);
    first.group = this;
    const { kind, id, permissions, claims, layers } = session.principal;
    const form = session.transport.shared?.form;
    this.key = form && JSON.stringify([form, kind, id, permissions, claims, layers, first.key]);
  }

  get members(): ReadonlyMap<StreamSubscription, Session> {
    return this.#members;
  }

  get interest() {
    return this.first.interest;
  }

  scope(...parts: Parameters<Listener['scope']>) {
    return this.first.scope(...parts);
  }

  get id(): string {
    return this.first.id;
  }

  get idText(): string {
    return this.first.idText;
  }

  /** Whether the group has only one session, and that session has unread frames. */
  get isBlocked(): boolean {
    return this.#members.size === 1 && this.#someone.blocked;
  }

  get #someone(): Session {
    const [session] = this.#members.values();
    return session!;
  }

  /** Number of the next frame. */
  get sequence(): number {
    return this.#members.size > 1 ? this.#sequence : this.#only.sequence;
  }

  get #only(): StreamSubscription {
    const [only] = this.#members.keys();
    return only!;
  }

  next(): number | undefined {
    return this.first.numbered ? this.#sequence++ : undefined;
  }

  /** Adds the only member of another group, which is empty afterwards. */
  absorb(other: SubscriptionGroup): void {
    const [[subscription, session]] = other.#members as unknown as [[StreamSubscription, Session]];
    other.leave(subscription);
    if (this.#members.size === 1) {
      this.#sequence = this.#only.sequence;
      for (const member of this.#members.values()) member.transport.shared!.join(this.#topic);
    }
    this.#members.set(subscription, session);
    subscription.group = this;
    session.transport.shared!.join(this.#topic);
  }

  leave(subscription: StreamSubscription): void {
    const session = this.#members.get(subscription);
    if (!session) return;
    const several = this.#members.size > 1;
    this.#members.delete(subscription);
    subscription.group = undefined;
    if (!several) return this.emptied(this);
    this.#alone(subscription, session);
    if (this.#members.size === 1) for (const [last, its] of this.#members) this.#alone(last, its);
  }

  #alone(subscription: StreamSubscription, session: Session): void {
    subscription.sequence = this.#sequence;
    session.lastCursor = this.#lastCursor;
    session.transport.shared!.leave(this.#topic);
  }

  /** Sends a change to all members. */
  tell(body: string, cursor: number): void {
    const shared = this.#someone.transport.shared!;
    const frame = shared.frame(this, body);
    if (!shared.publish(this.#topic, frame))
      for (const session of this.#members.values()) session.sendShared(frame);
    this.#lastCursor = cursor;
  }

  /** Removes members that have not read their frames. From now on, each gets frames at its own pace. */
  releaseSlow(): [StreamSubscription, Session][] {
    const slow = [...this.#members].filter(([, session]) => session.senseBacklog());
    for (const [subscription] of slow) this.leave(subscription);
    return slow;
  }
}
