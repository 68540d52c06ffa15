import { type ApiError, badMember } from '../../../core/errors/errors.js';
import type { Exchange } from '../../../core/http/operation.js';
import { buildCaller } from '../../../services/access/identity/submitter.js';
import type { SubmitOptions } from '../../../services/jobs/engine.js';
import { formatTraceparent, type RequestSpan } from '../../../services/telemetry/spans.js';
import type { JobRow } from '../../../stores/jobs/jobs.js';
import type { Services } from '../../admin/deps.js';
import { TABLE_NAME } from '../../admin/upload-form.js';

/** Definitions that imports from other servers share. */

/** The one schema of the embedded store. */
export const EMBEDDED_SCHEMA = 'main';

/** Throws 400 naming the member. */
export function requireSchema(member: string, schema: string | undefined): void {
  if (schema !== undefined && schema !== '' && schema !== EMBEDDED_SCHEMA)
    throw createMemberError(member, 'must be main, the only schema of the embedded store');
}

/** Throws 400 naming the member. */
export function requireTable(member: string, table: string): string {
  if (!TABLE_NAME.test(table))
    throw createMemberError(
      member,
      'must be 1 to 60 letters, digits and underscores, and must not start with a digit',
    );
  return table;
}

export function createSubmitOptions(x: Exchange): SubmitOptions {
  const trace = formatTraceparent((x.span as RequestSpan | undefined)?.span);
  return {
    ...buildCaller(x.principal, x.operation),
    correlationId: x.correlationId,
    ...(trace === undefined ? {} : { trace }),
  };
}

/**
 * Waits for the job to end. If the client disconnects, the job is cancelled, because nobody would receive its result.
 * Rejects with `JobContinues` when the server stops.
 */
export async function finishedOrCancelled(
  x: Exchange,
  { jobs }: Services<'jobs'>,
  id: string,
): Promise<JobRow> {
  const cancel = () => void jobs.cancel(id).catch(() => {});
  x.signal.addEventListener('abort', cancel, { once: true });
  if (x.signal.aborted) cancel();
  try {
    return await jobs.finishedForRequest(id);
  } finally {
    x.signal.removeEventListener('abort', cancel);
  }
}

export function createMemberError(name: string, detail: string): ApiError {
  return badMember(name, detail);
}
