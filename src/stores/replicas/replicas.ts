import { randomUUID } from 'node:crypto';
import type { Selectable } from 'kysely';
import type { Expression } from '../../core/cql2/ast.js';
import { decodeStoredJson, encodeStoredJson } from '../../core/values/json.js';
import { auditResource } from '../audit/audit-scope.js';
import type { StateDb } from '../schema/database.js';
import type { ReplicaTable, SyncModel } from '../schema/schema.js';
import { acquireLock } from '../schema/vocabulary.js';
import { REPLICA_LIMITS } from './limits.js';

/** A layer of a replica. */
export interface ReplicaLayer {
  readonly layerId: number;
  /** Id of its collection. */
  readonly collection: string;
  /** Checked filter of the features of the replica. Default: all features. */
  readonly filter?: Expression;
  /** Key of the part of the layer that its owner could read when the replica was created. */
  readonly scope: string;
  /** Cursor of the feed up to which the changes of the layer were sent. */
  readonly generation: number;
}

export interface Replica {
  readonly id: string;
  readonly name: string;
  readonly service: string;
  /** Id of the principal that created the replica. */
  readonly owner: string;
  readonly syncModel: SyncModel;
  /** EPSG code of the replica's coordinates. */
  readonly epsg: number;
  readonly layers: readonly ReplicaLayer[];
  readonly generation: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly syncedAt: number;
  /** Time at which the owner unregistered the replica although it has unresolved conflicts. Null before that. */
  readonly endedAt: number | null;
}

export type NewReplica = Pick<Replica, 'name' | 'service' | 'owner' | 'syncModel' | 'epsg' | 'layers'> & {
  /** Network of the address that creates it without a key. */
  readonly address?: string | undefined;
};

/** Offline copies and their uploads. */
export class ReplicaStore {
  constructor(private readonly db: StateDb) {}

  /** Undefined when the service, the owner, or without a key the address, has as many as it may have. */
  add(replica: NewReplica): Promise<Replica | undefined> {
    return this.db.transaction().execute(async (trx) => {
      await acquireLock(trx, 'replicas', replica.service);
      await trim(trx);
      if (await isFull(trx, replica)) return undefined;
      const now = Date.now();
      const row = await trx
        .insertInto('replicas')
        .values({
          id: randomUUID(),
          name: replica.name,
          service: replica.service,
          owner: replica.owner,
          counted_for: replica.address ?? null,
          sync_model: replica.syncModel,
          epsg: replica.epsg,
          layers_json: encodeStoredJson(replica.layers),
          generation: computeGeneration(replica.layers),
          created_at: now,
          synced_at: now,
          ended_at: null,
        })
        .returningAll()
        .executeTakeFirstOrThrow();
      auditResource(row.id, { layers: replica.layers.map(({ layerId }) => layerId) });
      return readReplica(row);
    });
  }

  /** Replicas of a service, oldest first. */
  async list(service: string): Promise<Replica[]> {
    const rows = await this.db
      .selectFrom('replicas')
      .selectAll()
      .where('service', '=', service)
      .orderBy('created_at')
      .orderBy('id')
      .execute();
    return rows.map(readReplica);
  }

  async get(service: string, id: string): Promise<Replica | undefined> {
    const row = await this.db
      .selectFrom('replicas')
      .selectAll()
      .where('id', '=', id)
      .where('service', '=', service)
      .executeTakeFirst();
    return row && readReplica(row);
  }

  /** Records the new generations up to which the changes of layers were sent. */
  async markSync(id: string, generations: ReadonlyMap<number, number>): Promise<void> {
    await this.db.transaction().execute(async (trx) => {
      await acquireLock(trx, 'replica', id);
      const row = await trx.selectFrom('replicas').selectAll().where('id', '=', id).executeTakeFirst();
      if (!row) return;
      const layers = readReplica(row).layers.map((layer) => ({
        ...layer,
        generation: Math.max(layer.generation, generations.get(layer.layerId) ?? 0),
      }));
      await trx
        .updateTable('replicas')
        .set({
          layers_json: encodeStoredJson(layers),
          generation: computeGeneration(layers),
          synced_at: Date.now(),
        })
        .where('id', '=', id)
        .execute();
    });
  }

