import { setTimeout as sleep } from 'node:timers/promises';
import type { CatalogSnapshot } from '../../../core/collection.js';
import type { FeedEntry, FeedEvent, FeedGap } from '../../../core/events.js';
import { LIMITS } from '../../../core/limits.js';
import type { Principal } from '../../../core/operation.js';
import type { Box, Pools } from '../../../core/tasks.js';
import * as metrics from '../../telemetry/event-metrics.js';
import type { Alerts } from '../alerts.js';
import { Audience } from './audience.js';
import type { CursorProblem, Feed } from './feed.js';
import { ChangeBodies, jsonFrame } from './frames.js';
import { type CloseReason, Session, type Transport } from './session.js';
import { sendSnapshot } from './snapshot.js';
import { type Interest, type StreamMode, Subscription } from './subscription.js';
import { type Candidates, type Hearing, hearings } from './views.js';

export interface HubDeps {
  feed: Feed;
  pools: Pools;
  visible(principal: Principal): CatalogSnapshot;
  maxSessions: number;
  alerts: Alerts;
  /** Milliseconds between two heartbeats. */
  heartbeatMs?: number;
}

/** What a client asks for when it subscribes. */
export interface Wish {
  readonly id: string;
  readonly interest: Interest;
  readonly mode: StreamMode;
  /** Entries after it are wanted; from now on when absent. */
  readonly cursor: number | undefined;
}

const RETRY_MS = 500;

/**
 * Brings entries of the feed to the sessions that want them. All who are up to date get an entry in one pass; who is
 * behind, because it resumes or begins with a snapshot, reads the feed at its own pace until it has caught up.
 */
export class Hub {
  readonly sessions = new Map<string, Session>();
  readonly #deps: HubDeps;
  readonly #audience = new Audience();
  readonly #owners = new Map<Subscription, Session>();
  readonly #waiting: FeedEntry[] = [];
  readonly #stop: () => void;
  readonly #heartbeat: NodeJS.Timeout;
  #passing = false;
  /** Cursor up to which entries have been passed to all who are live. */
  #passed: number;
  /** The same with those that are being passed: who is live by now misses them. */
  #begun: number;

