import { badParameter } from '../../core/errors/errors.js';
import type { TimeRange } from '../../core/http/params.js';

/** Milliseconds of the farthest instants that a date can name. */
const MAX_TIME = 8.64e15;

/** An instant or `start,end` in milliseconds since 1970, `null` for an open end. Throws 400 naming `time`. */
export function timeRange(time: string | undefined): TimeRange | undefined {
  if (time === undefined || time.trim() === '') return undefined;
  const parts = time.split(',');
  const [start, last] = parts.map(findInstant);
  // A default would take the open end of `start,null` for an instant that is missing.
  const end = parts.length === 1 ? start : last;
  if (parts.length > 2 || (start !== undefined && end !== undefined && start > end))
    throw badParameter('time', 'must be an instant, or a start and a later end');
  // Clients only know milliseconds, so the range includes all instants of the last millisecond.
  return { start, end, ...(end === undefined ? {} : { endMicros: 999 }) };
}

function findInstant(text: string): number | undefined {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.toLowerCase() === 'null') return undefined;
  const value = Number(trimmed);
  if (!Number.isInteger(value) || Math.abs(value) > MAX_TIME)
    throw badParameter('time', 'must be milliseconds since 1970, or null for an open end');
  return value;
}
