import Type, { type TSchema } from 'typebox';
import { JOB_PRIORITIES } from '../../../core/jobs/job-priority.js';
import {
  OptionalStringSchema as Text,
  OptionalTimestampSchema as Time,
  TimestampSchema,
} from '../../admin/envelope.js';

const S = Type.String();
const I = Type.Integer();
const Strings = Type.Array(S);
const optional = (schema: TSchema) => Type.Union([schema, Type.Null()]);

export const JOB_STATES = ['Queued', 'Provisioning', 'Running', 'Succeeded', 'Failed', 'Cancelled'] as const;
export const CONSOLE_KINDS = ['Geoprocessing', 'ExtractTransformLoad', 'TileCache'] as const;

const Status = Type.Enum([...JOB_STATES]);

const summaryMembers = {
  jobId: S,
  kind: Type.Enum([...CONSOLE_KINDS]),
  status: Status,
  priority: Type.Enum([...JOB_PRIORITIES]),
  workloadName: S,
  targetKind: S,
  backend: S,
  queue: Text,
  definitionId: Text,
  requestedBy: Text,
  correlationId: Text,
  traceId: Text,
  currentPhase: Text,
  percentComplete: optional(Type.Number()),
  attemptCount: I,
  maxAttempts: I,
  artifactCount: I,
  durationMs: optional(I),
  nextRetryAt: Time,
  createdAt: TimestampSchema,
  updatedAt: TimestampSchema,
  completedAt: Time,
  resourceRefs: Strings,
  latestEvent: Type.Object({
    type: S,
    status: Status,
    phase: Text,
    message: Text,
    occurredAt: TimestampSchema,
  }),
  links: Type.Record(S, S),
};

const JobSummary = Type.Object(summaryMembers);

const Action = Type.Object({
  name: Type.Enum(['cancel', 'retry']),
  method: S,
  href: S,
  allowed: Type.Boolean(),
  disabledReason: Type.Optional(S),
  requiresApproval: Type.Boolean(),
});

const Stage = Type.Object({
  name: S,
  status: S,
  percentComplete: optional(Type.Number()),
  startedAt: Time,
  completedAt: Time,
});

export const JobDetail = Type.Object({
  ...summaryMembers,
  actions: Type.Array(Action),
  stages: Type.Array(Stage),
  retryPolicy: Type.Object({ strategy: S, maxAttempts: I, baseDelayMs: I, maxDelayMs: I }),
  failure: optional(
    Type.Object({ classification: Type.Enum(['execution_failed', 'cancelled']), message: S }),
  ),
  warnings: Strings,
  selectedMetadata: Type.Record(S, S),
  childJobIds: Strings,
  parentJobId: Text,
  providerOperationId: Text,
  claimedBy: Text,
  claimedAt: Time,
  lastHeartbeatAt: Time,
  cancellationRequestedAt: Time,
});

export const JobPage = Type.Object({ items: Type.Array(JobSummary), nextCursor: Type.Optional(S) });

const Log = Type.Object({ timestamp: TimestampSchema, level: S, message: S, phase: Text });
export const JobLogs = Type.Object({
  jobId: S,
  correlationId: Text,
  state: Type.Enum(['available', 'unavailable']),
  items: Type.Array(Log),
  nextCursor: Type.Optional(S),
});

const Artifact = Type.Object({
  artifactId: S,
  label: S,
  kind: S,
  contentType: S,
  sizeBytes: optional(I),
  availability: Type.Enum(['Available', 'Unavailable', 'Expired', 'Redacted', 'ProviderError']),
});
export const JobArtifacts = Type.Object({
  jobId: S,
  correlationId: Text,
  items: Type.Array(Artifact),
  nextCursor: Type.Optional(S),
});

export const JobActions = Type.Object({ jobId: S, correlationId: Text, actions: Type.Array(Action) });

const Step = Type.Object({
  ordinal: I,
  phase: S,
  status: S,
  message: S,
  startedAt: TimestampSchema,
  completedAt: Time,
  durationMs: optional(I),
  metadata: Type.Record(S, S),
});
export const JobSteps = Type.Object({
  jobId: S,
  correlationId: Text,
  state: Type.Enum(['available', 'unavailable']),
  steps: Type.Array(Step),
});

export const JobActed = Type.Object({
  jobId: S,
  action: Type.Enum(['cancel', 'retry']),
  status: Status,
  message: S,
  correlationId: Text,
});
