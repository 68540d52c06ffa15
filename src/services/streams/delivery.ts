import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import type { Box } from '../../core/geometry/box.js';
import type { Principal } from '../../core/http/operation.js';
import { LIMITS } from '../../core/kit/limits.js';
import { computeEpoch, type FeedEntry, type FeedEvent, type FeedGap } from '../../core/streams/events.js';
import type { Pools } from '../../core/tasks/tasks.js';
import * as metrics from '../telemetry/event-metrics.js';
import type { CursorProblem, Feed } from './feed.js';
import { ChangeBodies, jsonFrame } from './frames.js';
import type { SubscriptionGroup } from './group.js';
import { SubscriptionGroups } from './groups.js';
import { type Candidates, type EventRecipient, selectRecipients } from './recipients.js';
import type { Listener, Scope } from './scope.js';
import type { Change, Session } from './session.js';
import { SnapshotTurns, sendSnapshot } from './snapshot.js';
import type { StreamSubscription } from './subscription.js';

export interface DeliveryDeps {
  feed: Feed;
  pools: Pools;
  visible(principal: Principal): CatalogSnapshot;
  /** See `Pauses.current`. Default: visibility is always known. */
  current?(): Promise<void> | undefined;
  sessions(): Iterable<Session>;
  /** Called when a subscription has received everything that it requested. */
  over(session: Session, subscription: StreamSubscription): void;
}

const RETRY_MS = 500;

/**
 * Delivers entries of the feed to interested subscriptions. All live subscriptions get an entry in one pass. A
 * subscription that is behind, because it resumes or starts with a snapshot, reads the feed at its own pace until it
 * has caught up.
 */
export class FeedDelivery {
  readonly #deps: DeliveryDeps;
  readonly #groups = new SubscriptionGroups();
  readonly #snapshots = new SnapshotTurns();
  readonly #owners = new Map<StreamSubscription, Session>();
  /** Subscriptions that read the store or the feed separately. */
  readonly #following = new WeakSet<StreamSubscription>();
  readonly #waiting: FeedEntry[] = [];
  readonly #stop: () => void;
  #passing = false;
  /** Number of changes of visibility. */
  #judged = 0;
  #passed: number;
  /** Like `passed`, but includes entries that are being passed: subscriptions that become live now miss them. */
  #begun: number;

