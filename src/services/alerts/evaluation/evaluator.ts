import { ALERT_LIMITS } from '../../../core/alerts/limits.js';
import type { CatalogSnapshot } from '../../../core/catalog/collection.js';
import type { FeedEntry, FeedEvent, FeedGap } from '../../../core/streams/events.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import {
  type AlertEvaluationStore,
  EVALUATOR,
  type EvaluationChanges,
  type RuleNote,
} from '../../../stores/alerts/evaluation.js';
import type { AlertRuleRow } from '../../../stores/alerts/rules.js';
import type { DeliveryStore } from '../../../stores/streams/deliveries.js';
import { Lease } from '../../cluster/lease.js';
import type { Feed } from '../../streams/feed.js';
import * as metrics from '../../telemetry/alert-metrics.js';
import type { Log } from '../../telemetry/log.js';
import { exception } from '../../telemetry/log.js';
import { ActiveRules, type AuthorView } from './active-rules.js';
import { type Batch, evaluateFeatures } from './batch.js';
import { DueTimers } from './due-timers.js';
import { readFeatures } from './features.js';
import type { LayerRules } from './layer-rules.js';
import { Rescan } from './rescan.js';
import { convertEvent, matchRules } from './rule-matches.js';

export interface EvaluatorOptions {
  readonly pools: Pools;
  readonly store: AlertEvaluationStore;
  /** Has the lease and the position of the evaluator. */
  readonly lanes: Pick<DeliveryStore, 'claim' | 'prolong' | 'release'>;
  readonly feed: Feed;
  readonly log: Log;
  /** Name of this process among the processes that share the state database. */
  readonly instance: string;
  catalog(): CatalogSnapshot;
  readonly viewOf: AuthorView;
  /** Milliseconds of the lease. Default: 10,000. */
  readonly leaseMs?: number;
}

/** After the end of the process with the lease, another process takes the lease within 15 seconds. */
const LEASE_MS = 10_000;
const RETRY_MS = 2000;
/** Entries of the feed that are evaluated together. */
const BATCH = 500;
/** Interval between writes of the position while rules trigger nothing, in milliseconds. */
const POSITION_MS = 5000;
/** Interval between checks of the rights of authors, in milliseconds. */
const RIGHTS_MS = 2000;
const TRIM_MS = 3_600_000;

/**
 * Evaluates the rules of alerts on the change feed, in the process that has the lease. The position in the feed and all
 * that follows from it change in one transaction: each entry is evaluated once, whichever process ends when.
 */
export class Evaluator {
  readonly #options: EvaluatorOptions;
  readonly #leaseMs: number;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  #again = false;
  #timer: NodeJS.Timeout | undefined;
  #lease: Lease | undefined;
  #isLost = false;
  /** Entries up to here are evaluated. */
  #position = 0;
  /** Entries up to here were evaluated with all rules that existed when they were read. */
  #confirmed = 0;
  #writtenAt = 0;
  /** Until this time, no timer is due, and no rule needs a comparison. */
  #restsUntil = 0;
  /** A process without the lease does not try to take it before this time, unless zones or rules changed. */
  #triesAt = 0;
  #isCalled = false;
  #rules: ActiveRules | undefined;
  #checkedAt = 0;
  #catalog: CatalogSnapshot | undefined;
  #isChanged = true;
  #scan: Rescan | undefined;
  readonly #timers = new DueTimers();
  #trimmedAt = Date.now();

  constructor(options: EvaluatorOptions) {
    this.#options = options;
    this.#leaseMs = options.leaseMs ?? LEASE_MS;
  }

