import Type, { type Static } from 'typebox';
import type { Exchange } from '../../../core/http/operation.js';
import { defineIntegerParam, flag, pathString } from '../../../core/http/params.js';
import type { DeployOperation } from '../../../services/deploy/deployments.js';
import { DEPLOY_STATUSES, type DeployRequest } from '../../../services/deploy/operation-state.js';
import type { DeployPlan } from '../../../services/deploy/plan.js';
import {
  describeReleases,
  type ObservedReleases,
  SERVERS_TARGET,
} from '../../../services/deploy/rollout-target.js';
import { readIfMatch } from '../../admin/conditional.js';
import { tagged } from '../../admin/entity-tags.js';
import { optionalTimestamp, timestamp } from '../../admin/envelope.js';
import { createRowBuilders, group, jsonBody, resource } from '../../admin/kit.js';
import { enumeration } from '../../admin/params.js';
import { describePreflight, PREFLIGHT_SERVICES, type PreflightDeps } from './preflight.js';
import {
  CreateBody,
  DEPLOY_KINDS,
  DeployPlanBody,
  DeployPlanSchema,
  DeployReason,
  OperationSchema,
  PreflightSchema,
  readDeployRequest,
} from './schemas.js';

const { action, implement, report } = createRowBuilders(PREFLIGHT_SERVICES);

const operationId = pathString('operationId', 'Id of a deploy operation.');
const REASON = jsonBody(DeployReason, false);
/** Members of all changes of an operation. */
const CHANGE = { params: { operationId }, body: REASON, data: OperationSchema };
/** No backend of this server replaces processes. */
const CAPABILITIES = {
  ...{ supportsRollback: false, supportsCancellation: false, supportsProgressPolling: true },
  ...{ supportsRevisionPinning: true, supportsTrafficShifting: false, requiresOutOfBandMigrations: false },
};
const MAX_PAGE = 200;

/** Operations that bring all servers to a release. */
export const deploy = group({ tag: 'Deploy', scope: 'deploy', envelope: 'raw' }, [
  report('GET /deploy/preflight', 'Get Deploy Preflight', {
    description: 'Whether the servers and their state are in a condition for another release.',
    params: {
      includeDiagnostics: flag('includeDiagnostics', false, 'Also the facts behind the status.'),
    },
    data: PreflightSchema,
    answer: ({ params }, deps) => describePreflight(params.includeDiagnostics, deps),
  }),
  report('POST /deploy/plan', 'Plan Deploy Operation', {
    description: 'Checks an operation without creating it.',
    body: jsonBody(DeployPlanBody),
    data: DeployPlanSchema,
    errors: [400, 404],
    async answer({ body }, deps) {
      const { targetId, desiredRevision } = body;
      const request = { targetId, desiredRevision, ...readDeployRequest(body) };
      return describePlan(await deps.deployments.plan(request), deps);
    },
  }),
  ...resource(
    '/deploy/operations/{operationId}',
    {
      list: 'List Deploy Operations',
      create: 'Create Deploy Operation',
      get: 'Get Deploy Operation',
    },
    {
      list: implement({
        description: 'The newest 1000 operations, newest first.',
        params: {
          kind: enumeration('kind', DEPLOY_KINDS, 'Only operations of this kind.'),
          status: enumeration('status', DEPLOY_STATUSES, 'Only operations of this status.'),
          page: defineIntegerParam(
            'page',
            { min: 1, max: 1_000_000, default: 1 as number },
            { description: 'Number of the page.' },
          ),
          pageSize: defineIntegerParam(
            'pageSize',
            { min: 1, max: MAX_PAGE, default: 50 as number },
            { description: 'Maximum number of operations in the response.' },
          ),
        },
        data: Type.Object({
          items: Type.Array(OperationSchema),
          page: Type.Integer(),
          pageSize: Type.Integer(),
          totalCount: Type.Integer(),
          hasMore: Type.Boolean(),
        }),
        errors: [400, 503],
        async answer({ params }, deps) {
          const { kind = 'Deploy', status, page, pageSize } = params;
          const [all, observed] = await Promise.all([deps.deployments.list(), deps.deployments.observe()]);
          const matches = all.filter(({ state }) => status === undefined || state.status === status);
          const ofKind = kind === 'Deploy' ? matches : [];
          const end = page * pageSize;
          return {
            items: ofKind.slice(end - pageSize, end).map((one) => describeOperation(one, observed, deps)),
            ...{ page, pageSize, totalCount: ofKind.length, hasMore: end < ofKind.length },
          };
        },
      }),
      create: implement({
        description:
          'Creates an operation, and proposes it for approval unless `submitImmediately` is false. After the approval, a person replaces the servers, and a job observes their heartbeats.',
        body: jsonBody(CreateBody),
        status: 201,
        data: OperationSchema,
        location: (one: { operationId: string }) => `/deploy/operations/${one.operationId}`,
        errors: [400, 404, 409],
        async answer({ body, principal }, deps) {
          const { targetId, desiredRevision, idempotencyKey, submitImmediately } = body;
          const request = { targetId, desiredRevision, ...readDeployRequest(body) };
          const about = { idempotencyKey: idempotencyKey ?? undefined, submitImmediately };
          return show(await deps.deployments.create({ ...request, ...about }, principal), deps);
        },
      }),
      get: implement({
        params: { operationId },
        data: OperationSchema,
        errors: [404],
        answer: async ({ params }, deps) => show(await deps.deployments.get(params.operationId), deps),
      }),
    },
  ),
  action('POST /deploy/operations/{operationId}/submit', 'Submit Deploy Operation', {
    description: 'Proposes a planned operation for approval.',
    ...CHANGE,
    errors: [404, 409, 412],
    answer: async (x, deps) =>
      show(await deps.deployments.submit(x.params.operationId, readChange(x), x.principal), deps),
  }),
  action('POST /deploy/operations/{operationId}/rollback', 'Rollback Deploy Operation', {
    description:
      'Ends an approved operation. The server cannot replace servers, so the status is `ManualInterventionRequired` with the previous release in `errorMessage`. If all processes already run the previous release, the status is `RolledBack`.',
    ...CHANGE,
    errors: [404, 409, 412],
    answer: async (x, deps) =>
      show(await deps.deployments.rollback(x.params.operationId, readChange(x), x.principal), deps),
  }),
  action('POST /deploy/operations/{operationId}/promote', 'Promote Deploy Operation', {
    description: 'Confirms the release of a successful operation. All processes must still run it.',
    ...CHANGE,
    errors: [404, 409, 412, 503],
    answer: async (x, deps) =>
      show(await deps.deployments.promote(x.params.operationId, readChange(x), x.principal), deps),
  }),
]);

