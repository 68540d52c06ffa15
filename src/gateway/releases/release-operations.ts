import { randomUUID } from 'node:crypto';
import type { Static } from 'typebox';
import { ApiError, notFound } from '../../core/errors/errors.js';
import { formatActor, type Principal } from '../../core/http/operation.js';
import type { StoredDocument } from '../../stores/state/documents.js';
import type { Services } from '../admin/deps.js';
import { timestamp } from '../admin/envelope.js';
import type { ApplyDeps } from '../manifest/carry-out.js';
import { type InventoryDeps, readHoldings } from './inventory.js';
import type { ReleaseOperation, ReleaseRequestBody } from './operation-schemas.js';
import type { StoredPackage } from './packages.js';
import {
  applyPackage,
  convertPlanError,
  createOperationId,
  findKeyedOperation,
  latest,
  notRun,
  packageFor,
  requireResourceField,
  waitsThere,
} from './rollout.js';

/** Operations that apply a package immediately when they are created. */

const OPERATION = 'release operation';

interface Body {
  readonly request: Static<typeof ReleaseRequestBody>;
  readonly desiredRevision: string;
  /** False: it waits to be applied in another environment. */
  readonly isApplied: boolean;
  readonly warnings: readonly string[];
}

/**
 * Throws `invalid-body` for missing resources, and `conflict` for another revision, a key that was used for another
 * request, and objects that cannot be applied.
 */
export async function createReleaseOperation(
  request: Body['request'],
  principal: Principal,
  deps: ApplyDeps & Services<'releases'>,
): Promise<Static<typeof ReleaseOperation>> {
  const id = createOperationId(request, randomUUID());
  const before = await findKeyedOperation<Body>(OPERATION, id, request, deps);
  if (before) return buildView(before);
  const stored = await packageFor(request, deps);
  const isHere = request.targetEnvironment === deps.releases.environment;
  const warnings = [...(await requireResourceField(request, stored, deps)), ...notRun(request)];
  const desiredRevision = String(request.desiredRevision ?? stored.body.view.sourceRevision);
  const body: Body = { request, desiredRevision, isApplied: isHere, warnings };
  if (isHere) await requireRevision(request, deps);
  try {
    if (isHere) await carriedOut(id, body, stored, principal, deps);
    else await deps.state.documents.create(OPERATION, id, body, formatActor(principal));
  } catch (error) {
    // Another request with this key may have been first.
    const first = await findKeyedOperation<Body>(OPERATION, id, request, deps);
    if (!first) throw convertPlanError(error, stored.body.resources, 'conflict');
  }
  return buildView((await deps.state.documents.get<Body>(OPERATION, id))!);
}

function carriedOut(id: string, body: Body, stored: StoredPackage, principal: Principal, deps: ApplyDeps) {
  const by = formatActor(principal);
  return applyPackage(
    stored,
    id,
    ({ documents }) => documents.create(OPERATION, id, body, by),
    principal,
    deps,
  );
}

async function requireRevision({ desiredRevision }: Body['request'], deps: InventoryDeps): Promise<void> {
  if (desiredRevision === undefined) return;
  const { revision } = await readHoldings(deps);
  if (String(desiredRevision) !== String(revision))
    throw new ApiError(
      'conflict',
      `${deps.releases.environment} is at revision ${revision}. Read it again and retry.`,
    );
}

/** Oldest first. */
export const listReleaseOperations = async ({ state }: Services<'state'>) =>
  (await state.documents.list<Body>(OPERATION)).map(buildView);

/** The newest of a package. Throws `not-found` where there is none. */
export async function releaseOperation(
  packageId: string,
  deps: Services<'state'>,
): Promise<Static<typeof ReleaseOperation>> {
  const stored = await latest<Body>(OPERATION, packageId, deps);
  if (!stored) throw notFound('release operation of the package', packageId.slice(0, 128));
  return buildView(stored);
}

function buildView({ id, body, createdAt, createdBy, updatedAt }: StoredDocument<Body>) {
  const { request, desiredRevision, isApplied } = body;
  const { packageId, targetEnvironment } = request;
  const warnings = [...body.warnings];
  const blockers = isApplied ? [] : [waitsThere(request)];
  const stage = isApplied ? ('Complete' as const) : ('MetadataApply' as const);
  return {
    operationId: id,
    kind: 'MetadataRelease' as const,
    priority: 'Normal' as const,
    target: null,
    status: isApplied ? 'Succeeded' : 'ManualInterventionRequired',
    currentPhase: stage,
    observedState: null,
    providerOperationId: null,
    requestedBy: createdBy,
    reason: request.reason ?? null,
    correlationId: request.correlationId ?? null,
    blockingReasons: blockers,
    warnings,
    errorMessage: null,
    createdAt: timestamp(createdAt),
    updatedAt: timestamp(updatedAt),
    completedAt: isApplied ? timestamp(updatedAt) : null,
    metadataRelease: {
      packageId,
      targetEnvironment,
      desiredRevision,
      currentStage: stage,
      deployOperationId: id,
      gitOperationId: null,
      commitSha: null,
      prUrl: null,
      jobIds: [],
      blockers,
      warnings,
      evidenceRefs: [],
      rollbackPlan: null,
    },
  };
}
