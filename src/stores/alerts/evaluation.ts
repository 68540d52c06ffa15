import { type Insertable, type Selectable, sql } from 'kysely';
import type { Channel, Lifecycle } from '../../core/alerts/alerts.js';
import { formatLane, formatResourceRef } from '../../core/alerts/alerts.js';
import type { AlertEventTable, AlertStateTable } from '../schema/alert-tables.js';
import type { StateDb } from '../schema/database.js';
import { getVocabulary } from '../schema/vocabulary.js';
import { DeliveryStore, type QueuedDelivery } from '../streams/deliveries.js';
import { ChangeNumbers, trimEvents } from './change-numbers.js';
import { lockRevision, noteEvaluation, readRevision } from './revisions.js';
import type { AlertRuleRow } from './rules.js';
import { endIncidents } from './rules.js';
import type { AlertZoneRow } from './zones.js';

export type AlertStateRow = Selectable<AlertStateTable>;

/** Name of the evaluator's lease and position among those of receivers. */
export const EVALUATOR = ':alerts';

/** A zone as rules use it. */
export type UsedZone = Pick<AlertZoneRow, 'id' | 'name' | 'is_active' | 'area_json'>;

/** Changes of rules and zones after a revision. */
export interface RuleChanges {
  readonly revision: number;
  /** Added and changed rules, whether they are active or not. */
  readonly rules: readonly AlertRuleRow[];
  /** Added and changed zones. */
  readonly zoneIds: readonly number[];
  /** Number of active rules. */
  readonly activeCount: number;
}

/** An incident that is not in the database yet, or that a batch changes. `id` is set by the commit. */
export interface Incident {
  id: number | undefined;
  readonly row: Omit<
    Insertable<AlertEventTable>,
    'id' | 'incident_status' | 'started_at' | 'ended_at' | 'ended_by' | 'lifecycle' | 'change_number'
  >;
  readonly lifecycle: Lifecycle;
  /** Channels to send a message to. Empty for a suppressed one. */
  readonly channels: readonly Channel[];
  /** Channels to send a message about its end to, if it has ended already. */
  readonly endChannels: readonly Channel[];
  /** The feature was seen inside again. */
  isOngoing?: boolean;
  /** Reason of the end, if it has ended already. */
  endedBy?: string;
}

/** The new state of a feature for a rule. */
export interface StateChange {
  readonly ruleId: number;
  readonly featureId: string;
  /** Undefined: the row is deleted. */
  readonly state: AlertState | undefined;
}

export interface AlertState {
  isInside: boolean;
  since: number;
  /** The open incident: one of the database, or one of the same batch. */
  incident: number | Incident | undefined;
  dueAt: number | undefined;
  due: DueKind | undefined;
  coolsUntil: number | undefined;
  newest: string | undefined;
}

/** Kind of a timer: for the dwell time, or for the time that a new side must last. */
type DueKind = 'dwell' | 'settle';

export interface EvaluationChanges {
  /** Cursor of the feed that is evaluated now. */
  readonly position?: number;
  /** The feed was read to its end. */
  readonly isAtEnd?: boolean;
  readonly states: readonly StateChange[];
  readonly started: readonly Incident[];
  readonly ended: readonly EndedIncident[];
  /** Incidents whose feature was seen inside again. */
  readonly ongoing: readonly number[];
  readonly rules?: readonly RuleNote[];
}

export interface EndedIncident {
  readonly id: number;
  readonly by: string;
  /** Channels to send a message about the end to. */
  readonly channels: readonly Channel[];
}

/** Changes of a rule by the evaluator. */
export interface RuleNote {
  readonly id: number;
  readonly scan?: string | null;
  readonly problem?: string | null;
  readonly view?: string | null;
  /** Ends the incidents and forgets the states, for this reason. */
  readonly forget?: string;
}

/** Why a commit changed nothing: another process has the lease, or rules have changed. */
type Refusal = 'lost' | 'stale';

