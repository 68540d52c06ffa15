import { hasFeatures } from '../../core/catalog/abilities.js';
import { type VectorCollection, whole } from '../../core/catalog/collection.js';
import type { Expression } from '../../core/cql2/ast.js';
import { ApiError, badParameter, notFound } from '../../core/errors/errors.js';
import type { Crs } from '../../core/geometry/crs.js';
import type { Principal } from '../../core/http/operation.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { findEpsgCrs } from '../../native/crs.js';
import { auditResource } from '../../stores/audit/audit-scope.js';
import { REPLICA_LIMITS } from '../../stores/replicas/limits.js';
import type { Conflict, ReplicaConflictStore } from '../../stores/replicas/replica-conflicts.js';
import type { Replica, ReplicaLayer, ReplicaStore } from '../../stores/replicas/replicas.js';
import type { SyncModel } from '../../stores/schema/schema.js';
import type { FeedStore } from '../../stores/streams/feed.js';
import type { AccessPolicy } from '../access/access.js';
import { permits } from '../access/permissions.js';
import { editBounds } from '../edits/edit-bounds.js';
import type { Edits } from '../edits/edits.js';
import type { LayerEdits } from '../edits/layer-edits.js';
import type { Catalogs } from '../features/view.js';
import type { TaskContext } from '../kit/run-task.js';
import { Turns } from '../kit/turns.js';
import type { Feed } from '../streams/feed.js';
import { type LayerDelta, layerDelta } from './delta.js';
import { type Budget, readReplicaFeatures } from './features.js';
import { FeedEnd } from './feed-end.js';
import { layerView, type ReplicaLayerView, requireLayer, scopeName } from './layer-view.js';
import { netChanges } from './net-changes.js';
import { type Decision, type Effect, type Operator, resolveConflict } from './resolution.js';
import { type LayerEditResults, uploadLayer } from './upload.js';

/** Context of a request, with its caller. */
export interface ReplicaContext extends TaskContext {
  readonly principal: Principal;
}

export interface ReplicasDeps extends Catalogs {
  readonly pools: Pools;
  readonly access: AccessPolicy;
  readonly edits: Edits;
  readonly feed: Feed;
  readonly feedStore: FeedStore;
  readonly replicas: ReplicaStore;
  readonly conflicts: ReplicaConflictStore;
  /** Requests that the events of a collection are soon moved into the feed. */
  edited(collectionId: string): void;
}

/** A layer of a replica, and the filter of its features. */
export interface LayerChoice {
  readonly collection: VectorCollection;
  readonly filter: Expression | undefined;
}

export interface ReplicaDraft {
  readonly service: string;
  readonly name: string;
  readonly syncModel: SyncModel;
  readonly crs: Crs;
  readonly layers: readonly LayerChoice[];
}

/** A layer with the JSON of its features. */
export interface LayerData {
  readonly view: ReplicaLayerView;
  readonly generation: number;
  readonly features: readonly string[];
}

export interface LayerChanges {
  readonly layerId: number;
  readonly generation: number;
  readonly delta?: LayerDelta;
  /** JSON of added and updated features, by id. Undefined if the client only needs ids. */
  readonly features?: ReadonlyMap<string, string>;
  readonly results?: LayerEditResults;
}

export type SyncDirection = 'download' | 'upload' | 'bidirectional';

/** Parameters of a client for one layer. */
export interface LayerSync {
  readonly layerId: number;
  readonly generation: number;
  readonly direction: SyncDirection;
}

export interface ChangeRequest {
  readonly choice: LayerChoice;
  readonly generation: number;
}

/** Offline copies of layers: they are created, receive changes, and upload changes. */
export class Replicas {
  readonly #turns = new Turns(REPLICA_LIMITS.replicaTurns);
  readonly #anonymousTurns = new Turns(REPLICA_LIMITS.anonymousReplicaTurns);
  readonly #feedEnd: FeedEnd;

  constructor(private readonly deps: ReplicasDeps) {
    const { pools, feed, feedStore: store, edited } = deps;
    this.#feedEnd = new FeedEnd({ pools, store, feed, edited });
  }

  /** Reads the present state of the layers. The replica is stored unless its model is `none`. */
  async create(
    x: ReplicaContext,
    draft: ReplicaDraft,
  ): Promise<{ replica: Replica | undefined; layers: LayerData[] }> {
    const { pools } = this.deps;
    const release = await this.#turn(x);
    try {
      const collections = draft.layers.map(({ collection }) => collection);
      const generation = await this.#feedEnd.reach(x, collections);
      const budget: Budget = { bytes: REPLICA_LIMITS.replicaBytes };
      const layers: LayerData[] = [];
      for (const { collection, filter } of draft.layers) {
        const view = layerView(this.deps, collection, filter);
        const features = await readReplicaFeatures(x, pools, view, { crs: draft.crs, budget });
        layers.push({ view, generation, features: [...features.values()] });
      }
      return { replica: await this.#register(x, draft, generation), layers };
    } finally {
      release();
    }
  }

  /** Callers without a key first wait for a turn in their own queue, so that one turn stays free of them. */
  async #turn({ caller }: ReplicaContext): Promise<() => void> {
    if (caller?.class !== 'anonymous') return this.#turns.take();
    const releaseOwn = await this.#anonymousTurns.take();
    const release = await this.#turns.take();
    return () => {
      release();
      releaseOwn();
    };
  }

