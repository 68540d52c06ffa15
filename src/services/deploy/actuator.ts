import Type from 'typebox';
import { ApiError } from '../../core/errors/errors.js';
import { computeFingerprint } from '../../core/values/fingerprint.js';
import type { AtomicStores, State } from '../../stores/state/state.js';
import { type Actuator, defineActuator, parameterError } from '../actions/actuator.js';
import { DEPLOY_DOCUMENT, type DeployBody } from './operation-state.js';
import {
  describeReleases,
  type ObservedReleases,
  observeReleases,
  SERVERS_TARGET,
} from './rollout-target.js';

export const DEPLOY_ACTION = 'deploy.release';

export interface DeployParameters {
  readonly operationId: string;
  readonly targetId: string;
  readonly desiredRevision: string;
}

/** Servers when the action started. */
interface StartedRollout {
  readonly servers: number;
}

const VERIFY_MS = 86_400_000;

/**
 * Watches the replacement of all servers by another release. An operator replaces them, so only the heartbeats of the
 * new processes are evidence.
 */
export function createDeployActuator(
  state: Pick<State, 'documents' | 'instances'>,
  verifyMs = VERIFY_MS,
): Actuator {
  const observe = async (stores: Pick<AtomicStores, 'instances'> = state) =>
    observeReleases(await stores.instances.alive());
  return defineActuator<DeployParameters>({
    ...{ kind: 'Deploy', name: DEPLOY_ACTION, version: 1, permission: 'admin:deploy:write' },
    proposePermission: 'admin:deploy:write',
    description: 'Watches the update of all servers to a release',
    parameters: Type.Object(
      {
        operationId: Type.String({ maxLength: 128 }),
        targetId: Type.Literal(SERVERS_TARGET),
        desiredRevision: Type.String({ maxLength: 64 }),
      },
      { additionalProperties: false },
    ),
    async plan({ operationId, desiredRevision }) {
      const operation = await state.documents.get<DeployBody>(DEPLOY_DOCUMENT, operationId);
      if (operation?.body.request.desiredRevision !== desiredRevision)
        throw parameterError(
          'operationId',
          `there is no deploy operation '${operationId.slice(0, 128)}' to this release. Create one with POST /deploy/operations`,
        );
      const observed = await observe();
      return {
        summary: `Update all servers to the release ${desiredRevision}.`,
        riskLevel: 'High',
        targets: [`DeployTarget/${SERVERS_TARGET}`],
        blastRadius: observed.servers,
        diff: observed.releases.map(
          ({ release, processes }) => `${processes} processes: ${release} -> ${desiredRevision}`,
        ),
        dryRun: [`Now ${describeReleases(observed)}.`],
        warnings: ['An operator replaces the servers. This server observes their releases.'],
      };
    },
    async preconditions({ operationId }, stores) {
      const { documents } = stores ?? state;
      const operation = await documents.get<DeployBody>(DEPLOY_DOCUMENT, operationId);
      const releases = (await observe(stores)).releases.map(({ release }) => release);
      const content = operation && [operation.body.request, operation.body.rollback];
      return [
        {
          resource: `DeployOperation/${operationId}`,
          fingerprint: content ? computeFingerprint(JSON.stringify(content)) : 'absent',
        },
        {
          resource: `DeployTarget/${SERVERS_TARGET}`,
          fingerprint: computeFingerprint(JSON.stringify(releases)),
        },
      ];
    },
    acts: 'in-transaction',
    async act({ operationId }, { proposalId, approvedBy }, stores): Promise<StartedRollout> {
      await stores.documents.update<DeployBody>(DEPLOY_DOCUMENT, operationId, approvedBy, (body) => {
        if (body.proposalId === proposalId && !body.rollback) return { ...body, startedAt: Date.now() };
        throw new ApiError('conflict', 'The deploy operation was not submitted with this proposal.');
      });
      return { servers: (await observe(stores)).servers };
    },
    async verify({ operationId, desiredRevision }, result) {
      const operation = await state.documents.get<DeployBody>(DEPLOY_DOCUMENT, operationId);
      if (operation?.body.rollback) return { state: 'failed', message: 'A rollback was requested.' };
      const observed = await observe();
      const { servers } = result as StartedRollout;
      return hasConverged(observed, desiredRevision, servers)
        ? { state: 'verified', message: `${capitalise(describeReleases(observed))}.` }
        : {
            state: 'pending',
            message: `Heartbeats of ${observed.servers} servers: ${describeReleases(observed)}. ${servers} servers ran at the start.`,
          };
    },
    verifyMs,
    remedy: 'Start all servers with the same release, and create another deploy operation.',
  });
}

/** A missing server is not an updated server. */
const hasConverged = ({ common, servers }: ObservedReleases, desired: string, before: number) =>
  common === desired && servers >= before;

const capitalise = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
