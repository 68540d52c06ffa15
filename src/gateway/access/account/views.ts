import Type, { type Static } from 'typebox';
import type { Principal } from '../../../core/http/operation.js';
import type { StoredSession } from '../../../stores/access/sessions.js';
import type { StoredUserKey } from '../../../stores/access/user-keys.js';
import {
  OptionalStringSchema,
  OptionalTimestampSchema,
  optionalTimestamp,
  TimestampSchema,
  timestamp,
} from '../../admin/envelope.js';

export const SessionSchema = Type.Object({
  id: Type.String(),
  userAgent: OptionalStringSchema,
  provider: Type.Union([Type.String(), Type.Null()], {
    description: 'Key of the sign-in provider. Null for a sign-in with a password.',
  }),
  createdAt: TimestampSchema,
  lastUsedAt: TimestampSchema,
  expiresAt: TimestampSchema,
  isCurrent: Type.Boolean({ description: 'Whether the request was made with this session.' }),
});

export function sessionView(
  { hash, userAgent, providerKey, createdAt, usedAt, expiresAt }: StoredSession,
  { sessionHash }: Pick<Principal, 'sessionHash'>,
): Static<typeof SessionSchema> {
  return {
    id: hash,
    userAgent,
    provider: providerKey,
    createdAt: timestamp(createdAt),
    lastUsedAt: timestamp(usedAt),
    expiresAt: timestamp(expiresAt),
    isCurrent: hash === sessionHash,
  };
}

export const UserKeySchema = Type.Object({
  id: Type.String({ format: 'uuid' }),
  name: Type.String(),
  keyPrefix: Type.String(),
  createdAt: TimestampSchema,
  expiresAt: OptionalTimestampSchema,
  lastUsedAt: OptionalTimestampSchema,
});

export function keyView({
  id,
  name,
  prefix,
  createdAt,
  expiresAt,
  lastUsedAt,
}: StoredUserKey): Static<typeof UserKeySchema> {
  return {
    id,
    name,
    keyPrefix: prefix,
    createdAt: timestamp(createdAt),
    expiresAt: optionalTimestamp(expiresAt),
    lastUsedAt: optionalTimestamp(lastUsedAt),
  };
}
