import Type from 'typebox';
import { JOB_PRIORITIES } from '../../../core/jobs/job-priority.js';
import { DEPLOY_STATUSES, type DeployRequest } from '../../../services/deploy/operation-state.js';
import { SERVERS_TARGET } from '../../../services/deploy/rollout-target.js';
import { OptionalStringSchema, OptionalTimestampSchema, TimestampSchema } from '../../admin/envelope.js';

/** Schemas of deploy operations. */

const S = Type.String();
const B = Type.Boolean();
const Strings = Type.Array(S);
const line = (maxLength: number) => Type.String({ minLength: 1, maxLength, pattern: '^[^\\p{Cc}]+$' });
const optional = <T extends Type.TSchema>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]));

export const DEPLOY_KINDS = [
  'Deploy',
  'Rollback',
  'Migration',
  'MetadataRelease',
  'CoordinatedRelease',
] as const;

export const DeployReason = Type.Object({ reason: optional(line(2000)) });
export const ConvergeBody = Type.Object({ reason: optional(line(2000)), correlationId: optional(line(256)) });

const planMembers = {
  targetId: { ...line(128), description: `\`${SERVERS_TARGET}\`: all servers of the state.` },
  desiredRevision: { ...line(64), description: 'Release that all servers must run afterwards.' },
  currentRevision: optional({ ...line(64), description: 'Refuses the operation if another release runs.' }),
  parameters: optional(Type.Record(S, Type.String({ maxLength: 1000 }), { maxProperties: 20 })),
};
export const DeployPlanBody = Type.Object(planMembers);
export const CreateBody = Type.Object({
  ...planMembers,
  priority: optional(Type.Enum([...JOB_PRIORITIES])),
  reason: optional(line(2000)),
  correlationId: optional(line(256)),
  idempotencyKey: optional(line(200)),
  submitImmediately: Type.Optional(Type.Boolean({ default: true })),
});

const Target = Type.Object({
  ...{ targetId: S, targetName: S, targetKind: S, environment: S, backend: S, desiredRevision: S },
  currentRevision: { ...OptionalStringSchema, description: 'Release of all processes, by their heartbeats.' },
  artifactReference: OptionalStringSchema,
  runtimeProfile: OptionalStringSchema,
  parameters: Type.Record(S, S),
});

export const DeployPlanSchema = Type.Object({
  target: Target,
  backendRegistered: B,
  readyToSubmit: B,
  requiresApproval: B,
  requiresOutOfBandMigrations: B,
  blockingReasons: Strings,
  warnings: Strings,
  generatedAt: TimestampSchema,
  capabilities: Type.Object({
    ...{ supportsRollback: B, supportsCancellation: B, supportsProgressPolling: B },
    ...{ supportsRevisionPinning: B, supportsTrafficShifting: B, requiresOutOfBandMigrations: B },
  }),
});

export const OperationSchema = Type.Object({
  operationId: S,
  kind: Type.Enum([...DEPLOY_KINDS]),
  status: Type.Enum([...DEPLOY_STATUSES]),
  priority: Type.Enum([...JOB_PRIORITIES]),
  target: Target,
  currentPhase: OptionalStringSchema,
  observedState: {
    ...OptionalStringSchema,
    description: 'Releases of all processes now, by their heartbeats.',
  },
  providerOperationId: { ...OptionalStringSchema, description: 'Job that observes the servers.' },
  proposalId: { ...OptionalStringSchema, description: 'Proposal that a person must approve.' },
  requestedBy: OptionalStringSchema,
  reason: OptionalStringSchema,
  correlationId: OptionalStringSchema,
  blockingReasons: Strings,
  warnings: Strings,
  errorMessage: OptionalStringSchema,
  createdAt: TimestampSchema,
  updatedAt: TimestampSchema,
  completedAt: OptionalTimestampSchema,
  metadataRelease: Type.Null(),
});

const Diagnostics = {
  serverVersion: S,
  environment: S,
  deploymentMode: S,
  instanceName: S,
  readiness: Type.Object({ isReady: B, statusCode: Type.Integer(), message: S }),
  migration: Type.Object({
    lifecycleStatus: S,
    planAvailable: B,
    planError: OptionalStringSchema,
    upgradeRequired: B,
    pendingScripts: Strings,
    executedButNotDiscoveredScripts: Strings,
    message: OptionalStringSchema,
  }),
  databaseCompatibility: Type.Object({
    isCompatible: B,
    engineVersion: S,
    postGisVersion: OptionalStringSchema,
    postGisRasterVersion: OptionalStringSchema,
    installedExtensions: Strings,
    warnings: Strings,
    errorMessage: OptionalStringSchema,
  }),
};
export const PreflightSchema = Type.Object({
  status: Type.Enum(['ready', 'blocked']),
  readyForCoordinatedDeploy: B,
  message: S,
  generatedAt: TimestampSchema,
  ...(Object.fromEntries(
    Object.entries(Diagnostics).map(([name, schema]) => [name, Type.Optional(schema)]),
  ) as { [N in keyof typeof Diagnostics]: Type.TOptional<(typeof Diagnostics)[N]> }),
});

type Nullable<T> = { readonly [K in keyof T]: T[K] | null | undefined };

/** The request without its absent members, so that equal requests are equal documents. */
export function readDeployRequest(body: Nullable<Omit<DeployRequest, 'targetId' | 'desiredRevision'>>) {
  const names = ['currentRevision', 'parameters', 'priority', 'reason', 'correlationId'] as const;
  const members = names.flatMap((name) => (body[name] == null ? [] : [[name, body[name]]]));
  return Object.fromEntries(members) as Omit<DeployRequest, 'targetId' | 'desiredRevision'>;
}