const CHUNK = 200;
/** Rules that are read together. */
const PAGE = 1000;
const LAST_ID = Number.MAX_SAFE_INTEGER;

/** Evaluations of the change feed. Everything that follows from a part of the feed is one transaction with the position. */
export class AlertEvaluationStore {
  constructor(private readonly db: StateDb) {}

  /** Changes of rules and zones after a revision. All of them after -1. */
  async changes(since: number): Promise<RuleChanges> {
    const { revision, activeCount } = await this.#count();
    const rules: AlertRuleRow[] = [];
    for (let key = { revision: since, id: LAST_ID }; ; ) {
      const page = await this.#changedRules(key, revision);
      rules.push(...page);
      if (page.length < PAGE) break;
      key = page.at(-1)!;
    }
    const zones = await this.db
      .selectFrom('alert_zones')
      .select('id')
      .where('revision', '>', since)
      .where('revision', '<=', revision)
      .execute();
    return { revision, rules, zoneIds: zones.map(({ id }) => id), activeCount };
  }

  /** One statement, so that both numbers are of the same moment. */
  async #count(): Promise<{ revision: number; activeCount: number }> {
    const { rows } = await sql<{ revision: number; activeCount: number }>`
      SELECT coalesce((SELECT revision FROM alert_revisions WHERE name = 'rules'), 0) AS "revision",
        (SELECT count(*) FROM alert_rules WHERE is_active = 1) AS "activeCount"
    `.execute(this.db);
    return rows[0]!;
  }

  #changedRules(after: { revision: number; id: number }, upTo: number): Promise<AlertRuleRow[]> {
    return this.db
      .selectFrom('alert_rules')
      .selectAll()
      .where(({ refTuple, tuple, eb }) =>
        eb(refTuple('revision', 'id'), '>', tuple(after.revision, after.id)),
      )
      .where('revision', '<=', upTo)
      .orderBy('revision')
      .orderBy('id')
      .limit(PAGE)
      .execute();
  }

  async activeIds(): Promise<number[]> {
    const rows = await this.db.selectFrom('alert_rules').select('id').where('is_active', '=', 1).execute();
    return rows.map(({ id }) => id);
  }

  /** Zones that exist, with their areas. */
  async zones(ids: readonly number[]): Promise<UsedZone[]> {
    const zones: UsedZone[] = [];
    for (let i = 0; i < ids.length; i += CHUNK)
      zones.push(
        ...(await this.db
          .selectFrom('alert_zones')
          .select(['id', 'name', 'is_active', 'area_json'])
          .where('id', 'in', ids.slice(i, i + CHUNK))
          .execute()),
      );
    return zones;
  }

  async revision(): Promise<number> {
    return (await readRevision(this.db)).revision;
  }

  /** Number of active rules. */
  async countActive(): Promise<number> {
    const { n } = await this.db
      .selectFrom('alert_rules')
      .select((e) => e.fn.countAll<number>().as('n'))
      .where('is_active', '=', 1)
      .executeTakeFirstOrThrow();
    return n;
  }

  /** States of features, whatever the rule, and the time of the state's clock. */
  async states(featureIds: readonly string[]): Promise<{ rows: AlertStateRow[]; now: number }> {
    const rows: AlertStateRow[] = [];
    for (let i = 0; i < featureIds.length; i += CHUNK)
      rows.push(
        ...(await this.db
          .selectFrom('alert_states')
          .selectAll()
          .where('feature_id', 'in', featureIds.slice(i, i + CHUNK))
          .execute()),
      );
    return { rows, now: await this.#now() };
  }

  async #now(): Promise<number> {
    const { rows } = await sql<{ now: number }>`SELECT ${getVocabulary(this.db).now()} AS now`.execute(
      this.db,
    );
    return rows[0]!.now;
  }

  /** States of some rules in the order of their keys, after a key. `ruleIds` grow. */
  async statesOf(
    ruleIds: readonly number[],
    after: { readonly ruleId: number; readonly featureId: string } | undefined,
    limit: number,
  ): Promise<AlertStateRow[]> {
    const left = after ? ruleIds.filter((id) => id >= after.ruleId) : ruleIds;
    const rows: AlertStateRow[] = [];
    for (let i = 0; i < left.length && rows.length < limit; i += PAGE) {
      let query = this.db
        .selectFrom('alert_states')
        .selectAll()
        .where('rule_id', 'in', left.slice(i, i + PAGE));
      if (after)
        query = query.where(({ refTuple, tuple, eb }) =>
          eb(refTuple('rule_id', 'feature_id'), '>', tuple(after.ruleId, after.featureId)),
        );
      rows.push(
        ...(await query
          .orderBy('rule_id')
          .orderBy('feature_id')
          .limit(limit - rows.length)
          .execute()),
      );
    }
    return rows;
  }

  /**
   * States that are due, the earliest first, and the milliseconds until the next one is. States of rules with a problem
   * are omitted.
   */
  async due(limit: number): Promise<{ rows: AlertStateRow[]; now: number; nextMs: number | undefined }> {
    const now = await this.#now();
    const rows = await this.db
      .selectFrom('alert_states')
      .selectAll()
      .where('due_at', 'is not', null)
      .where('rule_id', 'not in', (e) =>
        e.selectFrom('alert_rules').select('id').where('problem', 'is not', null),
      )
      .orderBy('due_at')
      .limit(limit + 1)
      .execute();
    const due = rows.filter((row) => row.due_at! <= now).slice(0, limit);
    const next = rows.length > due.length ? rows[due.length] : undefined;
    return { rows: due, now, nextMs: next && Math.max(0, next.due_at! - now) };
  }

  /** Writes what was evaluated, if this process still has the lease and its rules did not change after `revision`. */
  commit(instance: string, revision: number, changes: EvaluationChanges): Promise<'done' | Refusal> {
    return this.db.transaction().execute(async (trx) => {
      const { forUpdate } = getVocabulary(trx);
      const lane = trx.selectFrom('sinks').select('owner').where('name', '=', EVALUATOR);
      if ((await forUpdate(lane).executeTakeFirst())?.owner !== instance) return 'lost';
      const isOther = (await lockRevision(trx)) !== revision;
      if (isOther && !(await areUnchanged(trx, namedRules(changes), revision))) return 'stale';
      if (changes.position !== undefined)
        await trx
          .updateTable('sinks')
          .set({ position: changes.position })
          .where('name', '=', EVALUATOR)
          .execute();
      if (changesEvents(changes)) await writeEvents(trx, changes);
      await noteRules(trx, changes.rules ?? []);
      await writeStates(trx, changes.states);
      if (changes.isAtEnd) await noteEvaluation(trx);
      return 'done';
    });
  }

  /** Drops the oldest events beyond a number, and ended ones beyond an age. */
  trim(most: number, ageMs: number): Promise<void> {
    return trimEvents(this.db, most, ageMs);
  }
}

