import type { VectorCollection } from '../../core/catalog/collection.js';
import type { EditOperation, EditOutcome, FeatureInput } from '../../core/edits/edits.js';
import { ApiError, badParameter } from '../../core/errors/errors.js';
import { TaskFailure } from '../../core/errors/failure.js';
import { CRS84 } from '../../core/geometry/crs.js';
import type { Principal } from '../../core/http/operation.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { jsonTexts } from '../../core/values/json-text.js';
import type {
  Conflict,
  FeatureState,
  ReplicaConflictStore,
  Resolution,
  ResolutionAction,
} from '../../stores/replicas/replica-conflicts.js';
import { type EditBounds, NO_BOUNDS } from '../edits/edit-bounds.js';
import type { Edits } from '../edits/edits.js';
import type { TaskContext } from '../kit/run-task.js';
import type { Feed } from '../streams/feed.js';
import { replicaPrecision } from './features.js';
import type { FeedEnd } from './feed-end.js';
import { readRow, type StoredRow } from './rows.js';
import { isStoredExactly, parseJsonValues, sameGeometry, sameValue } from './states.js';

export interface Decision {
  readonly action: ResolutionAction;
  /** Values by field, of `mergeFields`. */
  readonly fieldValues?: Readonly<Record<string, unknown>>;
  /** Geometry to use with `chooseGeometry`. */
  readonly geometry?: 'client' | 'server';
}

export type Effect = 'none' | 'writeFeatureState' | 'deleteFeature';

export interface ResolutionDeps {
  readonly pools: Pools;
  readonly edits: Edits;
  readonly feed: Feed;
  readonly feedEnd: FeedEnd;
  readonly conflicts: ReplicaConflictStore;
  /** The collection with all its fields; undefined when it is not published any more. */
  collection(id: string): VectorCollection | undefined;
}

export interface Operator extends TaskContext {
  readonly principal: Principal;
  readonly correlationId: string;
}

/** Effect of a decision on the data. */
interface Plan {
  readonly operation: EditOperation;
  readonly crs: string;
  readonly bounds: EditBounds;
  readonly effect: Effect;
  /** Fields whose server values must be the same as at the time of the decision. Default: all. */
  readonly fields?: ReadonlySet<string>;
  readonly geometry: boolean;
  /** The client's edit is in the data, whole, once this is done. */
  readonly isClientEdit: boolean;
}

/**
 * Carries out a decision about a conflict. Throws 409 when the conflict is decided already, or when what is at stake has
 * changed on the server since it was met.
 */
export async function resolveConflict(
  x: Operator,
  deps: ResolutionDeps,
  conflict: Conflict,
  decision: Decision,
): Promise<{ conflict: Conflict; effect: Effect }> {
  if (conflict.status === 'resolved') throw conflictError('The conflict is resolved already.');
  const collection = deps.collection(conflict.body.collection);
  const plan = findPlan(conflict, decision, collection);
  if (!plan) return { conflict: await settle(x, deps, conflict, decision, undefined), effect: 'none' };
  if (conflict.superseded)
    throw conflictError('The client has sent a later edit of the feature: decide about that one.');
  await carryOut(x, deps, { conflict, plan, collection: collection! });
  return { conflict: await settle(x, deps, conflict, decision, plan), effect: plan.effect };
}

const conflictError = (why: string) => new ApiError('conflict', why);

async function settle(
  x: Operator,
  { conflicts, feed, feedEnd, collection }: ResolutionDeps,
  { id, body }: Conflict,
  { action }: Decision,
  plan: Plan | undefined,
): Promise<Conflict> {
  const published = collection(body.collection);
  const resolution: Resolution = {
    action,
    at: Date.now(),
    by: x.principal.id,
    generation: published ? await feedEnd.reach(x, [published]) : feed.head,
    clientEditApplied: plan?.isClientEdit ?? false,
  };
  const status = action === 'defer' ? 'deferred' : 'resolved';
  const resolved = await conflicts.resolve(id, status, resolution);
  if (!resolved) throw conflictError('The conflict has already been resolved.');
  return resolved;
}

