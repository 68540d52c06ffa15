import Type from 'typebox';
import { badParameter } from '../../core/errors/errors.js';
import type { Param } from '../../core/http/operation.js';
import type { TimeRange } from '../../core/http/params.js';

/** RFC 3339, 5.6: STAC has no dates without a time (item search, query parameters). */
const DATE_TIME = /^\d{4}-(\d{2})-(\d{2})[Tt]\d{2}:\d{2}:\d{2}(\.\d{1,18})?([Zz]|[+-]\d{2}:\d{2})$/;

/** An instant in milliseconds; further digits are truncated. */
function instant(text: string): number {
  const [, , , fraction = ''] = DATE_TIME.exec(text) ?? [];
  const short = text.replace(fraction, fraction.slice(0, 4)).toUpperCase();
  const value = DATE_TIME.test(text) ? Date.parse(short) : Number.NaN;
  // Date.parse takes 30 February for 1 March.
  const day = new Date(`${text.slice(0, 10)}T00:00:00Z`);
  if (Number.isNaN(value) || Number.isNaN(day.getTime()) || !day.toISOString().startsWith(text.slice(0, 10)))
    throw badParameter(
      'datetime',
      `'${text.slice(0, 60)}' is not a date-time of RFC 3339. Use for example 2026-01-31T12:00:00Z`,
    );
  return value;
}

/** An instant, or an interval with at most one open end. Throws 400. */
export function parseDatetime(text: string): TimeRange {
  const parts = text.split('/');
  if (parts.length === 1) {
    const at = instant(text);
    return { start: at, end: at };
  }
  if (parts.length !== 2)
    throw badParameter(
      'datetime',
      'must be an instant or an interval start/end, for example 2026-01-01T00:00:00Z/..',
    );
  const [start, end] = parts.map((part) => (part === '' || part === '..' ? undefined : instant(part)));
  if (start === undefined && end === undefined) throw badParameter('datetime', 'must have a start or an end');
  if (start !== undefined && end !== undefined && start > end)
    throw badParameter('datetime', 'must not end before it starts');
  return { start, end };
}

export const stacDatetime: Param<TimeRange | undefined> = {
  name: 'datetime',
  in: 'query',
  description: 'RFC 3339 date-time, or an interval start/end of which one end may be open (..).',
  schema: Type.String(),
  parse: (raw) => (raw === undefined ? undefined : parseDatetime(raw)),
};
