import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import type { ApiError } from '../../core/errors/errors.js';
import type { Principal } from '../../core/http/operation.js';
import { LIMITS } from '../../core/kit/limits.js';
import { STREAM_LIMITS } from '../../core/streams/limits.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { Held } from '../access/keys/held-keys.js';
import type { Notices } from '../notices/notices.js';
import * as metrics from '../telemetry/event-metrics.js';
import { FeedDelivery } from './delivery.js';
import type { Feed } from './feed.js';
import { jsonFrame } from './frames.js';
import { filterLength, type SubscriberInterest } from './scope.js';
import { type CloseReason, Session, type Transport } from './session.js';
import { type SessionLimits, SessionQuotas, type Visitor } from './session-quotas.js';
import { type StreamMode, StreamSubscription } from './subscription.js';

export interface HubDeps {
  feed: Feed;
  pools: Pools;
  visible(principal: Principal): CatalogSnapshot;
  /** See `Pauses.current`. */
  current?(): Promise<void> | undefined;
  sessions: SessionLimits;
  notices: Notices;
  /** Milliseconds between two heartbeats. */
  heartbeatMs?: number;
  /** Maximum milliseconds that a client leaves frames unread. */
  stallMs?: number;
}

/** Parameters of a subscription request. */
export interface Wish {
  readonly id: string;
  readonly interest: SubscriberInterest;
  readonly mode: StreamMode;
  /** The subscription gets entries after this cursor. Default: from now on. */
  readonly cursor: number | undefined;
  /** Whether frames contain their number. Default: true. */
  readonly numbered?: boolean;
}

const STALL_CHECK_MS = 1000;

/** The sessions of a gateway with their subscriptions, from opening to closing. */
export class Hub {
  readonly sessions = new Map<string, Session>();
  readonly #deps: HubDeps;
  readonly #quotas: SessionQuotas;
  readonly #delivery: FeedDelivery;
  readonly #heartbeat: NodeJS.Timeout;
  readonly #watch: NodeJS.Timeout;