/**
 * Plan of a decision. Undefined if the data remains unchanged. Throws 400 for a decision that does not fit the
 * conflict.
 */
function findPlan(
  conflict: Conflict,
  { action, fieldValues, geometry }: Decision,
  collection: VectorCollection | undefined,
): Plan | undefined {
  const { type } = conflict.body;
  switch (action) {
    case 'acceptClient':
      requirePublished(collection);
      return type === 'deleteDelete' ? undefined : acceptance(conflict, collection);
    case 'mergeFields':
      requirePublished(collection);
      if (!fieldValues || Object.keys(fieldValues).length === 0)
        throw badParameter('fieldValues', 'must name at least one field');
      return merge(conflict, fieldValues);
    case 'chooseGeometry':
      if (!geometry) throw badParameter('geometry', 'must be client or server');
      if (geometry === 'server') return undefined;
      requirePublished(collection);
      return geometryOfClient(conflict);
    case 'keepServer':
    case 'rejectClient':
    case 'defer':
      return undefined;
  }
}

function requirePublished(collection: VectorCollection | undefined): asserts collection is VectorCollection {
  if (!collection) throw conflictError('The layer of the conflict is no longer published.');
}

/** The client's edit in its original form, within its original bounds. */
function acceptance({ body, objectId }: Conflict, { source }: VectorCollection): Plan {
  const { edit, type, client, fieldChanges, server } = body;
  const { crs, feature = {}, filter, visible, writable } = edit;
  const bounds: EditBounds = {
    filter,
    visible: visible && [...visible],
    writable: writable && [...writable],
  };
  const id = String(objectId);
  const common = { crs, bounds, geometry: true, isClientEdit: true } as const;
  if (edit.type === 'delete')
    return { ...common, operation: { type: 'delete', id }, effect: 'deleteFeature' };
  const effect = 'writeFeatureState';
  if (type === 'duplicateInsert') return { ...common, operation: { type: 'replace', id, feature }, effect };
  if (server === null) {
    // The row was deleted: it is created again in the client's state.
    const isSent = feature.geometry !== undefined;
    if (!isSent && !isStoredExactly(source, client!.geometry)) throw lostGeometry();
    const whole: FeatureInput = {
      values: { ...jsonTexts(client!.attributes), ...feature.values },
      geometry: isSent ? feature.geometry! : JSON.stringify(client!.geometry),
    };
    const operation: EditOperation = { type: 'create', id, feature: whole };
    return { ...common, crs: isSent ? crs : CRS84.proj, operation, effect };
  }
  return {
    ...common,
    operation: { type: 'update', id, feature },
    effect,
    fields: new Set(fieldChanges.filter(({ changedOnClient }) => changedOnClient).map(({ field }) => field)),
    geometry: feature.geometry !== undefined,
  };
}

const lostGeometry = () =>
  conflictError(
    'The feature was deleted and the client sent no geometry. The server keeps deleted geometries in degrees with seven decimals, so it cannot restore this one exactly. Choose rejectClient, and let the client add the feature with its geometry.',
  );

function merge({ body, objectId }: Conflict, fieldValues: Readonly<Record<string, unknown>>): Plan {
  requireFeature(body.server, 'mergeFields');
  const feature = { values: jsonTexts(fieldValues), replacesJson: true } as const;
  return {
    operation: { type: 'update', id: String(objectId), feature },
    crs: CRS84.proj,
    bounds: NO_BOUNDS,
    effect: 'writeFeatureState',
    fields: new Set(Object.keys(fieldValues)),
    geometry: false,
    isClientEdit: false,
  };
}

