import Type from 'typebox';
import { problem, requireSound } from '../../../core/http/body-problems.js';
import {
  OptionalStringSchema,
  OptionalTimestampSchema,
  optionalTimestamp,
  TimestampSchema,
  timestamp,
} from '../../admin/envelope.js';

/** Schemas that all kinds of keys and clients share. */

export const KeyStatus = Type.Enum(['active', 'expired', 'revoked']);

/** Members of a key without those for its purpose. */
export const KEY_MEMBERS = {
  id: Type.String({ format: 'uuid' }),
  name: Type.String(),
  keyPrefix: Type.String(),
  status: KeyStatus,
  createdAt: TimestampSchema,
  createdBy: OptionalStringSchema,
  updatedAt: TimestampSchema,
  expiresAt: OptionalTimestampSchema,
  lastUsedAt: OptionalTimestampSchema,
  rotatedAt: OptionalTimestampSchema,
  revokedAt: OptionalTimestampSchema,
};

export const Secret = Type.String({ description: 'The key in plain text. It is shown this once.' });

export const ExpiresAt = Type.Optional(Type.Union([Type.String({ format: 'date-time' }), Type.Null()]));

/** Expiry time of a new key. Null: never. Throws 400 for a time in the past. */
export function parseKeyExpiry({ expiresAt }: { expiresAt?: string | null }): number | null {
  const time = expiresAt ? Date.parse(expiresAt) : null;
  if (time !== null && time <= Date.now())
    requireSound([problem('expiresAt', 'must be a time in the future')]);
  return time;
}

/** The times of a key, in milliseconds since 1970. */
interface KeyTimes {
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
  readonly rotatedAt: number | null;
  readonly revokedAt: number | null;
}

/** The same as the wire has them. */
export function formatKeyTimes({ createdAt, updatedAt, ...others }: KeyTimes) {
  return {
    createdAt: timestamp(createdAt),
    updatedAt: timestamp(updatedAt),
    expiresAt: optionalTimestamp(others.expiresAt),
    lastUsedAt: optionalTimestamp(others.lastUsedAt),
    rotatedAt: optionalTimestamp(others.rotatedAt),
    revokedAt: optionalTimestamp(others.revokedAt),
  };
}
