import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import type { FeedEvent } from '../../core/streams/events.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { UsedZone } from '../../stores/alerts/evaluation.js';
import type { AlertRuleRow, NewAlertRule } from '../../stores/alerts/rules.js';
import type { NewAlertZone } from '../../stores/alerts/zones.js';
import type { Feed } from '../streams/feed.js';
import { ActiveRules } from './evaluation/active-rules.js';
import { Batch } from './evaluation/batch.js';
import { convertEvent, matchRules } from './evaluation/rule-matches.js';
import { findMessagePosition } from './position.js';

/** Triggers of a rule that is applied to past edits. */
export interface Simulation {
  /** RFC 3339: start of the simulated time. */
  readonly from: string;
  /** Edits of the layer since then. */
  readonly editCount: number;
  readonly triggerCount: number;
  /** The last triggers. */
  readonly triggers: readonly SimulatedTrigger[];
  /** False if there are more edits than are simulated, or the feed does not reach so far back. */
  readonly isComplete: boolean;
}

interface SimulatedTrigger {
  readonly featureId: string;
  readonly occurredAt: string;
  /** Longitude and latitude. Null if it is unknown. */
  readonly position: readonly [number, number] | null;
}

const HOUR_MS = 3_600_000;
const BATCH = 500;
const MOST_EDITS = 10_000;
const MOST_TRIGGERS = 10;

/** A rule that is not stored. */
const DRAFT_ID = 0;

export interface SimulationDeps {
  readonly feed: Feed;
  readonly pools: Pools;
  catalog(): CatalogSnapshot;
}

/**
 * Applies a rule to the edits of the last hour. Has no effect on the state. Timers do not run, so a dwell rule counts the
 * features that entered.
 */
export async function simulateRule(
  rule: NewAlertRule,
  zone: NewAlertZone | undefined,
  visible: CatalogSnapshot,
  { feed, pools, catalog }: SimulationDeps,
): Promise<Simulation> {
  const start = Date.now() - HOUR_MS;
  const rules = new ActiveRules(async () => visible);
  rules.put(makeRow(rule, zone));
  if (zone) rules.putZone(makeUsedZone(zone));
  await rules.build(catalog(), false);
  const layer = rules.layers.get(rule.layer_id);
  const { edits, isComplete } = await readEdits(feed, rule.layer_id, start);
  const batch = new Batch(Date.now(), []);
  for (let i = 0; layer && i < edits.length; i += BATCH) {
    const features = edits.slice(i, i + BATCH).map(convertEvent);
    batch.apply(layer, features, await matchRules(layer, features, pools), 'event');
  }
  const times =
    rule.trigger_type === 'dwell'
      ? batch.changes.states.flatMap(({ featureId, state }) =>
          state?.isInside
            ? [{ featureId, at: state.since, position: findLastPosition(edits, featureId) }]
            : [],
        )
      : batch.started.map(({ row }) => ({
          featureId: row.feature_id,
          at: row.occurred_at,
          position: findMessagePosition(row.message_json),
        }));
  return {
    from: new Date(start).toISOString(),
    editCount: edits.length,
    triggerCount: times.length,
    triggers: times.slice(-MOST_TRIGGERS).map(({ featureId, at, position }) => ({
      featureId,
      occurredAt: new Date(at).toISOString(),
      position,
    })),
    isComplete,
  };
}

function makeRow(rule: NewAlertRule, zone: NewAlertZone | undefined): AlertRuleRow {
  const none = { scan: null, scan_since: null, view: null, problem: null };
  const times = { created_at: 0, updated_at: 0, revision: 0 };
  return { ...rule, id: DRAFT_ID, is_active: 1, zone_id: zone ? DRAFT_ID : null, ...none, ...times };
}

const makeUsedZone = ({ name, area_json }: NewAlertZone): UsedZone => ({
  ...{ id: DRAFT_ID, name, is_active: 1, area_json },
});

/** The edits of a layer since a time, oldest first. */
async function readEdits(feed: Feed, layerId: number, start: number) {
  const edits: FeedEvent[] = [];
  let isComplete = true;
  let cursor = feed.oldest - 1;
  while (cursor < feed.head) {
    const entries = await feed.after(cursor, BATCH);
    if (entries.length === 0) break;
    cursor = entries.at(-1)!.cursor;
    for (const entry of entries)
      if (entry.kind === 'event' && entry.event.layerId === layerId && Date.parse(entry.event.time) >= start)
        edits.push(entry);
      else if (entry.kind === 'gap' && Date.parse(entry.time) >= start) isComplete = false;
  }
  if (edits.length > MOST_EDITS) isComplete = false;
  return { edits: edits.slice(-MOST_EDITS), isComplete };
}

/** Position of a feature after its last edit. */
function findLastPosition(edits: readonly FeedEvent[], featureId: string) {
  const last = edits.findLast(({ event }) => event.featureId === featureId);
  return findMessagePosition(`{"geometry":${last?.event.geometry ?? 'null'}}`);
}
