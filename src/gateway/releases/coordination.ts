import { randomUUID } from 'node:crypto';
import type { Static } from 'typebox';
import { ApiError, notFound } from '../../core/errors/errors.js';
import { formatFieldError } from '../../core/errors/field-errors.js';
import { formatActor, type Principal } from '../../core/http/operation.js';
import { sharesOrigin } from '../../services/access/origins.js';
import type { StoredDocument } from '../../stores/state/documents.js';
import type { Services } from '../admin/deps.js';
import type { ApplyDeps } from '../manifest/carry-out.js';
import type { Stores } from '../manifest/kind.js';
import { type Approval, type Body, describeRelease } from './coordinated-view.js';
import type { InventoryDeps } from './inventory.js';
import { type CoordinatedOperation, GATES, type Gate } from './operation-schemas.js';
import { requirePackage } from './packages.js';
import {
  applyPackage,
  convertPlanError,
  createOperationId,
  findKeyedOperation,
  latest,
  notRun,
  packageFor,
  requireResourceField,
  restoreSnapshot,
  waitsThere,
} from './rollout.js';

/** Coordinated releases: gates that are approved one after the other; the one of metadata applies the package. */

const OPERATION = 'coordinated release';

type View = Static<typeof CoordinatedOperation>;
type StoredRelease = StoredDocument<Body>;

/**
 * Throws `invalid-body` for missing resources, and `conflict` if the key was used for another request or the package
 * already waits at its gates.
 */
export async function createCoordinated(
  request: Body['request'],
  principal: Principal,
  deps: InventoryDeps,
): Promise<View> {
  const id = createOperationId(request, randomUUID());
  const before = await findKeyedOperation<Body>(OPERATION, id, request, deps);
  if (before) return describeRelease(before);
  const stored = await packageFor(request, deps);
  const warnings = [...(await requireResourceField(request, stored, deps)), ...notRun(request)];
  const body: Body = {
    request,
    status: 'AwaitingApproval',
    gates: {},
    isApplied: false,
    blockers: [],
    warnings,
    errorMessage: null,
    rollback: null,
  };
  const operation = await deps.state.documents.together([OPERATION], async (store) => {
    const all = await store.list<Body>(OPERATION);
    if (all.some((one) => one.id === id)) return undefined;
    if (all.some((one) => isWaiting(one, request)))
      throw new ApiError(
        'conflict',
        'A coordinated release of the package is already waiting for approval. Approve it or roll it back first.',
      );
    return store.create(OPERATION, id, body, formatActor(principal));
  });
  return describeRelease(operation ?? (await findKeyedOperation<Body>(OPERATION, id, request, deps))!);
}

const isWaiting = ({ body }: StoredRelease, { packageId, targetEnvironment }: Body['request']) =>
  body.status === 'AwaitingApproval' &&
  body.request.packageId === packageId &&
  body.request.targetEnvironment === targetEnvironment;

/** Throws `not-found`, `forbidden` for the person who created it, and `invalid-request` for a gate that is not the next one, or objects that cannot be applied. */
export async function approve(
  id: string,
  gate: Gate,
  reason: string | undefined,
  principal: Principal,
  deps: ApplyDeps & Services<'releases'>,
): Promise<View> {
  const { body, createdBy } = await required(id, deps);
  const { request } = body;
  if (createdBy !== null && (await sharesOrigin(formatActor(principal), createdBy, deps.state)))
    throw new ApiError(
      'forbidden',
      'A gate cannot be approved by the author of the release, or with a key that the author or the same person made. Use the key of another person.',
    );
  const approval: Approval = { by: formatActor(principal), at: Date.now(), reason: reason ?? null };
  const change = (body: Body) => approved(body, gate, approval);
  const isHere = request.targetEnvironment === deps.releases.environment;
  if (gate === 'metadata' && isHere) await applied(id, change, principal, deps);
  else await deps.state.documents.update<Body>(OPERATION, id, approval.by, change);
  return describeRelease(await required(id, deps));
}