const readChange = (x: Pick<Exchange, 'header'> & { body: Static<typeof DeployReason> | undefined }) => ({
  reason: x.body?.reason ?? undefined,
  ifMatch: readIfMatch(x),
});

async function show(operation: DeployOperation, deps: PreflightDeps) {
  const observed = await deps.deployments.observe();
  return tagged(describeOperation(operation, observed, deps), operation.document.etag);
}

function describeOperation(
  { document, state, updatedAt, jobId }: DeployOperation,
  observed: ObservedReleases,
  deps: PreflightDeps,
) {
  const { id, body, createdAt, createdBy } = document;
  const { request, proposalId, promotion, rollback } = body;
  const { status, message, completedAt } = state;
  const isProblem = status === 'Failed' || status === 'ManualInterventionRequired';
  const approve = `The proposal ${proposalId} waits for its approval by another person.`;
  return {
    operationId: id,
    kind: 'Deploy' as const,
    status,
    priority: request.priority ?? ('Normal' as const),
    target: describeTarget(request, observed, deps),
    currentPhase: promotion ? 'Promoted' : null,
    observedState: describeReleases(observed),
    providerOperationId: jobId,
    proposalId,
    requestedBy: createdBy,
    reason: (promotion ?? rollback)?.reason ?? request.reason ?? null,
    correlationId: request.correlationId ?? null,
    blockingReasons: status === 'AwaitingApproval' ? [approve] : [],
    warnings: [],
    errorMessage: isProblem ? message : null,
    createdAt: timestamp(createdAt),
    updatedAt: timestamp(updatedAt),
    completedAt: optionalTimestamp(completedAt),
    metadataRelease: null,
  };
}

function describeTarget(request: DeployRequest, { common }: ObservedReleases, deps: PreflightDeps) {
  const { release, artifact } = deps.deployments.deps.settings;
  const isDeclared = request.desiredRevision === release && artifact !== '';
  return {
    ...{ targetId: SERVERS_TARGET, targetName: 'All servers of the state', targetKind: 'Servers' },
    ...{ environment: deps.releases.environment, backend: 'manual' },
    desiredRevision: request.desiredRevision,
    currentRevision: common ?? null,
    artifactReference: isDeclared ? artifact : null,
    runtimeProfile: null,
    parameters: {},
  };
}

function describePlan({ request, observed, blockingReasons, warnings }: DeployPlan, deps: PreflightDeps) {
  return {
    target: describeTarget(request, observed, deps),
    backendRegistered: true,
    readyToSubmit: blockingReasons.length === 0,
    requiresApproval: true,
    requiresOutOfBandMigrations: CAPABILITIES.requiresOutOfBandMigrations,
    blockingReasons: [...blockingReasons],
    warnings: [...warnings],
    generatedAt: timestamp(Date.now()),
    capabilities: CAPABILITIES,
  };
}