  constructor(deps: DeliveryDeps) {
    this.#deps = deps;
    this.#passed = deps.feed.head;
    this.#begun = this.#passed;
    this.#stop = deps.feed.listen((entries) => {
      for (const entry of entries) this.#waiting.push(entry);
      if (!this.#passing) void this.#pass();
    });
  }

  /** Cursor up to which entries have been passed to all who are live. */
  get passed(): number {
    return this.#passed;
  }

  /** Starts to deliver: after a cursor, or from now on. */
  add(session: Session, subscription: StreamSubscription, cursor: number | undefined): void {
    this.#owners.set(subscription, session);
    void this.#begin(session, subscription, cursor);
  }

  delete(subscription: StreamSubscription): void {
    subscription.pause();
    this.#owners.delete(subscription);
  }

  close(): void {
    this.#stop();
  }

  /**
   * Call when visibility has changed. Entries that were checked but not sent are checked again, so that callers
   * receive no data that is now hidden from them.
   */
  rejudge(): void {
    this.#judged += 1;
    for (const session of this.#deps.sessions()) if (session.hasPending) session.fallBack(this.#passed + 1);
  }

  /** Sends everything before live delivery: snapshot, gap, older entries. */
  async #begin(
    session: Session,
    subscription: StreamSubscription,
    cursor: number | undefined,
  ): Promise<void> {
    const { feed } = this.#deps;
    this.#following.add(subscription);
    if (cursor !== undefined) await this.#catchUp(cursor, subscription);
    if (subscription.ended) return;
    const problem = cursor === undefined ? undefined : feed.problemOf(cursor);
    if (problem) this.#tellGap(session, subscription, problem, cursor!);
    if (
      subscription.mode === 'snapshot' ||
      (subscription.mode === 'snapshot-then-delta' && (problem || cursor === undefined))
    ) {
      const reason = problem ? (`cursor-${problem}` as const) : 'initial';
      if (!(await this.#snapshot(session, subscription, reason))) return;
      if (subscription.mode === 'snapshot') return this.#deps.over(session, subscription);
    }
    await this.#follow(session, subscription);
  }

  /**
   * Waits until the feed of this process reaches a cursor. Another process may have sent entries that this process
   * has not read yet. Only afterwards is it known whether the cursor exists.
   */
  async #catchUp(cursor: number, subscription: StreamSubscription): Promise<void> {
    const { feed } = this.#deps;
    while (cursor > feed.head && computeEpoch(cursor) === computeEpoch(feed.head) && !subscription.ended) {
      const isRead = await feed.catchUp().then(
        () => true,
        () => false,
      );
      if (isRead) return;
      await sleep(RETRY_MS, undefined, { ref: false });
    }
  }

  #tellGap(
    session: Session,
    subscription: StreamSubscription,
    problem: CursorProblem,
    requested: number,
  ): void {
    const { feed } = this.#deps;
    // Kept entries are still sent. Entries of another feed cannot be.
    subscription.position = problem === 'expired' ? feed.oldest - 1 : this.#passed;
    session.send(
      jsonFrame('gap', {
        subscriptionId: subscription.id,
        sequence: subscription.next(),
        reason: `cursor-${problem}`,
        requestedCursor: requested,
        oldestCursor: feed.oldest,
        cursor: subscription.position,
        timestamp: new Date().toISOString(),
      }),
    );
  }

  /** Sends the present contents of the store. Later changes follow, and can repeat contents of the snapshot. */
  async #snapshot(session: Session, subscription: StreamSubscription, reason: string): Promise<boolean> {
    subscription.pause();
    // Entries that are being passed are already in the store, so they are not sent again.
    subscription.position = this.#begun;
    const { pools, current } = this.#deps;
    const visible = () => this.#deps.visible(session.principal);
    for (;;) {
      try {
        await current?.();
        await sendSnapshot({ session, subscription, reason, visible, current, pools }, this.#snapshots);
        return !subscription.ended;
      } catch {
        // The store does not respond, or rules changed: the client waits, or disconnects. An interrupted snapshot
        // starts again.
        await sleep(RETRY_MS, undefined, { ref: false });
        if (subscription.ended) return false;
      }
    }
  }

  /** Reads the feed at the pace of the client until it has caught up with the live subscriptions. */
  async #follow(session: Session, subscription: StreamSubscription): Promise<void> {
    this.#following.add(subscription);
    while (!subscription.ended && !subscription.live) await this.#step(session, subscription);
    this.#following.delete(subscription);
  }

  async #step(session: Session, subscription: StreamSubscription): Promise<void> {
    await session.writable();
    if (subscription.ended) return;
    if (subscription.position >= this.#begun) {
      this.#groups.admit(subscription, session);
      return;
    }
    const problem = this.#deps.feed.problemOf(subscription.position);
    if (problem) {
      this.#tellGap(session, subscription, problem, subscription.position);
      if (subscription.mode === 'snapshot-then-delta')
        return void (await this.#snapshot(session, subscription, `cursor-${problem}`));
    }
    try {
      if (await this.#replay(session, subscription))
        await this.#snapshot(session, subscription, 'cursor-expired');
    } catch {
      await sleep(RETRY_MS, undefined, { ref: false });
    }
  }

  /** One batch of older entries; true when events were lost among them and a new snapshot is wanted. */
  async #replay(session: Session, subscription: StreamSubscription): Promise<boolean> {
    const { feed, current } = this.#deps;
    await current?.();
    const read = await feed.after(subscription.position, LIMITS.replayBatch);
    // Entries were trimmed while they were being read: the next step sends the gap.
    if (feed.problemOf(subscription.position)) return false;
    // Stop at the position of the live subscriptions, because waiting entries would be passed twice.
    const entries = read.filter(({ cursor }) => cursor <= this.#begun);
    const judged = this.#judged;
    const selectRecipients = await this.#hear(
      entries,
      () => [subscription],
      () => session,
    );
    if (subscription.ended) return false;
    let hasLoss = false;
    let at = 0;
    while (at < entries.length) {
      // Several subscriptions can catch up in one session. Each continues when the client has read the frames of the
      // rest.
      while (session.blocked) await session.writable();
      if (subscription.ended) return false;
      // The rest is read, and judged, again.
      if (judged !== this.#judged) break;
      session.transport.together(() => {
        for (; at < entries.length && !session.blocked; at++) {
          const entry = entries[at]!;
          if (entry.kind === 'gap') hasLoss = this.#tellLost(entry, subscription, session) || hasLoss;
          else this.#tellAgain(entry, selectRecipients.get(entry)?.[0], session);
        }
      });
    }
    subscription.position = entries[at - 1]?.cursor ?? subscription.position;
    return hasLoss;
  }

  #tellAgain(
    entry: FeedEvent,
    hearing: EventRecipient<StreamSubscription> | undefined,
    session: Session,
  ): void {
    if (!hearing) return;
    const { listener: subscription, appearance, scope } = hearing;
    session.replay(subscription, new ChangeBodies(entry).text(appearance, scope), entry.cursor);
    metrics.replayDelivered.cell(session.transport.name).inc();
  }

  /** Passes entries to all who are live, batch by batch. */
  async #pass(): Promise<void> {
    this.#passing = true;
    while (this.#waiting.length > 0) {
      if (this.#deps.current) await this.#catchUpRules(this.#deps.current);
      this.#groups.settle();
      const batch = this.#waiting.splice(0, LIMITS.replayBatch);
      const last = batch[batch.length - 1]!.cursor;
      this.#begun = last;
      const selectRecipients = await this.#heardBy(batch).catch(() => undefined);
      if (selectRecipients) this.#passBatch(batch, selectRecipients);
      else this.#setBack(batch);
      this.#passed = last;
      // Frames for many clients are written at the end of the event-loop iteration.
      if (this.#waiting.length > 0) await nextTurn();
    }
    this.#passing = false;
  }

  /** Resolves when visibility is known. */
  async #catchUpRules(current: () => Promise<void> | undefined): Promise<void> {
    for (let waits = current(); waits; waits = current())
      await waits.catch(() => sleep(RETRY_MS, undefined, { ref: false }));
  }

  /** The recipients of a batch among the live subscriptions, by the visibility at the time of resolving. */
  async #heardBy(batch: readonly FeedEntry[]): Promise<Map<FeedEvent, EventRecipient<SubscriptionGroup>[]>> {
    for (;;) {
      const judged = this.#judged;
      const list = await this.#hear(
        batch,
        (layerId, boxes) => this.#groups.of(layerId, boxes),
        ({ members }) => members.values().next().value,
      );
      if (judged === this.#judged) return list;
    }
  }

  /** Sends a batch session by session: all changes for one session are written together. */
  #passBatch(
    batch: readonly FeedEntry[],
    selectRecipients: ReadonlyMap<FeedEvent, readonly EventRecipient<SubscriptionGroup>[]>,
  ): void {
    let news = new Map<Session, Change[]>();
    for (const entry of batch) {
      if (entry.kind === 'gap') {
        this.#send(news);
        news = new Map();
        this.#passGap(entry);
      } else {
        this.#gather(entry, selectRecipients.get(entry), news);
      }
    }
    this.#send(news);
  }

  #gather(
    entry: FeedEvent,
    list: readonly EventRecipient<SubscriptionGroup>[] = [],
    news: Map<Session, Change[]>,
  ): void {
    const bodies = new ChangeBodies(entry);
    const { cursor, event } = entry;
    const featureKey = `${event.layerId} ${event.featureId}`;
    for (const { listener: group, scope, appearance } of list) {
      const body = bodies.text(appearance, scope);
      if (group.members.size > 1) {
        this.#groups.tell(group, body, cursor);
        continue;
      }
      for (const [subscription, session] of group.members) {
        const change = { subscription, featureKey, body, cursor };
        const changes = news.get(session);
        if (changes) changes.push(change);
        else news.set(session, [change]);
      }
    }
  }

  #send(news: ReadonlyMap<Session, readonly Change[]>): void {
    for (const [session, changes] of news) {
      session.transport.together(() => {
        // Sessions that fell behind in between get the rest from the feed.
        for (const change of changes) if (change.subscription.live) session.change(change);
      });
    }
  }

  /** Filters could not be evaluated: all sessions read this part of the feed again, each at its own pace. */
  #setBack(batch: readonly FeedEntry[]): void {
    for (const session of this.#deps.sessions()) session.fallBack(batch[0]!.cursor);
  }

  async #hear<L extends Listener>(
    entries: readonly FeedEntry[],
    audience: (layerId: number, boxes: readonly Box[]) => readonly L[],
    sessionOf: (listener: L) => Session | undefined,
  ): Promise<Map<FeedEvent, EventRecipient<L>[]>> {
    const candidates: Candidates<L>[] = [];
    for (const entry of entries) {
      if (entry.kind !== 'event') continue;
      const { layerId, envelopeBefore, envelopeAfter } = entry.event;
      const boxes = [envelopeBefore, envelopeAfter].filter((box) => box !== undefined);
      const listeners: L[] = [];
      const scopes: Scope[] = [];
      for (const listener of audience(layerId, boxes)) {
        const session = sessionOf(listener);
        const scope = session && listener.scope(layerId, this.#deps.visible(session.principal));
        if (!scope) continue;
        listeners.push(listener);
        scopes.push(scope);
      }
      if (scopes.length > 0) candidates.push({ entry, listeners, scopes });
    }
    const heard = await selectRecipients(candidates, this.#deps.pools);
    await this.#deps.current?.();
    return heard;
  }

  /** Reports lost events of a store to its listeners. Subscriptions that requested a snapshot get a new one. */
  #passGap(gap: FeedGap): void {
    // Sessions that have not read the earlier entries receive the gap later, from the feed.
    for (const session of this.#deps.sessions()) if (session.hasPending) session.fallBack(gap.cursor);
    // Groups remain unchanged: the rest of the batch is for the groups found for it.
    const groups = new Set<SubscriptionGroup>();
    for (const [subscription, session] of this.#owners) {
      const { group } = subscription;
      if (!group || !this.#concerns(subscription, session, gap.collections)) continue;
      if (subscription.mode === 'snapshot-then-delta') {
        subscription.pause();
        this.#tellLost(gap, subscription, session);
        void this.#renew(session, subscription);
      } else groups.add(group as SubscriptionGroup);
    }
    for (const group of groups) tellGroup(group, gap);
  }

  async #renew(session: Session, subscription: StreamSubscription): Promise<void> {
    this.#following.add(subscription);
    if (await this.#snapshot(session, subscription, 'cursor-expired'))
      await this.#follow(session, subscription);
  }

  /** True when the subscription wants a new snapshot for it. */
  #tellLost(
    { collections, cursor, time }: FeedGap,
    subscription: StreamSubscription,
    session: Session,
  ): boolean {
    if (!this.#concerns(subscription, session, collections)) return false;
    session.send(lossFrame(subscription, { collections, cursor, time }, subscription.next()));
    return subscription.mode === 'snapshot-then-delta';
  }

  #concerns(subscription: StreamSubscription, session: Session, collections: readonly string[]): boolean {
    const visible = this.#deps.visible(session.principal);
    return collections.some((id) => {
      const collection = visible.byId(id);
      return collection && subscription.scope(collection.layerId, visible) !== undefined;
    });
  }

  /** Call when the client has read. Missed entries are read from the feed. */
  catchUp(session: Session): void {
    for (const subscription of session.subscriptions.values())
      if (!subscription.live && !this.#following.has(subscription)) void this.#follow(session, subscription);
  }
}

const lossFrame = (
  { id: subscriptionId }: Pick<StreamSubscription, 'id'>,
  { collections, cursor, time }: Pick<FeedGap, 'collections' | 'cursor' | 'time'>,
  sequence: number | undefined,
) =>
  jsonFrame('gap', {
    subscriptionId,
    sequence,
    reason: 'events-lost',
    collections,
    cursor,
    timestamp: time,
  });

/** Reports lost events of a store to all members of a group, under one number. */
function tellGroup(group: SubscriptionGroup, gap: FeedGap): void {
  const [[only]] = group.members as unknown as [[StreamSubscription, Session]];
  const frame = lossFrame(group, gap, group.members.size > 1 ? group.next() : only.next());
  for (const session of group.members.values()) session.send(frame);
}