  /** Records an upload. Resolves with its id, which events of its edits contain. */
  async addSync(replicaId: string): Promise<string> {
    const id = randomUUID();
    await this.db.insertInto('replica_syncs').values({ id, replica_id: replicaId, at: Date.now() }).execute();
    return id;
  }

  /** Ids of the uploads of a replica. */
  async syncsOf(replicaId: string): Promise<Set<string>> {
    const rows = await this.db
      .selectFrom('replica_syncs')
      .select('id')
      .where('replica_id', '=', replicaId)
      .execute();
    return new Set(rows.map(({ id }) => id));
  }

  /** Removes a replica. If it has unresolved conflicts, its row is kept for the operators who resolve them. */
  remove(id: string): Promise<void> {
    return this.db.transaction().execute(async (trx) => {
      const open = await trx
        .selectFrom('replica_conflicts')
        .select('id')
        .where('replica_id', '=', id)
        .where('status', '<>', 'resolved')
        .executeTakeFirst();
      if (open)
        await trx.updateTable('replicas').set({ ended_at: Date.now() }).where('id', '=', id).execute();
      else await trx.deleteFrom('replicas').where('id', '=', id).execute();
      auditResource(id);
    });
  }
}

/** Part of the replicas of a service that callers without a key may have. */
const ANONYMOUS_PART = 1 / 2;

async function isFull(db: StateDb, { service, owner, address }: NewReplica): Promise<boolean> {
  const replicas = () =>
    db
      .selectFrom('replicas')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('service', '=', service)
      .where('ended_at', 'is', null);
  const all = await replicas().executeTakeFirstOrThrow();
  if (Number(all.count) >= REPLICA_LIMITS.serviceReplicas) return true;
  if (address === undefined) {
    const own = await replicas().where('owner', '=', owner).executeTakeFirstOrThrow();
    return Number(own.count) >= REPLICA_LIMITS.ownerReplicas;
  }
  const strangers = await replicas().where('counted_for', 'is not', null).executeTakeFirstOrThrow();
  const own = await replicas().where('counted_for', '=', address).executeTakeFirstOrThrow();
  return (
    Number(strangers.count) >= REPLICA_LIMITS.serviceReplicas * ANONYMOUS_PART ||
    Number(own.count) >= REPLICA_LIMITS.addressReplicas
  );
}

/**
 * Removes old uploads and expired replicas. Uploads are kept as long as the feed can contain their edits, expired
 * replicas equally long.
 */
async function trim(db: StateDb): Promise<void> {
  const past = Date.now() - 2 * REPLICA_LIMITS.replicaMs;
  await db.deleteFrom('replica_syncs').where('at', '<', past).execute();
  await db
    .deleteFrom('replicas')
    .where('synced_at', '<', past)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('replica_conflicts')
            .select('replica_conflicts.id')
            .whereRef('replica_conflicts.replica_id', '=', 'replicas.id')
            .where('replica_conflicts.status', '<>', 'resolved'),
        ),
      ),
    )
    .execute();
}

/** Cursor up to which the changes of all layers were sent. */
const computeGeneration = (layers: readonly ReplicaLayer[]) =>
  Math.min(...layers.map(({ generation }) => generation));

function readReplica(row: Selectable<ReplicaTable>): Replica {
  return {
    id: row.id,
    name: row.name,
    service: row.service,
    owner: row.owner,
    syncModel: row.sync_model,
    epsg: row.epsg,
    layers: decodeStoredJson(row.layers_json) as ReplicaLayer[],
    generation: row.generation,
    createdAt: row.created_at,
    syncedAt: row.synced_at,
    endedAt: row.ended_at,
  };
}
