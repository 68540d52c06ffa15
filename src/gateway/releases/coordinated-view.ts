import type { Static } from 'typebox';
import type { StoredDocument } from '../../stores/state/documents.js';
import { optionalTimestamp, timestamp } from '../admin/envelope.js';
import {
  type CoordinatedOperation,
  type CoordinatedRequest,
  GATES,
  type Gate,
  type OpStatus,
} from './operation-schemas.js';

/** Stored form and view of a coordinated release. */

/** Name of who approved a gate or requested the rollback; `at` in milliseconds since 1970. */
export interface Approval {
  readonly by: string;
  readonly at: number;
  readonly reason: string | null;
}

export interface Body {
  readonly request: Static<typeof CoordinatedRequest>;
  readonly status: OpStatus;
  readonly gates: Readonly<Partial<Record<Gate, Approval>>>;
  /** The package was applied here, and what was before is kept. */
  readonly isApplied: boolean;
  readonly blockers: readonly string[];
  readonly warnings: readonly string[];
  readonly errorMessage: string | null;
  readonly rollback: Approval | null;
}

type View = Static<typeof CoordinatedOperation>;
type Step = View['steps'][number];

export function describeRelease({ id, body, createdAt, updatedAt }: StoredDocument<Body>): View {
  const { request, status, gates, isApplied, rollback } = body;
  const { packageId, targetEnvironment } = request;
  const next = GATES.find((gate) => !gates[gate]);
  return {
    operationId: id,
    packageId,
    targetEnvironment,
    status,
    currentStep: currentStep(body),
    currentPhase: status === 'AwaitingApproval' ? (next ?? null) : null,
    containerGateApproved: gates.container !== undefined,
    dataGateApproved: gates.data !== undefined,
    containerOperationId: null,
    metadataOperationId: null,
    rollbackReady: isApplied && status !== 'RolledBack',
    steps: listSteps(body),
    artifacts: listArtifacts(body),
    blockers: [...body.blockers],
    warnings: [...body.warnings, ...(rollback && !isApplied ? ['Nothing had been applied here.'] : [])],
    errorMessage: body.errorMessage,
    createdAt: timestamp(createdAt),
    updatedAt: timestamp(updatedAt),
    completedAt: optionalTimestamp(rollback?.at ?? (isApplied ? gates.metadata!.at : null)),
  };
}

function currentStep({ status, gates }: Body): string {
  if (status === 'RolledBack') return 'RollingBack';
  if (status === 'Succeeded') return 'Complete';
  return gates.container ? 'MetadataAndSchema' : 'ContainerRollout';
}

/** Those steps that are taken here. */
function listSteps(body: Body): Step[] {
  const { status, gates, isApplied, rollback } = body;
  const isBack = status === 'RolledBack';
  const done = (is: boolean): Step['status'] => (is ? 'Succeeded' : 'Pending');
  const waits = (is: boolean, then: boolean): Step['status'] =>
    is ? 'Succeeded' : then && status === 'AwaitingApproval' ? 'AwaitingApproval' : 'Pending';
  const automatic = { requiresApproval: false, isReversible: true };
  const gated = { requiresApproval: true, isReversible: true };
  const words = (...of: Gate[]) => of.flatMap((gate) => sentence(gate, gates[gate])).join(' ') || null;
  const metadata = isBack && isApplied ? 'RolledBack' : waits(isApplied, gates.container !== undefined);
  return [
    { step: 'Preflight', status: 'Succeeded', ...automatic, detail: null },
    {
      step: 'ContainerRollout',
      status: waits(gates.container !== undefined, true),
      ...gated,
      isReversible: false,
      detail: words('container'),
    },
    { step: 'Backup', status: done(isApplied), ...automatic, detail: 'Previous state of the objects.' },
    { step: 'MetadataAndSchema', status: metadata, ...gated, detail: words('data', 'metadata') },
    { step: 'Complete', status: done(isApplied && !isBack), ...automatic, detail: null },
    ...(rollback
      ? [
          {
            step: 'RollingBack',
            status: 'Succeeded' as const,
            ...automatic,
            isReversible: false,
            detail: approvalText('Rolled back', rollback),
          },
        ]
      : []),
  ];
}

function sentence(gate: Gate, approval: Approval | undefined): string[] {
  if (!approval) return [];
  const outside = gate === 'container' ? ' This server runs no containers.' : '';
  return [`${approvalText(`Gate ${gate} approved`, approval)}${outside}`];
}

const approvalText = (what: string, { by, at, reason }: Approval) =>
  `${what} by ${by} at ${timestamp(at)}${reason === null ? '' : `: ${reason}`}.`;

function listArtifacts({ request }: Body): View['artifacts'] {
  const { containerTargetId, currentImage, desiredImage, resourceSemanticId, newFieldName } = request;
  return [
    {
      kind: 'ContainerImage',
      title: containerTargetId,
      current: currentImage ?? null,
      desired: desiredImage,
    },
    { kind: 'DatabaseSchema', title: resourceSemanticId, current: null, desired: newFieldName },
    { kind: 'Metadata', title: request.targetEnvironment, current: null, desired: request.packageId },
  ];
}