  /** There may be entries, rules or timers to evaluate. */
  wake(): void {
    this.#again = true;
    if (this.#closing.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      if (this.#again) this.wake();
    });
  }

  /** Zones or rules may have changed. */
  changed(): void {
    this.#isChanged = true;
    this.#isCalled = true;
    this.wake();
  }

  /** Whether everything up to a cursor is evaluated. */
  isIdleAt(cursor: number): boolean {
    return this.#lease !== undefined && this.#position >= cursor && !this.#running;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    await this.#running;
    const { lanes, instance } = this.#options;
    const isHeld = this.#lease !== undefined;
    await this.#letGo();
    if (isHeld) await lanes.release(EVALUATOR, instance).catch(() => {});
  }

  async #run(): Promise<void> {
    const { log, store } = this.#options;
    while (this.#again && !this.#closing.signal.aborted) {
      this.#again = false;
      try {
        const putOffMs = this.#lease || this.#isCalled ? 0 : this.#triesAt - performance.now();
        if (putOffMs > 0) return this.#later(putOffMs);
        if (!this.#lease) {
          this.#isCalled = false;
          this.#triesAt = performance.now() + this.#leaseMs / 3;
        }
        if (!this.#lease && (await store.countActive()) === 0) {
          metrics.evaluationNoLeader.cell().set(0);
          return;
        }
        if (!(await this.#claim())) return this.#later(this.#leaseMs / 3);
        const waitMs = await this.#step();
        if (waitMs === 0) this.#again = true;
        else this.#later(waitMs);
      } catch (error) {
        if (this.#closing.signal.aborted) return;
        log.write('alerts.evaluation.failed', exception(error));
        return this.#later(RETRY_MS);
      }
    }
  }

  #later(ms: number): void {
    if (this.#closing.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.wake(), ms).unref();
  }

  async #claim(): Promise<boolean> {
    if (this.#lease && !this.#isLost) return true;
    await this.#letGo();
    const { lanes, instance, feed, log } = this.#options;
    const claim = await lanes.claim(EVALUATOR, instance, feed.head, this.#leaseMs);
    metrics.evaluationNoLeader.cell().set(0);
    if (!claim) return false;
    this.#position = claim.position;
    this.#confirmed = claim.position;
    this.#writtenAt = performance.now();
    this.#rules = undefined;
    this.#isLost = false;
    this.#lease = new Lease({
      leaseMs: this.#leaseMs,
      prolong: () => lanes.prolong(EVALUATOR, instance, this.#leaseMs),
      lost: () => {
        this.#isLost = true;
      },
      onError: (error) => {
        metrics.evaluationNoLeader.cell().set(1);
        log.write('alerts.evaluation.failed', exception(error));
      },
    });
    return true;
  }

  async #letGo(): Promise<void> {
    const lease = this.#lease;
    this.#lease = undefined;
    this.#rules = undefined;
    this.#scan = undefined;
    await lease?.close();
  }

  /** Does one step of the work. Resolves with the milliseconds until the next step. */
  async #step(): Promise<number> {
    const rules = await this.#load();
    if (rules.size === 0) {
      await this.#letGo();
      await this.#options.lanes.release(EVALUATOR, this.#options.instance);
      return this.#leaseMs;
    }
    const isMore = await this.#evaluate();
    if (this.#isLost || this.#rules !== rules) return 0;
    // Edits that are not evaluated yet can cancel timers.
    if (isMore) return 0;
    const restMs = this.#restsUntil - performance.now();
    if (restMs > 0) return this.#limitWait(restMs);
    const nextMs = await this.#applyTimers(rules);
    if (this.#isLost || this.#rules !== rules || nextMs === 0) return 0;
    if (!(await this.#compare(rules))) return 0;
    await this.#trim();
    const waitMs = Math.min(nextMs ?? this.#leaseMs, this.#leaseMs);
    this.#restsUntil = performance.now() + waitMs;
    return this.#limitWait(waitMs);
  }

  /** Entries that no known rule concerned are confirmed soon. */
  #limitWait(ms: number): number {
    return this.#confirmed < this.#position ? Math.min(ms, RIGHTS_MS) : ms;
  }

  /**
   * Returns the present rules. Reads what changed of them, of the catalog and of the rights of authors. `isAsked`: also
   * reads changes that were not signalled yet.
   */
  async #load(isAsked = false): Promise<ActiveRules> {
    const { store, catalog, viewOf } = this.#options;
    const rules = this.#rules ?? new ActiveRules(viewOf);
    const isOld = performance.now() - this.#checkedAt > RIGHTS_MS;
    const isOther = this.#catalog !== catalog() && !rules.hasLayersOf(catalog());
    if (this.#rules && !isAsked && !this.#isChanged && !isOld && !isOther) return rules;
    if (this.#isChanged || isOld || isOther) this.#restsUntil = 0;
    this.#isChanged = false;
    if (isOld) this.#checkedAt = performance.now();
    this.#catalog = catalog();
    if (rules.revision === (await store.revision())) this.#confirmed = this.#position;
    else {
      await rules.load(store);
      this.#restsUntil = 0;
      // A rule can be older than entries that no known rule concerned.
      this.#position = this.#confirmed;
    }
    const built = await rules.build(this.#catalog, isOld || isOther);
    this.#rules = rules;
    if (this.#scan && !this.#scan.follow(rules)) this.#scan = undefined;
    await this.#noteRules(rules, built);
    return rules;
  }

  /** Records the rules that cannot be evaluated, and the rules whose author can now read other features. */
  async #noteRules(rules: ActiveRules, built: readonly AlertRuleRow[]): Promise<void> {
    const notes = built.flatMap((row): RuleNote[] => {
      const problem = rules.problemOf(row.id) ?? null;
      if (problem !== null)
        return row.problem === problem ? [] : [{ id: row.id, problem, ...noteLoss(problem) }];
      const view = rules.layers.get(row.layer_id)?.byId.get(row.id)?.view;
      const isBack = row.problem !== null;
      const isOtherView = row.view !== null && row.view !== view && row.scan === null;
      if (!isBack && !isOtherView) return [];
      // Changes were missed while the layer was not published.
      const scan = row.problem === 'layer-unpublished' ? 'gap' : 'view-changed';
      return [{ id: row.id, problem: null, ...(row.scan === null ? { scan } : {}) }];
    });
    if (notes.length > 0) await this.#commit(rules, { ...NOTHING, rules: notes });
  }

  /** Evaluates the next entries of the feed; true if there are more. */
  async #evaluate(): Promise<boolean> {
    const { feed } = this.#options;
    const start = this.#position;
    if (start === feed.head) return false;
    const { entries, from, problem } = await feed.resume(start, BATCH);
    const reached = entries.at(-1)?.cursor ?? from;
    if (problem === undefined && this.#mayPass(entries)) {
      this.#position = reached;
      return reached !== feed.head;
    }
    // Rules that are added from now on are newer than these entries, so their commit does not depend on them.
    const rules = await this.#load(true);
    if (this.#isLost) return false;
    if (this.#position !== start) return true;
    const gaps = problem === undefined ? findGaps(entries) : 'all';
    const notes = noteGaps(gaps, rules);
    const batches = await this.#evaluateEvents(entries, rules);
    const isAtEnd = reached === feed.head;
    const isIdle = batches.every((batch) => batch.isEmpty) && notes.length === 0;
    if (!isIdle || this.#isPositionDue) {
      const changes = joinChanges(batches);
      const outcome = await this.#commit(rules, { ...changes, rules: notes, position: reached, isAtEnd });
      if (outcome !== 'done') return true;
      this.#writtenAt = performance.now();
      this.#count(batches);
    }
    this.#scan?.noteGap(gaps);
    this.#position = reached;
    this.#confirmed = reached;
    return !isAtEnd;
  }

  get #isPositionDue(): boolean {
    return performance.now() - this.#writtenAt > POSITION_MS;
  }

  /**
   * Whether no known rule is about a layer of these entries. They need no read of the state. The next read of the rules can
   * find other rules, which are then evaluated for these entries.
   */
  #mayPass(entries: readonly FeedEntry[]): boolean {
    const layers = this.#rules?.layers;
    if (!layers || this.#isPositionDue) return false;
    return entries.every((entry) => entry.kind === 'event' && !layers.has(entry.event.layerId));
  }

  async #evaluateEvents(entries: readonly FeedEntry[], rules: ActiveRules): Promise<Batch[]> {
    const byLayer = new Map<number, FeedEvent[]>();
    for (const entry of entries) {
      if (entry.kind !== 'event' || !rules.layers.has(entry.event.layerId)) continue;
      const events = byLayer.get(entry.event.layerId);
      if (events) events.push(entry);
      else byLayer.set(entry.event.layerId, [entry]);
    }
    return Promise.all(
      [...byLayer].map(async ([layerId, events]) => {
        const layer = rules.layers.get(layerId)!;
        const work = { layer, features: events.map(convertEvent), detectedBy: 'event' } as const;
        const batch = await evaluateFeatures(work, this.#options);
        await this.#resolveDoubts(batch, layer);
        return batch;
      }),
    );
  }

  /** Reads features again whose states contradict their edits. The results are part of the transaction of the edits. */
  async #resolveDoubts(batch: Batch, layer: LayerRules): Promise<void> {
    const { doubts } = batch;
    if (doubts.length === 0) return;
    const { pools } = this.#options;
    const ids = [...new Set(doubts.map(({ featureId }) => featureId))];
    const features = await readFeatures(layer.collection, ids, Date.now(), pools);
    const only = new Map(doubts.map(({ rule }) => [rule, 'loud'] as const));
    batch.apply(layer, features, await matchRules(layer, features, pools), 'rescan', only);
  }

  /** Applies timers that are due. Resolves with the milliseconds until the next one. */
  async #applyTimers(rules: ActiveRules): Promise<number | undefined> {
    const { batch, nextMs } = await this.#timers.next(rules, this.#options);
    if (!batch) return nextMs;
    if ((await this.#commit(rules, batch.changes)) === 'done') this.#count([batch]);
    return 0;
  }

  /** Compares the next page of features with the states of rules. Returns true if no rule needs a comparison. */
  async #compare(rules: ActiveRules): Promise<boolean> {
    this.#scan ??= Rescan.find(rules);
    const scan = this.#scan;
    if (!scan) return true;
    const page = await scan.next(this.#options);
    const changes = page ? page.changes : { ...NOTHING, rules: scan.notes };
    if (page?.isEmpty) return false;
    const isDone = (await this.#commit(rules, changes)) === 'done';
    if (isDone && page) this.#count([page]);
    // The changes of a refused page are lost, so the comparison starts again.
    if (isDone !== (page !== undefined)) this.#scan = undefined;
    return false;
  }

  async #commit(rules: ActiveRules, changes: EvaluationChanges): Promise<'done' | 'lost' | 'stale'> {
    this.#restsUntil = 0;
    const outcome = await this.#options.store.commit(this.#options.instance, rules.revision, changes);
    if (outcome === 'done') rules.note(changes.rules ?? []);
    if (outcome === 'lost') this.#isLost = true;
    if (outcome === 'stale') {
      this.#isChanged = true;
      this.#again = true;
    }
    return outcome;
  }

  #count(batches: readonly Batch[]): void {
    for (const batch of batches) {
      for (const channel of batch.suppressed) metrics.deliveriesSuppressed.cell(channel).inc();
      for (const { row, channels } of batch.started) {
        metrics.eventsEmitted.cell(row.trigger_type).inc();
        for (const channel of channels) metrics.dispatchesEnqueued.cell(channel).inc();
      }
    }
  }

  async #trim(): Promise<void> {
    if (Date.now() - this.#trimmedAt < TRIM_MS) return;
    this.#trimmedAt = Date.now();
    await this.#options.store.trim(ALERT_LIMITS.events, ALERT_LIMITS.eventAgeMs);
  }
}

const NOTHING = { states: [], started: [], ended: [], ongoing: [] };

/** A rule whose author lost the layer forgets what it knew of it. */
const noteLoss = (problem: string) => (problem === 'unauthorized' ? { forget: 'unauthorized' } : {});

function joinChanges(batches: readonly Batch[]): Batch['changes'] {
  const changes = batches.map((batch) => batch.changes);
  return {
    states: changes.flatMap(({ states }) => states),
    started: changes.flatMap(({ started }) => started),
    ended: changes.flatMap(({ ended }) => ended),
    ongoing: changes.flatMap(({ ongoing }) => ongoing),
  };
}

/** Collections whose events may be missing. */
function findGaps(entries: readonly FeedEntry[]): ReadonlySet<string> {
  const gaps = entries.filter((entry): entry is FeedGap => entry.kind === 'gap');
  return new Set(gaps.flatMap(({ collections }) => collections));
}

/** Rules to compare. Running comparisons are repeated instead. States that were never brought up to date stay silent. */
function noteGaps(gaps: ReadonlySet<string> | 'all', { layers }: ActiveRules): RuleNote[] {
  if (gaps !== 'all' && gaps.size === 0) return [];
  return [...layers.values()]
    .filter(({ collection }) => gaps === 'all' || gaps.has(collection.id))
    .flatMap(({ rules }) => rules)
    .flatMap(({ row }) => (row.scan === null ? [{ id: row.id, scan: 'gap' }] : []));
}
