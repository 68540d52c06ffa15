import type { Pools } from '../../../core/tasks/tasks.js';
import type { AlertEvaluationStore, AlertStateRow } from '../../../stores/alerts/evaluation.js';
import type { ActiveRules } from './active-rules.js';
import { Batch, formatKey } from './batch.js';
import { readFeatures } from './features.js';
import type { LayerRules } from './layer-rules.js';
import { matchRules } from './rule-matches.js';

/** Timers that are applied together. */
const MOST_DUE = 500;
const RETRY_MS = 1000;
/** Time in which the event of an edit reaches the feed, in milliseconds. The process that reads the edits can change. */
const EVENT_MS = 60_000;

interface TimerDeps {
  readonly store: Pick<AlertEvaluationStore, 'due'>;
  readonly pools: Pools;
}

/**
 * Timers that are due. A timer waits if the feature is already on the other side: the event of that edit is not in the
 * feed yet, and decides.
 */
export class DueTimers {
  /** End of the waiting time, by rule and feature. */
  readonly #waiting = new Map<string, number>();

  /** Applies the next timers. Without changes, `nextMs` is the time until the next timer. */
  async next(
    rules: ActiveRules,
    { store, pools }: TimerDeps,
  ): Promise<{ batch: Batch | undefined; nextMs: number | undefined }> {
    const { rows, now, nextMs } = await store.due(MOST_DUE + this.#waiting.size);
    this.#forget(rows);
    if (rows.length === 0) return { batch: undefined, nextMs };
    const batch = new Batch(now, rows);
    for (const layer of rules.layers.values()) {
      const own = rows.filter(({ rule_id }) => layer.byId.has(rule_id));
      if (own.length > 0) await this.#apply(batch, layer, own, now, pools);
    }
    return batch.isEmpty
      ? { batch: undefined, nextMs: Math.min(nextMs ?? RETRY_MS, RETRY_MS) }
      : { batch, nextMs: 0 };
  }

  async #apply(
    batch: Batch,
    layer: LayerRules,
    rows: readonly AlertStateRow[],
    now: number,
    pools: Pools,
  ): Promise<void> {
    const ids = [...new Set(rows.map(({ feature_id }) => feature_id))];
    const features = await readFeatures(layer.collection, ids, now, pools);
    const matches = await matchRules(layer, features, pools);
    const places = new Map(ids.map((id, i) => [id, i]));
    for (const { rule_id, feature_id, is_inside, due } of rows) {
      const rule = layer.byId.get(rule_id)!;
      const i = places.get(feature_id)!;
      const input = matches.inputOf(i, rule, false);
      const isThere = is_inside === 1 ? input.after.isKept : input.after.isInside;
      // The state ignores late positions, so the present position proves nothing.
      const isPlausible =
        rule.conditions.timeField !== undefined || isThere === (due === 'dwell' || is_inside === 0);
      if (isPlausible) batch.applyTimer(rule, feature_id, features[i]!.after);
      else if (this.#isOver(formatKey(rule_id, feature_id), now)) batch.compare(rule, features[i]!, input);
    }
  }

  #isOver(key: string, now: number): boolean {
    const end = this.#waiting.get(key) ?? now + EVENT_MS;
    this.#waiting.set(key, end);
    return now >= end;
  }

  /** Forgets timers that an event canceled. */
  #forget(rows: readonly AlertStateRow[]): void {
    if (this.#waiting.size === 0) return;
    const due = new Set(rows.map(({ rule_id, feature_id }) => formatKey(rule_id, feature_id)));
    for (const key of this.#waiting.keys()) if (!due.has(key)) this.#waiting.delete(key);
  }
}
