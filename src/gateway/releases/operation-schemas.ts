import Type from 'typebox';
import { JOB_PRIORITIES } from '../../core/jobs/job-priority.js';
import { OptionalStringSchema, OptionalTimestampSchema, TimestampSchema } from '../admin/envelope.js';

/** Schemas of operations that apply packages. */

const OP_STATUSES = [
  ...['Planned', 'AwaitingApproval', 'Submitted', 'Reconciling', 'Succeeded', 'Failed'],
  ...['RollbackRequested', 'RolledBack', 'ManualInterventionRequired'],
];
/** Statuses that occur on this server. */
export type OpStatus = 'AwaitingApproval' | 'Succeeded' | 'RolledBack' | 'ManualInterventionRequired';
export const GATES = ['container', 'data', 'metadata'] as const;
export type Gate = (typeof GATES)[number];

const Texts = Type.Array(Type.String());
const Text = (maxLength: number) => Type.String({ minLength: 1, maxLength });
const words = (maxLength: number) => Type.Optional(Text(maxLength));

const common = {
  packageId: Text(256),
  targetEnvironment: Text(100),
  resourceSemanticId: Text(520),
  newFieldName: Text(256),
  newFieldType: words(128),
  scriptId: words(256),
  dataPopulateWorkloadId: words(256),
  reason: words(2000),
  correlationId: words(256),
  idempotencyKey: words(256),
};

export const ReleaseRequestBody = Type.Object({
  ...common,
  desiredRevision: Type.Optional(Type.Union([Text(64), Type.Integer({ minimum: 0 })])),
});

export const CoordinatedRequest = Type.Object({
  ...common,
  containerTargetId: Text(256),
  desiredImage: Text(1024),
  currentImage: words(1024),
});

export const Reason = Type.Object({ reason: words(2000) });

const times = {
  createdAt: TimestampSchema,
  updatedAt: TimestampSchema,
  completedAt: OptionalTimestampSchema,
};

export const ReleaseOperation = Type.Object({
  operationId: Type.String(),
  kind: Type.Literal('MetadataRelease'),
  status: Type.Enum(OP_STATUSES),
  priority: Type.Enum([...JOB_PRIORITIES]),
  target: Type.Null(),
  currentPhase: OptionalStringSchema,
  observedState: OptionalStringSchema,
  providerOperationId: OptionalStringSchema,
  requestedBy: OptionalStringSchema,
  reason: OptionalStringSchema,
  correlationId: OptionalStringSchema,
  blockingReasons: Texts,
  warnings: Texts,
  errorMessage: OptionalStringSchema,
  ...times,
  metadataRelease: Type.Object({
    packageId: Type.String(),
    targetEnvironment: Type.String(),
    desiredRevision: Type.String(),
    currentStage: Type.Enum([
      ...['Preflight', 'Backup', 'ScriptMigration', 'MetadataApply', 'ServicePublication', 'Smoke'],
      ...['SloWatch', 'Promotion', 'Complete', 'Failed', 'RollbackRequested'],
    ]),
    deployOperationId: OptionalStringSchema,
    gitOperationId: OptionalStringSchema,
    commitSha: OptionalStringSchema,
    prUrl: OptionalStringSchema,
    jobIds: Texts,
    blockers: Texts,
    warnings: Texts,
    evidenceRefs: Type.Array(Type.Object({})),
    rollbackPlan: Type.Null(),
  }),
});

const STEPS = [
  ...['Preflight', 'Backup', 'ContainerRollout', 'MetadataAndSchema', 'Smoke', 'Promote', 'Complete'],
  ...['RollingBack', 'Failed'],
];

export const CoordinatedOperation = Type.Object({
  operationId: Type.String(),
  packageId: Type.String(),
  targetEnvironment: Type.String(),
  status: Type.Enum(OP_STATUSES),
  currentStep: Type.Enum(STEPS),
  currentPhase: OptionalStringSchema,
  containerGateApproved: Type.Boolean(),
  dataGateApproved: Type.Boolean(),
  containerOperationId: OptionalStringSchema,
  metadataOperationId: OptionalStringSchema,
  rollbackReady: Type.Boolean(),
  steps: Type.Array(
    Type.Object({
      step: Type.Enum(STEPS),
      status: Type.Enum(['Pending', 'AwaitingApproval', 'Running', 'Succeeded', 'Failed', 'RolledBack']),
      requiresApproval: Type.Boolean(),
      isReversible: Type.Boolean(),
      detail: OptionalStringSchema,
    }),
  ),
  artifacts: Type.Array(
    Type.Object({
      kind: Type.Enum(['ContainerImage', 'DatabaseSchema', 'Metadata']),
      title: Type.String(),
      current: OptionalStringSchema,
      desired: Type.String(),
    }),
  ),
  blockers: Texts,
  warnings: Texts,
  errorMessage: OptionalStringSchema,
  ...times,
});