  constructor(deps: HubDeps) {
    this.#deps = deps;
    this.#passed = deps.feed.head;
    this.#begun = this.#passed;
    this.#stop = deps.feed.listen((entries) => {
      this.#waiting.push(...entries);
      if (!this.#passing) void this.#pass();
    });
    this.#heartbeat = setInterval(() => this.#beat(), deps.heartbeatMs ?? LIMITS.heartbeatMs).unref();
  }

  get maxSessions(): number {
    return this.#deps.maxSessions;
  }

  get isFull(): boolean {
    return this.sessions.size >= this.#deps.maxSessions;
  }

  /** Counts one who was turned away. */
  noteRejected(): void {
    metrics.sessionsRejected.cell().inc();
  }

  /** A new session, after `begin` did with it what the client asked for; undefined when there are too many. */
  open(
    transport: Transport,
    principal: Principal,
    clientLabel: string | undefined,
    begin: (session: Session) => void,
  ): Session | undefined {
    if (this.isFull) {
      this.noteRejected();
      return undefined;
    }
    const session = new Session(transport, principal, (closed, reason) => this.#forget(closed, reason));
    session.clientLabel = clientLabel;
    this.sessions.set(session.id, session);
    metrics.sessionsOpened.cell(transport.name).inc();
    metrics.activeSessions.cell().set(this.sessions.size);
    session.send(
      this.#status('connected', 'The stream is open.', { sessionId: session.id, cursor: this.#passed }),
    );
    begin(session);
    return session;
  }

  #forget(session: Session, reason: CloseReason): void {
    for (const subscription of session.subscriptions.values()) this.#drop(subscription);
    this.sessions.delete(session.id);
    metrics.sessionsClosed.cell(session.transport.name, reason).inc();
    metrics.activeSessions.cell().set(this.sessions.size);
    if (reason === 'SlowConsumer') this.#tellSlow(session);
  }

  #tellSlow({ id, transport, clientLabel }: Session): void {
    const name = clientLabel === undefined ? '' : ` '${clientLabel}'`;
    this.#deps.alerts.notify({
      kind: 'slow-consumer',
      severity: 'warning',
      subject: id,
      message: `The ${transport.name} session${name} did not keep up and was disconnected.`,
    });
  }

  /** Ends a session on behalf of an operator; false when this gateway has none of this id. */
  disconnect(sessionId: string): boolean {
    const session = this.sessions.get(sessionId);
    session?.close('AdminDisconnect');
    return session !== undefined;
  }

  /** A subscription of an id that is there already takes its place. */
  subscribe(session: Session, { id, interest, mode, cursor }: Wish): void {
    this.#end(session, id);
    const subscription = new Subscription(id, interest, mode, cursor ?? this.#passed);
    session.subscriptions.set(id, subscription);
    this.#owners.set(subscription, session);
    this.#audience.add(subscription);
    const message = 'The subscription is active.';
    session.send(this.#status('subscribed', message, { subscriptionId: id, cursor: subscription.position }));
    void this.#begin(session, subscription, cursor);
  }

  /** False when there is none of this id. */
  unsubscribe(session: Session, id: string): boolean {
    const found = this.#end(session, id);
    if (found)
      session.send(this.#status('unsubscribed', 'The subscription has ended.', { subscriptionId: id }));
    return found;
  }

  #end(session: Session, id: string): boolean {
    const subscription = session.subscriptions.get(id);
    if (!subscription) return false;
    session.subscriptions.delete(id);
    this.#drop(subscription);
    return true;
  }

  #drop(subscription: Subscription): void {
    subscription.ended = true;
    this.#audience.delete(subscription);
    this.#owners.delete(subscription);
  }

  #status(status: string, message: string, members: Record<string, unknown>): string {
    return jsonFrame('status', { status, message, timestamp: new Date().toISOString(), ...members });
  }

  /** Snapshot, gap, older entries: whatever comes before the subscription is up to date. */
  async #begin(session: Session, subscription: Subscription, cursor: number | undefined): Promise<void> {
    const { feed } = this.#deps;
    const problem = cursor === undefined ? undefined : feed.problemOf(cursor);
    if (problem) this.#tellGap(session, subscription, problem, cursor!);
    if (
      subscription.mode === 'snapshot' ||
      (subscription.mode === 'snapshot-then-delta' && (problem || cursor === undefined))
    ) {
      const reason = problem ? (`cursor-${problem}` as const) : 'initial';
      if (!(await this.#snapshot(session, subscription, reason))) return;
      if (subscription.mode === 'snapshot') return void this.unsubscribe(session, subscription.id);
    }
    await this.#follow(session, subscription);
  }

  #tellGap(session: Session, subscription: Subscription, problem: CursorProblem, requested: number): void {
    const { feed } = this.#deps;
    // What is kept is still told; of another feed nothing can be.
    subscription.position = problem === 'expired' ? feed.oldest - 1 : this.#passed;
    session.send(
      jsonFrame('gap', {
        subscriptionId: subscription.id,
        sequence: subscription.sequence++,
        reason: `cursor-${problem}`,
        requestedCursor: requested,
        oldestCursor: feed.oldest,
        cursor: subscription.position,
        timestamp: new Date().toISOString(),
      }),
    );
  }

  /** What the store holds now. Changes since then follow; they may tell again what the snapshot told. */
  async #snapshot(session: Session, subscription: Subscription, reason: string): Promise<boolean> {
    subscription.live = false;
    subscription.position = this.#passed;
    const visible = this.#deps.visible(session.principal);
    for (;;) {
      try {
        await sendSnapshot({ session, subscription, reason, visible, pools: this.#deps.pools });
        return !subscription.ended;
      } catch {
        // The store does not answer: the client waits, or leaves. A snapshot that was begun is begun again.
        await sleep(RETRY_MS, undefined, { ref: false });
        if (subscription.ended) return false;
      }
    }
  }

  /** Reads the feed at the pace of the client until it has caught up with those who are live. */
  async #follow(session: Session, subscription: Subscription): Promise<void> {
    const { feed } = this.#deps;
    while (!subscription.ended) {
      if (subscription.position >= this.#begun) {
        subscription.live = true;
        return;
      }
      const problem = feed.problemOf(subscription.position);
      if (problem) this.#tellGap(session, subscription, problem, subscription.position);
      try {
        const lost = await this.#replay(session, subscription);
        if (lost && !(await this.#snapshot(session, subscription, 'cursor-expired'))) return;
        await session.writable();
      } catch {
        await sleep(RETRY_MS, undefined, { ref: false });
      }
    }
  }

  /** One batch of older entries; true when events were lost among them and a new snapshot is wanted. */
  async #replay(session: Session, subscription: Subscription): Promise<boolean> {
    const read = await this.#deps.feed.after(subscription.position, LIMITS.replayBatch);
    // No further than the others are, or what waits to be passed would be passed twice.
    const entries = read.filter(({ cursor }) => cursor <= this.#begun);
    const told = await this.#hear(entries, () => [subscription]);
    if (subscription.ended) return false;
    let lost = false;
    let at = 0;
    while (at < entries.length) {
      // What waits in the session counts against its client: older entries wait here.
      while (session.blocked) await session.writable();
      if (subscription.ended) return false;
      session.transport.together(() => {
        for (; at < entries.length && !session.blocked; at++) {
          const entry = entries[at]!;
          if (entry.kind === 'gap') lost = this.#tellLost(entry, subscription, session) || lost;
          else metrics.replayDelivered.cell(session.transport.name).inc(this.#tell(entry, told.get(entry)));
        }
      });
    }
    subscription.position = entries.at(-1)?.cursor ?? subscription.position;
    return lost;
  }

  /** Passes entries to all who are live, batch by batch. */
  async #pass(): Promise<void> {
    this.#passing = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, LIMITS.replayBatch);
      const last = batch[batch.length - 1]!.cursor;
      this.#begun = last;
      const live = (layerId: number, boxes: readonly Box[]) =>
        [...this.#audience.of(layerId, boxes)].filter((one) => one.live && !one.ended);
      const told = await this.#hear(batch, live).catch(() => undefined);
      if (told) this.#passBatch(batch, told);
      else this.#setBack(batch);
      this.#passed = last;
    }
    this.#passing = false;
  }

  #passBatch(batch: readonly FeedEntry[], told: ReadonlyMap<FeedEvent, readonly Hearing[]>): void {
    for (const entry of batch) {
      if (entry.kind === 'gap') this.#passGap(entry);
      else this.#tell(entry, told.get(entry));
    }
  }

  /** Filters could not be asked: everybody reads this part of the feed again, each at its pace. */
  #setBack(batch: readonly FeedEntry[]): void {
    for (const [subscription, session] of this.#owners) {
      if (!subscription.live) continue;
      subscription.live = false;
      subscription.position = batch[0]!.cursor - 1;
      void this.#follow(session, subscription);
    }
  }

  #hear(
    entries: readonly FeedEntry[],
    audience: (layerId: number, boxes: readonly Box[]) => readonly Subscription[],
  ): Promise<Map<FeedEvent, Hearing[]>> {
    const candidates: Candidates[] = [];
    for (const entry of entries) {
      if (entry.kind !== 'event') continue;
      const { layerId, envelopeBefore, envelopeAfter } = entry.event;
      const boxes = [envelopeBefore, envelopeAfter].filter((box) => box !== undefined);
      const scopes = audience(layerId, boxes).flatMap((subscription) => {
        const session = this.#owners.get(subscription);
        const scope = session && subscription.scope(layerId, this.#deps.visible(session.principal));
        return scope ? [[subscription, scope] as const] : [];
      });
      if (scopes.length > 0) candidates.push({ entry, scopes });
    }
    return hearings(candidates, this.#deps.pools);
  }

  /** Returns how many were told. */
  #tell(entry: FeedEvent, list: readonly Hearing[] = []): number {
    const bodies = new ChangeBodies(entry);
    const featureKey = `${entry.event.layerId} ${entry.event.featureId}`;
    for (const { subscription, scope, appearance } of list) {
      const session = this.#owners.get(subscription);
      session?.change(subscription, featureKey, bodies.text(appearance, scope), entry.cursor);
    }
    return list.length;
  }

  /** Events of a store were lost: who listens to it is told, and gets a new snapshot when it asked for one. */
  #passGap(gap: FeedGap): void {
    for (const [subscription, session] of this.#owners) {
      if (!subscription.live || !this.#tellLost(gap, subscription, session)) continue;
      void this.#renew(session, subscription);
    }
  }

  async #renew(session: Session, subscription: Subscription): Promise<void> {
    if (await this.#snapshot(session, subscription, 'cursor-expired'))
      await this.#follow(session, subscription);
  }

  /** True when the subscription wants a new snapshot for it. */
  #tellLost({ collections, cursor, time }: FeedGap, subscription: Subscription, session: Session): boolean {
    if (!this.#concerns(subscription, session, collections)) return false;
    const { id: subscriptionId } = subscription;
    const sequence = subscription.sequence++;
    const members = { subscriptionId, sequence, reason: 'events-lost', collections, cursor, timestamp: time };
    session.send(jsonFrame('gap', members));
    return subscription.mode === 'snapshot-then-delta';
  }

  #concerns(subscription: Subscription, session: Session, collections: readonly string[]): boolean {
    const visible = this.#deps.visible(session.principal);
    return collections.some((id) => {
      const collection = visible.byId(id);
      return collection && subscription.scope(collection.layerId, visible) !== undefined;
    });
  }

  #beat(): void {
    const frame = jsonFrame('heartbeat', { timestamp: new Date().toISOString(), cursor: this.#passed });
    for (const session of this.sessions.values()) {
      if (session.blocked) continue;
      session.send(frame);
      metrics.heartbeatsSent.cell().inc();
    }
  }

  /** Ends every session; their clients come back with their cursors. */
  close(): void {
    this.#stop();
    clearInterval(this.#heartbeat);
    for (const session of [...this.sessions.values()]) session.close('ServerShutdown');
  }
}
