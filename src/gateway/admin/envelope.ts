import Type, { type TSchema } from 'typebox';
import { ERROR_TABLE } from '../../core/errors/errors.js';
import type { ResponseDoc } from '../../core/http/operation.js';

/** `wrapped`: `{success, data, message?, timestamp}`; `raw`: the data itself. */
export type Envelope = 'wrapped' | 'raw';

/** A confirmation without data. */
export class Acknowledgement {
  constructor(readonly message: string) {}
}

/** The body of a successful reply. */
export function wrap(data: unknown, envelope: Envelope): unknown {
  if (data instanceof Acknowledgement) {
    return { success: true, data: null, message: data.message, timestamp: new Date().toISOString() };
  }
  if (envelope === 'raw') return data;
  return { success: true, data, timestamp: new Date().toISOString() };
}

export const AcknowledgementSchema = Type.Null({ description: 'The message of the envelope confirms.' });

export function dataSchema(data: TSchema, envelope: Envelope): TSchema {
  if (envelope === 'raw') return data;
  return Type.Object({
    success: Type.Boolean(),
    data,
    message: Type.Optional(Type.String()),
    timestamp: Type.String({ format: 'date-time' }),
  });
}

/** Documentation of failures; their bodies are problem documents. */
export function errorDocs(statuses: readonly number[]): Record<number, ResponseDoc> {
  const titles = new Map<number, string>(
    Object.values(ERROR_TABLE).map(([status, title]) => [status, title]),
  );
  return Object.fromEntries(
    statuses.map((status) => [status, { description: titles.get(status) ?? 'Error' }]),
  );
}

/** A time as the wire has it: RFC 3339, UTC. */
export function timestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/** Same as `timestamp`, but null stays null. */
export function optionalTimestamp(milliseconds: number | null): string | null {
  return milliseconds === null ? null : timestamp(milliseconds);
}

export const TimestampSchema = Type.String({ format: 'date-time' });
export const OptionalTimestampSchema = Type.Union([TimestampSchema, Type.Null()]);
export const OptionalStringSchema = Type.Union([Type.String(), Type.Null()]);