function geometryOfClient({ body, objectId }: Conflict): Plan {
  requireFeature(body.server, 'chooseGeometry');
  const { feature, crs } = body.edit;
  if (feature?.geometry === undefined)
    throw badParameter('geometry', 'needs a geometry, but the client sent none');
  return {
    operation: { type: 'update', id: String(objectId), feature: { geometry: feature.geometry } },
    crs,
    bounds: NO_BOUNDS,
    effect: 'writeFeatureState',
    fields: new Set<string>(),
    geometry: true,
    isClientEdit: false,
  };
}

function requireFeature(server: FeatureState | null, action: string): void {
  if (server === null)
    throw badParameter('action', `${action} needs a feature on the server; it was deleted there`);
}

interface Work {
  readonly conflict: Conflict;
  readonly plan: Plan;
  readonly collection: VectorCollection;
}

async function carryOut(x: Operator, deps: ResolutionDeps, work: Work): Promise<void> {
  const { conflict, plan, collection } = work;
  const id = String(conflict.objectId);
  const row = await readRow(x, deps.pools, collection, { id, filter: undefined });
  if (conflict.outcomeUnknown && isDone(plan, row, conflict)) return;
  requireUnmoved(work, row);
  await deps.conflicts.begin(conflict.id);
  try {
    const outcome = await edit(x, deps, work, row);
    if (!outcome.ok) throw refusal(outcome);
  } catch (error) {
    // If the outcome is unknown, this remains recorded.
    if (!isUnknown(error)) await deps.conflicts.giveUp(conflict.id);
    throw error;
  }
}

const isUnknown = (error: unknown) =>
  error instanceof TaskFailure && ['outcome-unknown', 'worker-lost', 'absent'].includes(error.code);

async function edit(
  x: Operator,
  { edits }: ResolutionDeps,
  { plan, collection }: Work,
  row: StoredRow | null,
): Promise<EditOutcome> {
  const { operation, bounds, crs } = plan;
  const named = operation.type === 'create' || !row ? operation : { ...operation, row: row.name };
  const { outcomes } = await edits.run(x, collection, {
    ...bounds,
    crs,
    swapAxes: false,
    precision: replicaPrecision(crs),
    mode: 'atomic',
    operations: [named],
    origin: {
      collection: collection.id,
      layerId: collection.layerId,
      protocol: 'Admin',
      requestId: x.correlationId,
      actor: x.principal.id,
    },
  });
  return outcomes[0]!;
}

function refusal({ reason, message, errors }: Exclude<EditOutcome, { ok: true }>): ApiError {
  if (reason === 'invalid') return new ApiError('invalid-body', message, { errors });
  if (reason === 'forbidden') return conflictError(`The client may not have written this: ${message}`);
  return conflictError(`The feature cannot be written: ${message}`);
}

/** Whether an earlier resolution with unknown outcome was carried out. */
function isDone({ operation }: Plan, row: StoredRow | null, { body }: Conflict): boolean {
  if (operation.type === 'delete') return row === null;
  if (!row) return false;
  const { values = {}, geometry } = operation.feature;
  const client = body.client?.geometry ?? null;
  return (
    Object.entries(parseJsonValues(values)).every(([name, value]) =>
      sameValue(value, row.state.attributes[name], undefined),
    ) &&
    (geometry === undefined || sameGeometry(client, row.state.geometry))
  );
}

/** Throws 409 if the relevant part of the server's state has changed. */
function requireUnmoved({ conflict, plan, collection }: Work, row: StoredRow | null): void {
  const { server } = conflict.body;
  if (row === null && server === null) return;
  const isSame =
    row !== null &&
    server !== null &&
    (!plan.geometry || sameGeometry(row.state.geometry, server.geometry)) &&
    collection.source.fields
      .filter(({ name }) => plan.fields?.has(name) ?? true)
      .every(({ name, type }) => sameValue(row.state.attributes[name], server.attributes[name], type));
  if (!isSame)
    throw conflictError(
      'The feature has changed on the server since the conflict was found. Synchronise again.',
    );
}
