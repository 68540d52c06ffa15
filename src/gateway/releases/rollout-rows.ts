import { pathString } from '../../core/http/params.js';
import { createRowBuilders, jsonBody } from '../admin/kit.js';
import { pathEnumeration } from '../admin/params.js';
import { APPLY_SERVICES } from '../manifest/carry-out.js';
import { approve, coordinatedRelease, createCoordinated, rollBack } from './coordination.js';
import {
  CoordinatedOperation,
  CoordinatedRequest,
  GATES,
  Reason,
  ReleaseOperation,
  ReleaseRequestBody,
} from './operation-schemas.js';
import { createReleaseOperation, releaseOperation } from './release-operations.js';

const SERVICES = [...APPLY_SERVICES, 'releases'] as const;
const { action, report } = createRowBuilders(SERVICES);

/** Operations that carry release packages out. */

const byPackage = { packageId: pathString('packageId', 'Id of the package.') };
const byOperation = { operationId: pathString('operationId', 'Id of the operation.') };
const reason = jsonBody(Reason, false);

export const rolloutRows = [
  report('GET /metadata/releases/{packageId}/operation', 'Get Metadata Release Operation', {
    description: 'The newest operation of the package.',
    params: byPackage,
    data: ReleaseOperation,
    errors: [404],
    answer: ({ params }, deps) => releaseOperation(params.packageId, deps),
  }),
  action('POST /metadata/coordinated-releases/operations', 'Create Coordinated Release Operation', {
    description:
      'Creates a release with three gates: container, data and metadata. The server applies changes only at the last gate. A repeated idempotencyKey returns the existing operation.',
    body: jsonBody(CoordinatedRequest),
    data: CoordinatedOperation,
    status: 201,
    errors: [400, 409],
    answer: ({ body, principal }, deps) => createCoordinated(body, principal, deps),
  }),
  action(
    'POST /metadata/coordinated-releases/operations/{operationId}/approve/{gate}',
    'Approve Coordinated Release Gate',
    {
      description:
        'Approves the next gate: container, then data, then metadata. The metadata gate applies the complete package if this environment is its target; it requires admin:manifest:write and the permission of each kind.',
      params: {
        ...byOperation,
        gate: pathEnumeration('gate', GATES, 'The gate, which must be the next one.'),
      },
      body: reason,
      data: CoordinatedOperation,
      errors: [400, 403, 404],
      answer: ({ params: { operationId, gate }, body, principal }, deps) =>
        approve(operationId, gate, body?.reason, principal, deps),
    },
  ),
  action(
    'POST /metadata/coordinated-releases/operations/{operationId}/rollback',
    'Roll Back Coordinated Release',
    {
      description:
        'Restores all objects that the release changed, including objects that were changed later. A release without applied changes ends. A repeated request has no effect.',
      params: byOperation,
      body: reason,
      data: CoordinatedOperation,
      errors: [400, 403, 404],
      answer: ({ params, body, principal }, deps) =>
        rollBack(params.operationId, body?.reason, principal, deps),
    },
  ),
  report('GET /metadata/coordinated-releases/{packageId}/operation', 'Get Coordinated Release Operation', {
    description: 'The newest coordinated release of the package.',
    params: byPackage,
    data: CoordinatedOperation,
    errors: [404],
    answer: ({ params }, deps) => coordinatedRelease(params.packageId, deps),
  }),
  action('POST /metadata/releases/operations', 'Create Metadata Release Operation', {
    description:
      'Applies a complete package if targetEnvironment is this environment; requires admin:manifest:write and the permission of each kind. For another environment, the server records that the manifest waits there. A repeated idempotencyKey returns the existing operation.',
    body: jsonBody(ReleaseRequestBody),
    data: ReleaseOperation,
    status: 201,
    errors: [400, 403, 409],
    answer: ({ body, principal }, deps) => createReleaseOperation(body, principal, deps),
  }),
];
