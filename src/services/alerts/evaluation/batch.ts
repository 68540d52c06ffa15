import type { DetectedBy } from '../../../core/alerts/alerts.js';
import type { EventImage } from '../../../core/streams/events.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import type {
  AlertEvaluationStore,
  AlertState,
  AlertStateRow,
  EndedIncident,
  EvaluationChanges,
  Incident,
  StateChange,
} from '../../../stores/alerts/evaluation.js';
import { computeObjectId } from '../../streams/frames.js';
import type { EvaluatedRule, LayerRules } from './layer-rules.js';
import { formatMessage } from './message.js';
import { type FeatureRevision, matchRules, type RuleMatches } from './rule-matches.js';
import {
  type AlertEffect,
  applyChange,
  applyTimer,
  isForgettable,
  type RuleInput,
  type Transition,
} from './transitions.js';

/** A rule and a feature whose state contradicts an edit. */
export interface Doubt {
  readonly rule: EvaluatedRule;
  readonly featureId: string;
}

/** Changes from a part of the feed or from a page of features. One transaction writes them. */
export class Batch {
  readonly doubts: Doubt[] = [];
  /** Messages that were not sent because of a cooldown, by channel. */
  readonly suppressed: string[] = [];
  readonly #states = new Map<string, { ruleId: number; featureId: string; state: AlertState | undefined }>();
  readonly #changed = new Set<string>();
  readonly #started: Incident[] = [];
  readonly #ended: EndedIncident[] = [];
  readonly #ongoing = new Set<number>();
  /** Rules with a state, by feature. */
  readonly #rulesOf = new Map<string, Set<number>>();

  constructor(
    private readonly now: number,
    rows: readonly AlertStateRow[],
  ) {
    for (const row of rows) {
      const { rule_id: ruleId, feature_id: featureId } = row;
      this.#states.set(formatKey(ruleId, featureId), { ruleId, featureId, state: readState(row) });
      this.#note(featureId, ruleId);
    }
  }

  get isEmpty(): boolean {
    const lists = [this.#started, this.#ended];
    return this.#changed.size === 0 && this.#ongoing.size === 0 && lists.every(({ length }) => length === 0);
  }

  get started(): readonly Incident[] {
    return this.#started;
  }

  get changes(): Pick<EvaluationChanges, 'states' | 'started' | 'ended' | 'ongoing'> {
    const states = [...this.#changed].map((key): StateChange => {
      const { ruleId, featureId, state } = this.#states.get(key)!;
      return { ruleId, featureId, state: state && isForgettable(state, this.now) ? undefined : state };
    });
    return { states, started: this.#started, ended: this.#ended, ongoing: [...this.#ongoing] };
  }

  /** Applies changes in their order. `only`: the rules of a comparison. */
  apply(
    layer: LayerRules,
    features: readonly FeatureRevision[],
    matches: RuleMatches,
    detectedBy: DetectedBy,
    only?: ReadonlyMap<EvaluatedRule, 'silent' | 'loud'>,
  ): void {
    features.forEach((feature, i) => {
      for (const rule of this.#rules(layer, feature, matches.candidates[i]!)) {
        const mode = only?.get(rule);
        if (only && !mode) continue;
        if (!only && isBeforeStart(rule, feature)) continue;
        this.#change(rule, feature, matches.inputOf(i, rule, mode === 'silent'), detectedBy);
      }
    });
  }

  /** Applies the comparison of one present feature with its state for a rule. */
  compare(rule: EvaluatedRule, feature: FeatureRevision, input: RuleInput): void {
    this.#change(rule, feature, input, 'rescan');
  }

  #change(rule: EvaluatedRule, feature: FeatureRevision, input: RuleInput, detectedBy: DetectedBy): void {
    const { featureId, before, after } = feature;
    const former = this.#stateOf(rule, featureId);
    const transition = applyChange(rule, former, input, this.now);
    this.#take(rule, featureId, former, transition, after ?? before ?? null, detectedBy);
  }

  /** Applies a due timer. `feature` is the present feature. */
  applyTimer(rule: EvaluatedRule, featureId: string, feature: EventImage | null): void {
    const former = this.#stateOf(rule, featureId);
    if (former) this.#take(rule, featureId, former, applyTimer(rule, former, this.now), feature, 'timer');
  }

