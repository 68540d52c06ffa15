import Type from 'typebox';
import { ApiError } from '../../../core/errors/errors.js';
import { permits } from '../../../services/access/permissions.js';
import { convergeServers } from '../../../services/deploy/converge.js';
import { OptionalStringSchema, TimestampSchema, timestamp } from '../../admin/envelope.js';
import { createRowBuilders, group, jsonBody } from '../../admin/kit.js';
import { ConvergeBody } from './schemas.js';

const { action } = createRowBuilders(['deployments']);

const DEPLOY_PERMISSION = 'admin:deploy:write';
const S = Type.String();
const NOTE =
  'The call changes no workers. Their heartbeats count as those of the servers, so the operation succeeds when workers run the release too.';

const Converged = Type.Object({
  releaseVersion: S,
  converged: Type.Boolean({ description: 'Whether all processes run the declared release.' }),
  servingArtifactReference: OptionalStringSchema,
  targets: Type.Array(
    Type.Object({
      targetId: S,
      outcome: Type.Enum([
        ...['operation-created', 'skipped-pinned', 'already-converged', 'unknown-treated-divergent'],
        'blocked',
      ]),
      operationId: OptionalStringSchema,
      proposalId: OptionalStringSchema,
      lastAppliedRevision: OptionalStringSchema,
      message: OptionalStringSchema,
    }),
  ),
  workersDeferred: Type.Literal(true),
  workerConvergenceNote: S,
  generatedAt: TimestampSchema,
});

/** Convergence of the servers to the declared release. */
export const platformRelease = group(
  { tag: 'Platform release', scope: 'platform-release', envelope: 'raw' },
  [
    action('POST /platform-release/converge', 'Converge Platform Release', {
      description:
        'Creates a deploy operation to the release in `deploy.release`, unless all processes run it. The operation waits for approval. Requires also `admin:deploy:write`.',
      body: jsonBody(ConvergeBody, false),
      data: Converged,
      errors: [400, 403, 503],
      async answer({ body, principal }, { deployments }) {
        if (!permits(principal, DEPLOY_PERMISSION))
          throw new ApiError('forbidden', `The caller lacks the permission ${DEPLOY_PERMISSION}.`);
        const about = { reason: body?.reason ?? undefined, correlationId: body?.correlationId ?? undefined };
        const target = await convergeServers(deployments, about, principal);
        const { release, artifact } = deployments.deps.settings;
        return {
          releaseVersion: release,
          converged: target.outcome === 'already-converged',
          servingArtifactReference: artifact === '' ? null : artifact,
          targets: [target],
          workersDeferred: true as const,
          workerConvergenceNote: NOTE,
          generatedAt: timestamp(Date.now()),
        };
      },
    }),
  ],
);