  constructor(deps: HubDeps) {
    this.#deps = deps;
    this.#quotas = new SessionQuotas(deps.sessions);
    this.#delivery = new FeedDelivery({
      ...deps,
      sessions: () => this.sessions.values(),
      over: (session, { id }) => void this.unsubscribe(session, id),
    });
    this.#heartbeat = setInterval(() => this.#beat(), deps.heartbeatMs ?? LIMITS.heartbeatMs).unref();
    this.#watch = setInterval(() => this.#dropStalled(), STALL_CHECK_MS).unref();
  }

  get maxSessions(): number {
    return this.#quotas.total;
  }

  /** Number of entries after which a client can resume. */
  get cursorRetention(): number {
    return this.#deps.feed.capacity;
  }

  /** Throws 503 or 429 when this client cannot have another session, with this interest, now. */
  requirePlace(visitor: Visitor, interest?: SubscriberInterest): void {
    const characters = interest ? filterLength(interest) : 0;
    const refusal = this.#quotas.refusal(visitor) ?? this.#quotas.filterRefusal(visitor, characters);
    if (!refusal) return;
    metrics.sessionsRejected.cell().inc();
    throw refusal;
  }

  /** Opens a session and calls `begin` for the client's requests. Undefined if there are too many sessions. */
  open(
    transport: Transport,
    visitor: Visitor,
    clientLabel: string | undefined,
    begin: (session: Session) => void,
  ): Session | undefined {
    if (this.#quotas.refusal(visitor)) {
      metrics.sessionsRejected.cell().inc();
      return undefined;
    }
    this.#quotas.take(visitor);
    const session = new Session(transport, visitor, {
      closed: (closed, reason) => {
        this.#quotas.release(visitor);
        this.#forget(closed, reason);
      },
      behind: (one) => this.#delivery.catchUp(one),
    });
    session.clientLabel = clientLabel;
    this.sessions.set(session.id, session);
    metrics.sessionsOpened.cell(transport.name).inc();
    metrics.activeSessions.cell().set(this.sessions.size);
    session.send(
      this.#status('connected', 'The stream is open.', {
        sessionId: session.id,
        cursor: this.#delivery.passed,
      }),
    );
    begin(session);
    return session;
  }

  #forget(session: Session, reason: CloseReason): void {
    for (const subscription of session.subscriptions.values()) this.#drop(session, subscription);
    this.sessions.delete(session.id);
    metrics.sessionsClosed.cell(session.transport.name, reason).inc();
    metrics.activeSessions.cell().set(this.sessions.size);
    if (reason === 'SlowConsumer') this.#tellSlow(session);
  }

  #tellSlow({ id, transport, clientLabel }: Session): void {
    const name = clientLabel === undefined ? '' : ` '${clientLabel}'`;
    this.#deps.notices.notify({
      kind: 'slow-consumer',
      severity: 'warning',
      subject: id,
      message: `The ${transport.name} session${name} did not keep up and was disconnected.`,
    });
  }

  /** The sessions, for monitoring their keys. */
  *held(): Generator<Held> {
    for (const session of this.sessions.values()) {
      const { principal, connectedAt } = session;
      yield { principal, connectedAt, end: () => session.close('AdminDisconnect') };
    }
  }

  /** Rules have changed. */
  rejudge(): void {
    this.#delivery.rejudge();
  }

  /** Ends a session on behalf of an operator. Returns false if this gateway has no session with this id. */
  disconnect(sessionId: string): boolean {
    const session = this.sessions.get(sessionId);
    session?.close('AdminDisconnect');
    return session !== undefined;
  }

  /**
   * Replaces a subscription with the same id. Returns why the caller cannot have one with this filter; undefined when it
   * can.
   */
  subscribe(session: Session, { id, interest, mode, cursor, numbered }: Wish): ApiError | undefined {
    const subscription = new StreamSubscription(
      id,
      interest,
      mode,
      cursor ?? this.#delivery.passed,
      numbered,
    );
    const { visitor } = session;
    const replaced = session.subscriptions.get(id)?.filterLength ?? 0;
    const refusal = this.#quotas.filterRefusal(visitor, subscription.filterLength - replaced);
    if (refusal) return refusal;
    this.#end(session, id);
    this.#quotas.addFilter(visitor, subscription.filterLength);
    session.subscriptions.set(id, subscription);
    const message = 'The subscription is active.';
    session.send(this.#status('subscribed', message, { subscriptionId: id, cursor: subscription.position }));
    this.#delivery.add(session, subscription, cursor);
    return undefined;
  }

  /** False when there is none of this id. */
  unsubscribe(session: Session, id: string): boolean {
    const ended = this.#end(session, id);
    if (ended)
      session.send(this.#status('unsubscribed', 'The subscription has ended.', { subscriptionId: id }));
    return ended;
  }

  #end(session: Session, id: string): boolean {
    const subscription = session.subscriptions.get(id);
    if (!subscription) return false;
    session.subscriptions.delete(id);
    this.#drop(session, subscription);
    return true;
  }

  #drop(session: Session, subscription: StreamSubscription): void {
    subscription.ended = true;
    this.#quotas.addFilter(session.visitor, -subscription.filterLength);
    this.#delivery.delete(subscription);
  }

  #status(status: string, message: string, members: Record<string, unknown>): string {
    return jsonFrame('status', { status, message, timestamp: new Date().toISOString(), ...members });
  }

  #dropStalled(): void {
    const { stallMs = STREAM_LIMITS.streamStallMs } = this.#deps;
    for (const session of this.sessions.values()) {
      if (session.stalledMs < stallMs) continue;
      metrics.slowConsumerDrops.cell(session.transport.name).inc();
      session.close('SlowConsumer');
    }
  }

  #beat(): void {
    const timestamp = new Date().toISOString();
    const { passed } = this.#delivery;
    const current = jsonFrame('heartbeat', { timestamp, cursor: passed });
    for (const session of this.sessions.values()) {
      if (session.blocked) continue;
      const cursor = session.reached(passed);
      session.send(cursor === passed ? current : jsonFrame('heartbeat', { timestamp, cursor }), cursor);
      metrics.heartbeatsSent.cell().inc();
    }
  }

  /** Ends every session; their clients come back with their cursors. */
  close(): void {
    this.#delivery.close();
    clearInterval(this.#heartbeat);
    clearInterval(this.#watch);
    for (const session of [...this.sessions.values()]) session.close('ServerShutdown');
  }
}