/** Rules whose states, incidents or notes change. */
function namedRules({ states, started, rules = [] }: EvaluationChanges): number[] {
  const ids = [
    ...states.map(({ ruleId }) => ruleId),
    ...started.map(({ row }) => row.rule_id!),
    ...rules.map(({ id }) => id),
  ];
  return [...new Set(ids)];
}

async function areUnchanged(db: StateDb, ids: readonly number[], revision: number): Promise<boolean> {
  for (let i = 0; i < ids.length; i += PAGE) {
    const part = ids.slice(i, i + PAGE);
    const { n } = await db
      .selectFrom('alert_rules')
      .select((e) => e.fn.countAll<number>().as('n'))
      .where('id', 'in', part)
      .where('revision', '<=', revision)
      .executeTakeFirstOrThrow();
    if (Number(n) !== part.length) return false;
  }
  return true;
}

const changesEvents = ({ started, ended, ongoing, rules = [] }: EvaluationChanges) =>
  started.length > 0 ||
  ended.length > 0 ||
  ongoing.length > 0 ||
  rules.some(({ forget }) => forget !== undefined);

async function writeEvents(db: StateDb, changes: EvaluationChanges): Promise<void> {
  const numbers = await ChangeNumbers.lock(db);
  for (const { id, forget } of changes.rules ?? [])
    if (forget !== undefined) await endIncidents(db, id, forget, numbers);
  // An incident of a feature ends before its next one starts.
  await endIncidentsOf(db, changes.ended, numbers);
  await startIncidents(db, changes.started, numbers);
  await keepOngoing(db, changes.ongoing, numbers);
  await numbers.save();
}

