import { createHash, randomUUID } from 'node:crypto';
import type { Selectable } from 'kysely';
import type { Expression } from '../../core/cql2/ast.js';
import type { FeatureInput } from '../../core/edits/edits.js';
import { decodeStoredJson, encodeStoredJson } from '../../core/values/json.js';
import { jsonTexts } from '../../core/values/json-text.js';
import { type ObjectId, readObjectId } from '../../core/values/object-id.js';
import { auditResource } from '../audit/audit-scope.js';
import type { StateDb } from '../schema/database.js';
import type { ConflictStatus, ReplicaConflictTable } from '../schema/schema.js';
import { acquireLock } from '../schema/vocabulary.js';
import { REPLICA_LIMITS } from './limits.js';

export const CONFLICT_TYPES = [
  'attribute',
  'geometry',
  'deleteUpdate',
  'updateDelete',
  'duplicateInsert',
  'deleteDelete',
] as const;
export type ConflictType = (typeof CONFLICT_TYPES)[number];

/** A state of a feature: former, present, or requested. */
export interface FeatureState {
  readonly attributes: Readonly<Record<string, unknown>>;
  /** GeoJSON in CRS84; null without one. */
  readonly geometry: unknown;
}

export interface FieldChange {
  readonly field: string;
  readonly baseValue: unknown;
  readonly clientValue: unknown;
  readonly serverValue: unknown;
  readonly changedOnClient: boolean;
  readonly changedOnServer: boolean;
}

/** The client's edit, and the bounds that applied to it. */
export interface ClientEdit {
  readonly type: 'create' | 'update' | 'delete';
  readonly feature?: FeatureInput;
  /** CRS of the feature's geometry, as text that PROJ accepts. */
  readonly crs: string;
  readonly filter?: Expression;
  readonly visible?: readonly string[];
  readonly writable?: readonly string[];
}

/** Facts at the time of detection of a conflict. They do not change. */
export interface ConflictBody {
  readonly type: ConflictType;
  readonly collection: string;
  /** The object id with all its digits. Undefined in conflicts of older servers, whose ids are numbers. */
  readonly featureId?: string;
  /** Cursor of the feed up to which the server's changes are known. */
  readonly generation: number;
  readonly base: FeatureState | null;
  readonly client: FeatureState | null;
  readonly server: FeatureState | null;
  readonly fieldChanges: readonly FieldChange[];
  readonly geometryChanged: boolean;
  /** Set if both sides have the same result, so no decision is necessary. */
  readonly settled?: true;
  readonly userId: string;
  readonly syncId: string;
  readonly edit: ClientEdit;
}

export interface NewConflict {
  readonly layerId: number;
  readonly objectId: ObjectId;
  readonly body: ConflictBody;
}

export const RESOLUTIONS = [
  'acceptClient',
  'keepServer',
  'mergeFields',
  'chooseGeometry',
  'rejectClient',
  'defer',
] as const;
export type ResolutionAction = (typeof RESOLUTIONS)[number];

export interface Resolution {
  readonly action: ResolutionAction;
  readonly at: number;
  readonly by: string;
  readonly generation: number;
  /** Whether the client's edit is now completely in the data. */
  readonly clientEditApplied: boolean;
}

export interface Conflict extends NewConflict {
  readonly id: string;
  readonly replicaId: string;
  readonly status: ConflictStatus;
  readonly superseded: boolean;
  /** Whether a resolution was started and its outcome is unknown. */
  readonly outcomeUnknown: boolean;
  readonly detectedAt: number;
  readonly resolution: Resolution | null;
}

/** Edits of replicas that conflict with edits by other clients. */
export class ReplicaConflictStore {
  constructor(private readonly db: StateDb) {}

  /**
   * Records conflicts of an upload, all or none. Undefined if the replica would have too many. A repeated edit is
   * recorded once. A later edit of a feature supersedes the earlier undecided ones.
   */
  add(replicaId: string, conflicts: readonly NewConflict[]): Promise<Conflict[] | undefined> {
    return this.db.transaction().execute(async (trx) => {
      await acquireLock(trx, 'replica', replicaId);
      const open = await trx
        .selectFrom('replica_conflicts')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .where('replica_id', '=', replicaId)
        .where('status', '<>', 'resolved')
        .executeTakeFirstOrThrow();
      if (Number(open.count) + conflicts.length > REPLICA_LIMITS.replicaConflicts) return undefined;
      const rows: Conflict[] = [];
      for (const conflict of conflicts) rows.push(await addOne(trx, replicaId, conflict));
      return rows;
    });
  }