  #rules(
    layer: LayerRules,
    { featureId }: FeatureRevision,
    candidates: ReadonlySet<EvaluatedRule>,
  ): Iterable<EvaluatedRule> {
    const rules = new Set(candidates);
    for (const id of this.#rulesOf.get(featureId) ?? []) {
      const rule = layer.byId.get(id);
      if (rule) rules.add(rule);
    }
    return rules.size > 1 ? [...rules].sort((a, b) => a.row.id - b.row.id) : rules;
  }

  #note(featureId: string, ruleId: number): void {
    const rules = this.#rulesOf.get(featureId);
    if (rules) rules.add(ruleId);
    else this.#rulesOf.set(featureId, new Set([ruleId]));
  }

  #stateOf({ row }: EvaluatedRule, featureId: string): AlertState | undefined {
    return this.#states.get(formatKey(row.id, featureId))?.state;
  }

  #take(
    rule: EvaluatedRule,
    featureId: string,
    former: AlertState | undefined,
    { state, effects }: Transition,
    feature: EventImage | null,
    detectedBy: DetectedBy,
  ): void {
    for (const effect of effects) this.#effect(rule, featureId, state, effect, feature, detectedBy);
    const isNew = !former && !isForgettable(state, this.now);
    if (!isNew && !(former && isOther(former, state))) return;
    const key = formatKey(rule.row.id, featureId);
    this.#states.set(key, { ruleId: rule.row.id, featureId, state });
    this.#note(featureId, rule.row.id);
    this.#changed.add(key);
  }

  #effect(
    rule: EvaluatedRule,
    featureId: string,
    state: AlertState,
    effect: AlertEffect,
    feature: EventImage | null,
    detectedBy: DetectedBy,
  ): void {
    const endChannels = rule.conditions.notifyEnd ? rule.channels : [];
    switch (effect.kind) {
      case 'doubt':
        this.doubts.push({ rule, featureId });
        return;
      case 'ongoing':
        if (typeof state.incident === 'number') this.#ongoing.add(state.incident);
        else if (state.incident) state.incident.isOngoing = true;
        return;
      case 'end':
        if (typeof state.incident === 'number')
          this.#ended.push({ id: state.incident, by: effect.by, channels: endChannels });
        else if (state.incident) state.incident.endedBy = effect.by;
        state.incident = undefined;
        return;
      default: {
        const incident = this.#start(rule, featureId, state, effect.at, feature, detectedBy, endChannels);
        if (effect.kind === 'pass') incident.endedBy = 'passed';
        else state.incident = incident;
      }
    }
  }

  #start(
    rule: EvaluatedRule,
    featureId: string,
    state: AlertState,
    at: number,
    feature: EventImage | null,
    detectedBy: DetectedBy,
    endChannels: Incident['endChannels'],
  ): Incident {
    const { row, channels } = rule;
    const isCooling = state.coolsUntil !== undefined && state.coolsUntil > this.now;
    if (isCooling) this.suppressed.push(...channels);
    else state.coolsUntil = row.cooldown_seconds > 0 ? this.now + row.cooldown_seconds * 1000 : undefined;
    const objectId = computeObjectId(featureId);
    const incident: Incident = {
      id: undefined,
      row: {
        rule_id: row.id,
        rule_name: row.name,
        zone_id: row.zone_id,
        service: row.service,
        layer_id: row.layer_id,
        collection: row.collection,
        feature_id: featureId,
        object_id: String(objectId),
        trigger_type: row.trigger_type,
        severity: row.severity,
        detected_by: detectedBy,
        occurred_at: Math.round(at),
        suppressed_until: isCooling ? state.coolsUntil! : null,
        message_json: formatMessage(rule, { featureId, objectId, at, detectedBy, feature }),
        tenant: row.tenant,
      },
      lifecycle: isCooling ? 'suppressed' : 'open',
      channels: isCooling ? [] : channels,
      endChannels: isCooling ? [] : endChannels,
    };
    this.#started.push(incident);
    return incident;
  }
}

export interface EvaluationDeps {
  readonly store: Pick<AlertEvaluationStore, 'states' | 'statesOf'>;
  readonly pools: Pools;
}

interface Evaluation {
  readonly layer: LayerRules;
  readonly features: readonly FeatureRevision[];
  readonly detectedBy: DetectedBy;
  /** The rules of a comparison. Default: all rules. */
  readonly only?: ReadonlyMap<EvaluatedRule, 'silent' | 'loud'>;
}

/** Returns the changes from features and their states. */
export async function evaluateFeatures(
  { layer, features, detectedBy, only }: Evaluation,
  { store, pools }: EvaluationDeps,
): Promise<Batch> {
  const ids = [...new Set(features.map(({ featureId }) => featureId))];
  const [{ rows, now }, matches] = await Promise.all([store.states(ids), matchRules(layer, features, pools)]);
  const states = rows.filter(({ rule_id }) => layer.byId.has(rule_id));
  const batch = new Batch(now, states);
  batch.apply(layer, features, matches, detectedBy, only);
  return batch;
}

export const formatKey = (ruleId: number, featureId: string) => `${ruleId} ${featureId}`;

/** Whether an edit is older than the rule, or than the time when it was enabled or changed. A comparison follows. */
const isBeforeStart = ({ row: { scan, scan_since } }: EvaluatedRule, { at }: FeatureRevision) =>
  scan === 'created' && scan_since !== null && at < scan_since;

function readState(row: AlertStateRow): AlertState {
  return {
    isInside: row.is_inside === 1,
    since: row.since,
    incident: row.event_id ?? undefined,
    dueAt: row.due_at ?? undefined,
    due: (row.due ?? undefined) as AlertState['due'],
    coolsUntil: row.cools_until ?? undefined,
    newest: row.newest ?? undefined,
  };
}

function isOther(one: AlertState, other: AlertState): boolean {
  return (Object.keys(one) as (keyof AlertState)[]).some((member) => one[member] !== other[member]);
}