/** Rules with the same note are changed together: a gap concerns all rules of a layer. */
async function noteRules(db: StateDb, notes: readonly RuleNote[]): Promise<void> {
  const groups = new Map<string, { set: Omit<RuleNote, 'id' | 'forget'>; ids: number[] }>();
  for (const { id, forget: _, ...set } of notes) {
    const key = JSON.stringify(set);
    const group = groups.get(key) ?? { set, ids: [] };
    group.ids.push(id);
    groups.set(key, group);
  }
  for (const { set, ids } of groups.values()) {
    const since = set.scan === undefined ? {} : { scan_since: set.scan === null ? null : Date.now() };
    for (let i = 0; i < ids.length; i += PAGE)
      await db
        .updateTable('alert_rules')
        .set({ ...set, ...since })
        .where('id', 'in', ids.slice(i, i + PAGE))
        .execute();
  }
}

async function startIncidents(
  db: StateDb,
  started: readonly Incident[],
  numbers: ChangeNumbers,
): Promise<void> {
  const { now } = getVocabulary(db);
  for (let i = 0; i < started.length; i += CHUNK) {
    const part = started.slice(i, i + CHUNK);
    const rows = await db
      .insertInto('alert_events')
      .values(
        part.map(({ row, lifecycle, isOngoing, endedBy }) => ({
          ...row,
          lifecycle,
          incident_status: endedBy !== undefined ? 'ended' : isOngoing ? 'ongoing' : 'started',
          started_at: now(),
          ended_at: endedBy === undefined ? null : now(),
          ended_by: endedBy ?? null,
          change_number: numbers.next(),
        })),
      )
      .returning(['id', 'ended_at'])
      .execute();
    // Ids grow in the order of the rows, whatever the order in which they are returned.
    rows.sort((a, b) => a.id - b.id);
    part.forEach((incident, k) => {
      incident.id = rows[k]!.id;
    });
    await new DeliveryStore(db).enqueue(
      db,
      part.flatMap(({ id, row, channels, endChannels, endedBy }, k) => {
        const event = { id: id!, rule_id: row.rule_id ?? null, message_json: row.message_json };
        const end = { ended_at: rows[k]!.ended_at, ended_by: endedBy ?? null };
        return [
          ...channels.map((channel) => buildDelivery(channel, event)),
          ...(endedBy === undefined
            ? []
            : endChannels.map((channel) => buildDelivery(channel, { ...event, ...end }))),
        ];
      }),
    );
  }
}

async function endIncidentsOf(
  db: StateDb,
  ended: readonly EndedIncident[],
  numbers: ChangeNumbers,
): Promise<void> {
  const { now } = getVocabulary(db);
  const byReason = new Map<string, number[]>();
  for (const { id, by } of ended) byReason.set(by, [...(byReason.get(by) ?? []), id]);
  for (const [by, ids] of byReason)
    for (let i = 0; i < ids.length; i += CHUNK) {
      const part = ids.slice(i, i + CHUNK);
      const change_number = sql<number>`id + ${numbers.reserve(part)}`;
      await db
        .updateTable('alert_events')
        .set({ incident_status: 'ended', ended_at: now(), ended_by: by, change_number })
        .where('id', 'in', part)
        .where('incident_status', '!=', 'ended')
        .execute();
    }
  const told = new Map(ended.filter(({ channels }) => channels.length > 0).map((one) => [one.id, one]));
  const ids = [...told.keys()];
  for (let i = 0; i < ids.length; i += CHUNK) {
    const rows = await db
      .selectFrom('alert_events')
      .select(['id', 'rule_id', 'message_json', 'ended_at', 'ended_by'])
      .where('id', 'in', ids.slice(i, i + CHUNK))
      .execute();
    await new DeliveryStore(db).enqueue(
      db,
      rows.flatMap((row) => told.get(row.id)!.channels.map((channel) => buildDelivery(channel, row))),
    );
  }
}