/** The operation with this gate approved. */
function approved(body: Body, gate: Gate, approval: Approval): Body {
  const next = GATES.find((one) => !body.gates[one]);
  if (body.status !== 'AwaitingApproval' || next === undefined)
    throw new ApiError('invalid-request', `The release does not wait for approval: it is ${body.status}.`);
  if (next !== gate) throw new ApiError('invalid-request', `Another gate comes first. Approve ${next}.`);
  const after: Body = { ...body, gates: { ...body.gates, [gate]: approval } };
  if (gate !== 'metadata') return after;
  return { ...after, status: 'ManualInterventionRequired', blockers: [waitsThere(body.request)] };
}

/** Applies the package; the approval and the objects become durable together. */
async function applied(
  id: string,
  change: (body: Body) => Body,
  principal: Principal,
  deps: ApplyDeps,
): Promise<void> {
  const { body } = await required(id, deps);
  // A gate approved out of order is reported before problems of the package.
  change(body);
  const stored = await requirePackage(body.request.packageId, deps);
  const done = (before: Body): Body => ({
    ...change(before),
    status: 'Succeeded',
    blockers: [],
    isApplied: true,
  });
  const record = ({ documents }: Stores) =>
    documents.update<Body>(OPERATION, id, formatActor(principal), done);
  try {
    await applyPackage(stored, id, record, principal, deps);
  } catch (error) {
    // Another request may have approved the gate in the meantime; then report that.
    change((await required(id, deps)).body);
    throw convertPlanError(error, stored.body.resources, 'invalid-request');
  }
}

/**
 * Restores the previous state, or ends the operation if nothing was applied. A repeated call changes nothing. If the
 * previous state can no longer be applied, the operation reports the reason, and the rollback may be requested again.
 * Throws `not-found`.
 */
export async function rollBack(
  id: string,
  reason: string | undefined,
  principal: Principal,
  deps: ApplyDeps,
): Promise<View> {
  const { body } = await required(id, deps);
  const rollback: Approval = { by: formatActor(principal), at: Date.now(), reason: reason ?? null };
  const change = (before: Body) => rolledBack(before, rollback);
  if (body.status !== 'RolledBack') await (body.isApplied ? restored(id, change, principal, deps) : ended());
  return describeRelease(await required(id, deps));

  async function ended() {
    // If the operation was applied in the meantime, the previous state must be restored.
    const after = await deps.state.documents.update<Body>(OPERATION, id, rollback.by, (before) =>
      before.isApplied ? before : change(before),
    );
    if (after.body.status !== 'RolledBack') await restored(id, change, principal, deps);
  }
}

function rolledBack(body: Body, rollback: Approval): Body {
  if (body.status === 'RolledBack')
    throw new ApiError('conflict', 'The release has already been rolled back.');
  return { ...body, status: 'RolledBack', rollback, errorMessage: null, blockers: [] };
}

async function restored(
  id: string,
  change: (body: Body) => Body,
  principal: Principal,
  deps: ApplyDeps,
): Promise<void> {
  const { documents } = deps.state;
  const by = formatActor(principal);
  try {
    await restoreSnapshot(
      id,
      (stores) => stores.documents.update<Body>(OPERATION, id, by, change),
      principal,
      deps,
    );
  } catch (error) {
    const isDone = (await required(id, deps)).body.status === 'RolledBack';
    if (isDone) return;
    const isRefused = error instanceof ApiError && ['invalid-body', 'conflict'].includes(error.code);
    if (!isRefused) throw error;
    const reasons = error.errors?.map(formatFieldError) ?? [error.message];
    const errorMessage = `What was before cannot be applied: ${reasons.join('; ')}`;
    await documents.update<Body>(OPERATION, id, by, (before) =>
      before.status === 'RolledBack'
        ? before
        : { ...before, status: 'ManualInterventionRequired', errorMessage },
    );
  }
}

/** Oldest first. */
export const listCoordinated = ({ state }: Services<'state'>): Promise<StoredRelease[]> =>
  state.documents.list<Body>(OPERATION);

/** The newest of a package. Throws `not-found` where there is none. */
export async function coordinatedRelease(packageId: string, deps: Services<'state'>): Promise<View> {
  const stored = await latest<Body>(OPERATION, packageId, deps);
  if (!stored) throw notFound('coordinated release of the package', packageId.slice(0, 128));
  return describeRelease(stored);
}

async function required(id: string, { state }: Services<'state'>): Promise<StoredRelease> {
  const stored = await state.documents.get<Body>(OPERATION, id);
  if (!stored) throw notFound(OPERATION, id.slice(0, 128));
  return stored;
}