  async #register(x: ReplicaContext, draft: ReplicaDraft, generation: number): Promise<Replica | undefined> {
    if (draft.syncModel === 'none') return undefined;
    const { name, service, syncModel, crs, layers } = draft;
    const replica = await this.deps.replicas.add({
      name,
      service,
      syncModel,
      owner: x.principal.id,
      address: x.caller?.class === 'anonymous' ? x.caller.id : undefined,
      epsg: crs.epsg,
      layers: layers.map(({ collection, filter }) => ({
        layerId: collection.layerId,
        collection: collection.id,
        generation,
        filter,
        scope: scopeName(collection),
      })),
    });
    if (!replica)
      throw new ApiError(
        'conflict',
        'The service has too many replicas. Unregister replicas that are no longer used.',
      );
    return replica;
  }

  /** The replicas of a service that belong to this principal. All replicas for principals with all permissions. */
  async list(principal: Principal, service: string): Promise<Replica[]> {
    if (principal.kind === 'anonymous') return [];
    const all = await this.deps.replicas.list(service);
    return all.filter((replica) => replica.endedAt === null && isOwn(replica, principal));
  }

  /** A replica of the principal. Throws 404 if it does not exist or belongs to another principal. */
  async get(principal: Principal, service: string, id: string): Promise<Replica> {
    const replica = await this.deps.replicas.get(service, id);
    if (!replica || replica.endedAt !== null || !isOwn(replica, principal))
      throw notFound('replica', id.slice(0, 100));
    return replica;
  }

  /** Carries out what an operator decides about a conflict. */
  resolve(
    x: Operator,
    conflict: Conflict,
    decision: Decision,
  ): Promise<{ conflict: Conflict; effect: Effect }> {
    const { pools, edits, feed, conflicts, catalog } = this.deps;
    const collection = (id: string) => {
      const published = catalog().byId(id);
      return hasFeatures(published) ? whole(published) : undefined;
    };
    return resolveConflict(
      x,
      { pools, edits, feed, conflicts, feedEnd: this.#feedEnd, collection },
      conflict,
      decision,
    );
  }

  async unregister(principal: Principal, service: string, id: string): Promise<void> {
    const replica = await this.get(principal, service, id);
    await this.deps.replicas.remove(replica.id);
  }

  /** Applies the client's edits, then returns the changes by other clients. `edits` are by layer. */
  async synchronize(
    x: ReplicaContext,
    replica: Replica,
    request: {
      layers: readonly LayerSync[];
      edits: ReadonlyMap<number, LayerEdits>;
      atomic: boolean;
    },
  ): Promise<LayerChanges[]> {
    const crs = findEpsgCrs(replica.epsg)!;
    const parts = request.layers.map((sync) => ({ sync, view: this.#viewOf(x.principal, replica, sync) }));
    const results = await this.#upload(x, replica, parts, request);
    const downloads = parts.filter(({ sync }) => sync.direction !== 'upload');
    const own = await this.deps.replicas.syncsOf(replica.id);
    const changes = await this.#changes(
      x,
      downloads.map(({ sync, view }) => ({ view, generation: sync.generation })),
      { own, crs },
    );
    await this.deps.replicas.markSync(
      replica.id,
      new Map(changes.map(({ layerId, generation }) => [layerId, generation])),
    );
    return parts.map(({ sync: { layerId, generation } }) => ({
      layerId,
      generation,
      ...changes.find((one) => one.layerId === layerId),
      ...(results.has(layerId) ? { results: results.get(layerId)! } : {}),
    }));
  }

  /** Changes since given generations, for clients without a replica. */
  extract(
    x: ReplicaContext,
    requests: readonly ChangeRequest[],
    crs: Crs | undefined,
  ): Promise<LayerChanges[]> {
    const layers = requests.map(({ choice, generation }) => ({
      view: layerView(this.deps, choice.collection, choice.filter),
      generation,
    }));
    return this.#changes(x, layers, { own: new Set(), crs });
  }

  /** Features come along where there is a CRS for them. */
  async #changes(
    x: ReplicaContext,
    layers: readonly { view: ReplicaLayerView; generation: number }[],
    { own, crs }: { own: ReadonlySet<string>; crs: Crs | undefined },
  ): Promise<LayerChanges[]> {
    if (layers.length === 0) return [];
    const { pools, feed } = this.deps;
    const release = await this.#turn(x);
    try {
      const collections = layers.map(({ view }) => view.collection);
      const to = await this.#feedEnd.reach(x, collections);
      const all = await netChanges(feed, {
        from: new Map(layers.map(({ view, generation }) => [view.layerId, generation])),
        to,
        own,
        collections: collections.map(({ id }) => id),
      });
      const budget: Budget = { bytes: REPLICA_LIMITS.replicaBytes };
      const parts: LayerChanges[] = [];
      for (const { view } of layers) {
        const { layerId } = view;
        const delta = await layerDelta(x, pools, view, all.get(layerId)!.values());
        const ids = [...delta.adds, ...delta.updates];
        const features = crs && (await readReplicaFeatures(x, pools, view, { crs, budget, ids }));
        parts.push({ layerId, generation: to, delta, ...(features ? { features } : {}) });
      }
      return parts;
    } finally {
      release();
    }
  }

  async #upload(
    x: ReplicaContext,
    replica: Replica,
    parts: readonly { sync: LayerSync; view: ReplicaLayerView }[],
    { edits, atomic }: { edits: ReadonlyMap<number, LayerEdits>; atomic: boolean },
  ): Promise<Map<number, LayerEditResults>> {
    const { access, replicas } = this.deps;
    const uploads = parts.flatMap(({ sync, view }) => {
      const ofLayer = edits.get(sync.layerId);
      if (!ofLayer || sync.direction === 'download') return [];
      const bounds = editBounds(view.visible, access(x.principal, view.collection, 'write'));
      return [{ view, bounds, generation: sync.generation, ofLayer }];
    });
    const results = new Map<number, LayerEditResults>();
    if (uploads.length === 0) return results;
    // Stored before any edit, so that a retry after a failure does not conflict with its first attempt.
    const syncId = await replicas.addSync(replica.id);
    const own = await replicas.syncsOf(replica.id);
    const crs = findEpsgCrs(replica.epsg)!.proj;
    const common = { crs, syncId, own, atomic, userId: x.principal.id };
    const { pools, feed } = this.deps;
    const deps = { pools, feed, edits: this.deps.edits, feedEnd: this.#feedEnd };
    for (const { ofLayer, ...upload } of uploads) {
      const ofUpload = await uploadLayer(x, deps, { ...common, ...upload }, ofLayer);
      results.set(upload.view.layerId, ofUpload);
      auditResource(replica.id, { syncOperationId: syncId, ...buildCounts(results) });
      await this.#record(replica, ofUpload);
    }
    return results;
  }

  async #record(replica: Replica, { conflicts }: LayerEditResults): Promise<void> {
    if (conflicts.length === 0) return;
    const recorded: Conflict[] | undefined = await this.deps.conflicts.add(
      replica.id,
      conflicts.map(({ conflict }) => conflict),
    );
    if (recorded) return;
    throw new ApiError(
      'conflict',
      `The replica has more than ${REPLICA_LIMITS.replicaConflicts} unresolved conflicts. Edits without conflict were applied. Resolve some conflicts first.`,
    );
  }

  /** Throws 410 if the readable part of a layer has changed. */
  #viewOf(principal: Principal, replica: Replica, { layerId, generation }: LayerSync): ReplicaLayerView {
    const layer = replica.layers.find((one) => one.layerId === layerId);
    if (!layer) throw badParameter('syncLayers', `the replica has no layer ${layerId}`);
    if (generation > layer.generation)
      throw badParameter(
        'serverGen',
        `the server did not send the generation ${generation} of layer ${layerId}`,
      );
    const { service } = replica;
    const visible = requireLayer(this.deps, principal, { service, layerId, parameter: 'syncLayers' });
    requireSame(layer, visible);
    return layerView(this.deps, visible, layer.filter);
  }
}

function requireSame(layer: ReplicaLayer, visible: VectorCollection): void {
  if (visible.id === layer.collection && scopeName(visible) === layer.scope) return;
  throw new ApiError(
    'gone',
    `The readable part of layer ${layer.layerId} has changed. Create the replica again.`,
  );
}

/** Throws 410 for a replica that has not been synchronised for too long. */
export function requireActiveReplica(replica: Replica): void {
  if (isExpired(replica)) throw new ApiError('gone', 'The replica has expired. Create the replica again.');
}

export function isExpired({ syncedAt, endedAt }: Replica): boolean {
  return endedAt !== null || Date.now() - syncedAt > REPLICA_LIMITS.replicaMs;
}

function isOwn({ owner }: Replica, principal: Principal): boolean {
  return owner === principal.id || permits(principal, '*');
}

function buildCounts(results: ReadonlyMap<number, LayerEditResults>) {
  const all = [...results.values()];
  const succeeded = all
    .flatMap(({ addResults, updateResults, deleteResults }) => [
      ...addResults,
      ...updateResults,
      ...deleteResults,
    ])
    .filter(({ success }) => success).length;
  return { succeeded, conflicts: all.reduce((sum, { conflicts }) => sum + conflicts.length, 0) };
}