async function keepOngoing(db: StateDb, ids: readonly number[], numbers: ChangeNumbers): Promise<void> {
  for (let i = 0; i < ids.length; i += CHUNK) {
    const part = ids.slice(i, i + CHUNK);
    const change_number = sql<number>`id + ${numbers.reserve(part)}`;
    await db
      .updateTable('alert_events')
      .set({ incident_status: 'ongoing', change_number })
      .where('id', 'in', part)
      .where('incident_status', '=', 'started')
      .execute();
  }
}

async function writeStates(db: StateDb, changes: readonly StateChange[]): Promise<void> {
  const rows = changes.flatMap(({ ruleId, featureId, state }) =>
    state ? [{ rule_id: ruleId, feature_id: featureId, ...buildState(state) }] : [],
  );
  for (let i = 0; i < rows.length; i += CHUNK)
    await db
      .insertInto('alert_states')
      .values(rows.slice(i, i + CHUNK))
      .onConflict((c) =>
        c.columns(['rule_id', 'feature_id']).doUpdateSet((e) => ({
          is_inside: e.ref('excluded.is_inside'),
          since: e.ref('excluded.since'),
          event_id: e.ref('excluded.event_id'),
          due_at: e.ref('excluded.due_at'),
          due: e.ref('excluded.due'),
          cools_until: e.ref('excluded.cools_until'),
          newest: e.ref('excluded.newest'),
        })),
      )
      .execute();
  const gone = changes.filter(({ state }) => !state);
  for (let i = 0; i < gone.length; i += CHUNK)
    await db
      .deleteFrom('alert_states')
      .where(({ refTuple, tuple, eb }) =>
        eb(
          refTuple('rule_id', 'feature_id'),
          'in',
          gone.slice(i, i + CHUNK).map(({ ruleId, featureId }) => tuple(ruleId, featureId)),
        ),
      )
      .execute();
}

function buildState({ isInside, since, incident, dueAt, due, coolsUntil, newest }: AlertState) {
  return {
    is_inside: isInside ? 1 : 0,
    since,
    event_id: (typeof incident === 'object' ? incident.id : incident) ?? null,
    due_at: dueAt ?? null,
    due: due ?? null,
    cools_until: coolsUntil ?? null,
    newest: newest ?? null,
  };
}

/** An alert event to send a message about. With `ended_at`, the message is about the end of the incident. */
type ReportedEvent = Pick<Selectable<AlertEventTable>, 'id' | 'rule_id' | 'message_json'> &
  Partial<Pick<Selectable<AlertEventTable>, 'ended_at' | 'ended_by'>>;

function buildDelivery(
  channel: Channel,
  { id, rule_id, message_json, ended_at = null, ended_by }: ReportedEvent,
): QueuedDelivery {
  const incidentKey = formatIncidentKey(id);
  const incidentStatus = ended_at === null ? 'started' : 'ended';
  const end = ended_at === null ? {} : { endedAt: new Date(ended_at).toISOString(), endReason: ended_by };
  const head = { eventId: id, incidentKey, incidentStatus, ...end, resourceRef: formatResourceRef(id) };
  return {
    sink: formatLane(channel),
    eventId: `${incidentKey}:${incidentStatus}`,
    body: `${JSON.stringify(head).slice(0, -1)},${message_json.slice(1)}`,
    ...(rule_id === null ? {} : { ruleId: rule_id }),
    alertId: id,
  };
}

const formatIncidentKey = (eventId: number) => `alert-${eventId}`;
