import Type from 'typebox';
import { badParameter } from '../../core/errors/errors.js';
import type { Param } from '../../core/http/operation.js';
import { defineTextParam } from '../../core/http/params.js';

/** Parameters that management operations share. */

/** Any text, optional. */
export function defineFilterParam(
  name: string,
  description: string,
  aliases: readonly string[] = [],
): Param<string | undefined> {
  return defineTextParam(name, { description, aliases }, { maxLength: 512 });
}

/** One of several words, in any letter case; numbers are refused. The value has the spelling in `values`. */
export function enumeration<T extends string>(
  name: string,
  values: readonly T[],
  description: string,
  fallback?: T,
): Param<T | undefined> {
  return {
    name,
    in: 'query',
    description,
    schema: Type.Enum([...values], fallback === undefined ? {} : { default: fallback }),
    parse: (raw) => (raw === undefined ? fallback : word(name, values, raw)),
  };
}

/** One of some words in a path, in any case. */
export function pathEnumeration<T extends string>(
  name: string,
  values: readonly T[],
  description: string,
): Param<T> {
  return {
    name,
    in: 'path',
    description,
    required: true,
    schema: Type.Enum([...values]),
    parse: (raw) => word(name, values, raw ?? ''),
  };
}

/** Comma-separated words, each as in `enumeration`. */
export function enumerations<T extends string>(
  name: string,
  values: readonly T[],
  description: string,
): Param<T[] | undefined> {
  return {
    name,
    in: 'query',
    description,
    schema: Type.Array(Type.Enum([...values])),
    parse: (raw) => raw?.split(',').map((part) => word(name, values, part.trim())),
  };
}

function word<T extends string>(name: string, values: readonly T[], raw: string): T {
  const match = values.find((value) => value.toLowerCase() === raw.toLowerCase());
  if (match === undefined) throw badParameter(name, `must be one of ${values.join(', ')}`);
  return match;
}

/** A time with its offset from UTC (RFC 3339); the value is milliseconds since 1970. */
export function defineTimeParam(name: string, description: string): Param<number | undefined> {
  return {
    name,
    in: 'query',
    description,
    schema: Type.String({ format: 'date-time' }),
    parse(raw) {
      if (raw === undefined) return undefined;
      const rfc3339 = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/.test(raw);
      const value = rfc3339 ? Date.parse(raw) : Number.NaN;
      if (Number.isNaN(value))
        throw badParameter(name, 'must be a date-time with an offset, for example 2026-01-31T12:00:00Z');
      return value;
    },
  };
}

/** The limits of a period that are set. Throws `bad-parameter` if `from` is after `to`. */
export function readPeriod({ from, to }: { from: number | undefined; to: number | undefined }): {
  from?: number;
  to?: number;
} {
  if (from !== undefined && to !== undefined && from > to)
    throw badParameter('from', "must not be after 'to'");
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
}

/** A number in the path, from 1. */
export function idParam(name: string, description: string): Param<number> {
  return {
    name,
    in: 'path',
    description,
    required: true,
    schema: Type.Integer({ minimum: 1 }),
    parse(raw) {
      const id = raw !== undefined && /^\d{1,16}$/.test(raw) ? Number(raw) : 0;
      if (id < 1 || !Number.isSafeInteger(id))
        throw badParameter(name, `must be an integer from 1 to ${Number.MAX_SAFE_INTEGER}`);
      return id;
    },
  };
}

/** Start of a page: `nextCursor` of the previous page. The value is the argument of `encodeCursor`. */
export function cursor(kind: string): Param<readonly (string | number)[] | undefined> {
  return {
    name: 'cursor',
    in: 'query',
    description: 'Value of nextCursor of the page before.',
    schema: Type.String({ maxLength: 512 }),
    parse(raw) {
      if (raw === undefined) return undefined;
      const position = readCursor(kind, raw);
      if (!position)
        throw badParameter(
          'cursor',
          'must be a cursor of this list. Use the one of the previous page, or omit it',
        );
      return position;
    },
  };
}

/** The argument of `encodeCursor`; undefined for another kind of cursor, or an invalid one. */
export function readCursor(kind: string, raw: string): readonly (string | number)[] | undefined {
  const parts = raw.length <= 512 ? decoded(raw) : undefined;
  return parts?.[0] === kind ? parts.slice(1) : undefined;
}

export function encodeCursor(kind: string, position: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify([kind, ...position])).toString('base64url');
}

function decoded(raw: string): (string | number)[] | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(raw, 'base64url').toString('utf8'));
    const plain =
      Array.isArray(value) && value.every((part) => typeof part === 'string' || Number.isSafeInteger(part));
    return plain ? value : undefined;
  } catch {
    return undefined;
  }
}