  async list(replicaId: string, status?: ConflictStatus): Promise<Conflict[]> {
    const rows = await this.db
      .selectFrom('replica_conflicts')
      .selectAll()
      .where('replica_id', '=', replicaId)
      .$if(status !== undefined, (q) => q.where('status', '=', status!))
      .orderBy('detected_at')
      .orderBy('id')
      .execute();
    return rows.map(parseConflict);
  }

  async get(replicaId: string, id: string): Promise<Conflict | undefined> {
    const row = await this.db
      .selectFrom('replica_conflicts')
      .selectAll()
      .where('id', '=', id)
      .where('replica_id', '=', replicaId)
      .executeTakeFirst();
    return row && parseConflict(row);
  }

  /** Records that a resolution may be carried out, before it is. */
  async begin(id: string): Promise<void> {
    await this.db.updateTable('replica_conflicts').set({ outcome_unknown: 1 }).where('id', '=', id).execute();
  }

  /** Records that a resolution had no effect. */
  async giveUp(id: string): Promise<void> {
    await this.db.updateTable('replica_conflicts').set({ outcome_unknown: 0 }).where('id', '=', id).execute();
  }

  /** Undefined if another operator has resolved it in between. */
  resolve(
    id: string,
    status: 'resolved' | 'deferred',
    resolution: Resolution,
  ): Promise<Conflict | undefined> {
    return this.db.transaction().execute(async (trx) => {
      const row = await trx
        .updateTable('replica_conflicts')
        .set({ status, resolution_json: JSON.stringify(resolution), outcome_unknown: 0 })
        .where('id', '=', id)
        .where('status', '<>', 'resolved')
        .returningAll()
        .executeTakeFirst();
      auditResource(id, { action: resolution.action });
      return row && parseConflict(row);
    });
  }
}

async function addOne(db: StateDb, replicaId: string, conflict: NewConflict): Promise<Conflict> {
  const { layerId, objectId, body } = conflict;
  const digest = computeDigest(body);
  // Databases take a bigint for a number, and keep its digits.
  const column = objectId as number;
  const ofFeature = () =>
    db
      .selectFrom('replica_conflicts')
      .selectAll()
      .where('replica_id', '=', replicaId)
      .where('layer_id', '=', layerId)
      .where('object_id', '=', column)
      .where('status', '<>', 'resolved');
  const same = await ofFeature().where('digest', '=', digest).executeTakeFirst();
  if (same) return parseConflict(same);
  await db
    .updateTable('replica_conflicts')
    .set({ superseded: 1 })
    .where('replica_id', '=', replicaId)
    .where('layer_id', '=', layerId)
    .where('object_id', '=', column)
    .where('status', '<>', 'resolved')
    .execute();
  const now = Date.now();
  const resolution: Resolution | null = body.settled
    ? { action: 'keepServer', at: now, by: 'server', generation: body.generation, clientEditApplied: false }
    : null;
  const row = await db
    .insertInto('replica_conflicts')
    .values({
      id: randomUUID(),
      replica_id: replicaId,
      layer_id: layerId,
      object_id: column,
      digest,
      superseded: 0,
      outcome_unknown: 0,
      status: body.settled ? 'resolved' : 'pending',
      detected_at: now,
      body_json: encodeStoredJson(body),
      resolution_json: resolution && JSON.stringify(resolution),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return parseConflict(row);
}

/** Digest of the client's edit and the server state that it conflicts with. */
const computeDigest = ({ edit, server, type }: ConflictBody) =>
  createHash('sha256')
    .update(encodeStoredJson([type, edit.type, edit.feature ?? null, server]))
    .digest('hex');

export function parseConflict(row: Selectable<ReplicaConflictTable>): Conflict {
  const body = bodyIn(row.body_json);
  return {
    id: row.id,
    replicaId: row.replica_id,
    layerId: row.layer_id,
    objectId: readObjectId(body.featureId) ?? row.object_id,
    status: row.status,
    superseded: row.superseded === 1,
    outcomeUnknown: row.outcome_unknown === 1,
    detectedAt: row.detected_at,
    body,
    resolution: row.resolution_json === null ? null : (JSON.parse(row.resolution_json) as Resolution),
  };
}

/** Older servers kept the attributes of the client's feature as values, not as JSON texts. */
function bodyIn(json: string): ConflictBody {
  const body = decodeStoredJson(json) as ConflictBody;
  const { feature } = body.edit as { feature?: FeatureInput & { properties?: Record<string, unknown> } };
  if (!feature?.properties) return body;
  const { properties, ...rest } = feature;
  return { ...body, edit: { ...body.edit, feature: { ...rest, values: jsonTexts(properties) } } };
}
