import Type, { type Static } from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import type { JobEngine } from '../../../services/jobs/engine.js';
import type { JobLogRow, JobRow, JobStepRow } from '../../../stores/jobs/jobs.js';
import type { Services } from '../../admin/deps.js';
import { OptionalStringSchema, TimestampSchema, timestamp } from '../../admin/envelope.js';
import { encodeCursor, readCursor } from '../../admin/params.js';
import { JOB_STATES } from './job-schemas.js';

/** The diagnostics of one job, as `svc.job-diagnostics/v1` has them. */

const S = Type.String();
const I = Type.Integer();
const Texts = Type.Array(S);
const SCHEMA = 'svc.job-diagnostics/v1';
const CURSOR = 'job-events';
const START = 'start';

const Event = Type.Object({
  cursor: S,
  type: S,
  level: S,
  phase: OptionalStringSchema,
  message: S,
  occurredAt: TimestampSchema,
});

export const JobDiagnostics = Type.Object({
  schema: Type.Literal(SCHEMA),
  jobId: S,
  lifecycle: Type.Enum([...JOB_STATES]),
  attempt: I,
  evidence: Type.Object({ missing: Texts, truncated: Texts, notes: Texts }),
  events: Type.Object({
    state: Type.Enum(['available', 'unavailable']),
    items: Type.Array(Event),
    totalCount: I,
    limit: I,
    truncated: Type.Boolean({ description: 'Whether the job has more events than the response.' }),
    firstCursor: OptionalStringSchema,
    nextCursor: OptionalStringSchema,
    mode: Type.Enum(['latest', 'forward']),
  }),
  artifacts: Type.Object({
    state: Type.Enum(['available', 'unavailable']),
    availableCount: I,
    expiredCount: I,
    unavailableCount: I,
  }),
  failure: Type.Union([
    Type.Object({
      classification: Type.Enum(['execution_failed', 'cancelled']),
      message: S,
      phase: OptionalStringSchema,
      stepOrdinal: Type.Union([I, Type.Null()]),
      recovery: S,
    }),
    Type.Null(),
  ]),
});

/** Selection of events. Without a cursor the latest events are selected. */
interface EventQuery {
  readonly limit: number;
  readonly cursor: string | undefined;
}

export async function readJobDiagnostics(
  job: JobRow,
  query: EventQuery,
  { jobs }: Services<'jobs'>,
): Promise<Static<typeof JobDiagnostics>> {
  const [events, steps, artifacts, retryRefusal] = await Promise.all([
    loadEvents(job.id, query, jobs.store),
    jobs.store.steps(job.id),
    jobs.store.artifactCounts([job.id]),
    jobs.retryRefusal(job),
  ]);
  const lacking = (what: string, isThere: boolean) => (isThere ? [] : [what]);
  return {
    schema: SCHEMA,
    jobId: job.id,
    lifecycle: job.state,
    attempt: job.attempt,
    evidence: {
      missing: [...lacking('events', events.totalCount > 0), ...lacking('steps', steps.length > 0)],
      truncated: lacking('events', !events.truncated),
      notes: JSON.parse(job.warnings_json) as string[],
    },
    events,
    artifacts: {
      state: 'available',
      availableCount: artifacts.get(job.id) ?? 0,
      expiredCount: 0,
      unavailableCount: 0,
    },
    failure: buildFailure(job, steps, retryRefusal),
  };
}

async function loadEvents(
  jobId: string,
  { limit, cursor }: EventQuery,
  store: JobEngine['store'],
): Promise<Static<typeof JobDiagnostics>['events']> {
  const after = cursor === undefined ? undefined : computePosition(cursor);
  const [rows, totalCount] = await Promise.all([
    after === undefined ? store.lastLogs(jobId, limit) : store.logs(jobId, after, limit + 1),
    store.logCount(jobId),
  ]);
  const shown = rows.slice(0, limit);
  const hasMore = rows.length > shown.length;
  return {
    state: 'available',
    items: shown.map(eventView),
    totalCount,
    limit,
    truncated: shown.length < totalCount,
    firstCursor: shown[0] ? encodeCursor(CURSOR, [shown[0].id - 1]) : null,
    nextCursor: hasMore ? encodeCursor(CURSOR, [shown.at(-1)!.id]) : null,
    mode: after === undefined ? 'latest' : 'forward',
  };
}

/** The number of the event that a cursor is behind. */
function computePosition(cursor: string): number {
  if (cursor === START) return 0;
  const [after] = readCursor(CURSOR, cursor) ?? [];
  if (typeof after !== 'number')
    throw badParameter(
      'eventCursor',
      `must be a cursor of these events. Use ${START}, or nextCursor of a page`,
    );
  return after;
}

function eventView({ id, at, level, message, phase }: JobLogRow): Static<typeof Event> {
  const cursor = encodeCursor(CURSOR, [id]);
  return { cursor, type: `job.${level}`, level, phase, message, occurredAt: timestamp(at) };
}

function buildFailure(
  { id, state, failure_message: message, phase, attempt }: JobRow,
  steps: readonly JobStepRow[],
  retryRefusal: string | undefined,
): Static<typeof JobDiagnostics>['failure'] {
  if (message === null) return null;
  const failed = steps.find((step) => step.attempt === attempt && step.status === 'Failed');
  return {
    classification: state === 'Cancelled' ? 'cancelled' : 'execution_failed',
    message,
    phase: failed?.phase ?? phase,
    stepOrdinal: failed?.ordinal ?? null,
    recovery: retryRefusal ?? `Retry the job: POST /api/v1/admin/jobs/${id}/retry.`,
  };
}
