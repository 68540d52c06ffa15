import { JOB_PRIORITIES } from '../../../core/jobs/job-priority.js';
import { BACKEND, type JobKind } from '../../../services/jobs/kinds.js';
import type { JobArtifactRow, JobLogRow, JobRow, JobStepRow } from '../../../stores/jobs/jobs.js';
import { optionalTimestamp, timestamp } from '../../admin/envelope.js';
import { BASE_PATH } from '../../admin/kit.js';

/** Job rows as the console sees them. */

const TARGET_KIND = 'server';

const ENDED: ReadonlySet<string> = new Set(['Succeeded', 'Failed', 'Cancelled']);

export interface JobFacts {
  job: JobRow;
  /** Undefined for a kind that this version does not know. */
  kind: JobKind | undefined;
  artifactCount: number;
  /** Why it cannot be run again. */
  retryRefusal: string | undefined;
}

export function summaryView({ job, kind, artifactCount, retryRefusal }: JobFacts) {
  const href = `${BASE_PATH}/jobs/${job.id}`;
  return {
    jobId: job.id,
    kind: kind?.console ?? 'Geoprocessing',
    status: job.state,
    priority: JOB_PRIORITIES[job.priority],
    workloadName: kind?.title ?? job.kind,
    targetKind: TARGET_KIND,
    backend: BACKEND,
    queue: null,
    definitionId: null,
    requestedBy: job.owner,
    correlationId: job.correlation_id,
    traceId: null,
    currentPhase: job.phase,
    percentComplete: percent(job),
    attemptCount: job.attempt,
    maxAttempts: job.max_attempts,
    artifactCount,
    durationMs: job.started_at === null ? null : computeEnd(job) - job.started_at,
    nextRetryAt: null,
    createdAt: timestamp(job.created_at),
    updatedAt: timestamp(job.updated_at),
    completedAt: optionalTimestamp(job.completed_at),
    resourceRefs: JSON.parse(job.resources_json) as string[],
    latestEvent: {
      type: `job.${job.state.toLowerCase()}`,
      status: job.state,
      phase: job.phase,
      message: job.failure_message,
      occurredAt: timestamp(job.updated_at),
    },
    links: {
      self: href,
      logs: `${href}/logs`,
      artifacts: `${href}/artifacts`,
      actions: `${href}/actions`,
      ...(mayCancel(job) ? { cancel: `${href}/cancel` } : {}),
      ...(retryRefusal === undefined ? { retry: `${href}/retry` } : {}),
    },
  };
}

export function detailView(facts: JobFacts, steps: readonly JobStepRow[]) {
  const { job } = facts;
  return {
    ...summaryView(facts),
    actions: actionViews(facts),
    stages: steps.filter((step) => step.attempt === job.attempt).map(stageView),
    retryPolicy: { strategy: 'immediate', maxAttempts: job.max_attempts, baseDelayMs: 0, maxDelayMs: 0 },
    failure: failureView(job),
    warnings: JSON.parse(job.warnings_json) as string[],
    selectedMetadata: {},
    childJobIds: [],
    parentJobId: null,
    providerOperationId: null,
    claimedBy: job.lease_owner,
    claimedAt: job.lease_owner === null ? null : optionalTimestamp(job.started_at),
    lastHeartbeatAt: optionalTimestamp(job.heartbeat_at),
    cancellationRequestedAt: optionalTimestamp(job.cancel_requested_at),
  };
}

export function actionViews({ job, retryRefusal }: Pick<JobFacts, 'job' | 'retryRefusal'>) {
  const of = (name: 'cancel' | 'retry', refusal: string | undefined) => ({
    name,
    method: 'POST',
    href: `${BASE_PATH}/jobs/${job.id}/${name}`,
    allowed: refusal === undefined,
    ...(refusal === undefined ? {} : { disabledReason: refusal }),
    requiresApproval: false,
  });
  return [
    of('cancel', mayCancel(job) ? undefined : `The job has ended: ${job.state}.`),
    of('retry', retryRefusal),
  ];
}

export function logView(row: JobLogRow) {
  return { timestamp: timestamp(row.at), level: row.level, message: row.message, phase: row.phase };
}

export function stepView(row: JobStepRow) {
  return {
    ordinal: row.ordinal,
    phase: row.phase,
    status: row.status,
    message: row.message,
    startedAt: timestamp(row.started_at),
    completedAt: optionalTimestamp(row.completed_at),
    durationMs: row.completed_at === null ? null : row.completed_at - row.started_at,
    metadata: { attempt: String(row.attempt) },
  };
}

export function artifactView(row: JobArtifactRow) {
  return {
    artifactId: row.id,
    label: row.label,
    kind: row.kind,
    contentType: row.content_type,
    sizeBytes: row.size_bytes,
    availability: 'Available',
  };
}

/** Ordinals that operations and uploads use for states. */
const ORDINALS = { Queued: 0, Running: 1, Succeeded: 2, Failed: 3, Cancelled: 4 } as const;

export function statusOrdinal(job: JobRow): number {
  return ORDINALS[job.state];
}

export function percent(job: JobRow): number | null {
  return job.fraction === null ? null : Math.round(job.fraction * 1000) / 10;
}

/** `[d.]hh:mm:ss[.fff]` since the job started. */
export function duration(job: JobRow): string {
  return timeSpan(job.started_at === null ? 0 : computeEnd(job) - job.started_at);
}

/** Milliseconds as the wire has durations: `[d.]hh:mm:ss.fff`. */
export function timeSpan(ms: number): string {
  const days = Math.floor(ms / 86_400_000);
  const clock = new Date(ms % 86_400_000).toISOString().slice(11, 23);
  return `${days > 0 ? `${days}.` : ''}${clock}`;
}

function computeEnd(job: JobRow): number {
  return job.completed_at ?? Date.now();
}

function mayCancel(job: JobRow): boolean {
  return !ENDED.has(job.state) && job.cancel_requested_at === null;
}

function failureView(job: JobRow) {
  if (job.failure_message === null) return null;
  const classification = job.state === 'Cancelled' ? 'cancelled' : 'execution_failed';
  return { classification, message: job.failure_message };
}

function stageView(step: JobStepRow) {
  return {
    name: step.phase,
    status: step.status,
    percentComplete: step.status === 'Succeeded' ? 100 : null,
    startedAt: timestamp(step.started_at),
    completedAt: optionalTimestamp(step.completed_at),
  };
}

/** Message for a caller who cancels a job. `what` is the name of the job for people. */
export function cancelMessage({ state }: Pick<JobRow, 'state'>, what: string): string {
  return state === 'Cancelled' ? `The ${what} is cancelled.` : `The ${what} is being cancelled.`;
}
