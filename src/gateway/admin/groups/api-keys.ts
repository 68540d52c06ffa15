import Type, { type Static } from 'typebox';
import { ApiError } from '../../../core/errors.js';
import type { Principal } from '../../../core/operation.js';
import { pathString } from '../../../core/params.js';
import { keyStatus } from '../../../services/access/api-keys.js';
import { isGrant, permits } from '../../../services/access/permissions.js';
import type { StoredApiKey } from '../../../stores/api-keys.js';
import {
  OptionalStringSchema,
  OptionalTimestampSchema,
  optionalTimestamp,
  TimestampSchema,
  timestamp,
} from '../envelope.js';
import { action, group, jsonBody, report } from '../kit.js';

const Status = Type.Enum(['active', 'expired', 'revoked']);
const Permissions = Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: 200 });

const ApiKey = Type.Object({
  id: Type.String({ format: 'uuid' }),
  name: Type.String(),
  keyPrefix: Type.String(),
  permissions: Permissions,
  status: Status,
  createdAt: TimestampSchema,
  createdBy: OptionalStringSchema,
  updatedAt: TimestampSchema,
  expiresAt: OptionalTimestampSchema,
  lastUsedAt: OptionalTimestampSchema,
  rotatedAt: OptionalTimestampSchema,
  revokedAt: OptionalTimestampSchema,
});

const ApiKeySecret = Type.Object({
  apiKey: ApiKey,
  key: Type.String({ description: 'The key in plain text. It is shown this once.' }),
});

const CreateApiKey = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 200 }),
  permissions: Type.Optional(Permissions),
  expiresAt: Type.Optional(Type.Union([Type.String({ format: 'date-time' }), Type.Null()])),
});

const EffectivePermissions = Type.Object({
  id: Type.String({ format: 'uuid' }),
  name: Type.String(),
  status: Status,
  permissions: Permissions,
  canAuthenticate: Type.Boolean(),
});

const byId = { id: pathString('id', 'Id of the key.') };

/** Keys that programs authenticate with. */
export const apiKeys = group({ tag: 'API keys', scope: 'api-keys', envelope: 'wrapped' }, [
  report('GET /api-keys', 'List Admin API Keys', {
    data: Type.Array(ApiKey),
    answer: async (_x, { keys }) => (await keys.list()).map(view),
  }),
  action('POST /api-keys', 'Create Admin API Key', {
    body: jsonBody(CreateApiKey),
    data: ApiKeySecret,
    status: 201,
    errors: [400],
    async answer({ body, principal }, { keys, permissions }) {
      requireGrants(body.permissions ?? [], permissions());
      mayGrant(principal, body.permissions ?? []);
      const newKey = { name: body.name, permissions: body.permissions ?? [], expiresAt: futureTime(body) };
      const { key, secret } = await keys.create(newKey, actor(principal));
      return { apiKey: view(key), key: secret };
    },
  }),
  action('POST /api-keys/{id}/rotate', 'Rotate Admin API Key', {
    params: byId,
    data: ApiKeySecret,
    errors: [404],
    async answer({ params, principal }, { keys }) {
      mayGrant(principal, (await keys.get(params.id)).permissions);
      const { key, secret } = await keys.rotate(params.id);
      return { apiKey: view(key), key: secret };
    },
  }),
  action('POST /api-keys/{id}/revoke', 'Revoke Admin API Key', {
    params: byId,
    data: ApiKey,
    errors: [404],
    answer: async ({ params }, { keys }) => view(await keys.revoke(params.id)),
  }),
  report('GET /api-keys/{id}/effective-permissions', 'Get Admin API Key Effective Permissions', {
    params: byId,
    data: EffectivePermissions,
    errors: [404],
    async answer({ params }, { keys }) {
      const key = await keys.get(params.id);
      const status = keyStatus(key);
      const { id, name, permissions } = key;
      return { id, name, status, permissions, canAuthenticate: status === 'active' };
    },
  }),
]);

/** Throws 400 that names every label which would grant nothing. */
function requireGrants(labels: readonly string[], permissions: ReadonlySet<string>): void {
  const detail = 'is no permission of this server';
  const errors = labels.flatMap((label, n) =>
    isGrant(label, permissions) ? [] : [{ name: `/permissions/${n}`, detail }],
  );
  const [first] = errors;
  if (first) throw new ApiError('invalid-body', `${first.name} ${detail}`, { errors: errors.slice(0, 20) });
}

/** Nobody gives away what they do not hold: a key could otherwise make itself a stronger one. */
function mayGrant(principal: Principal, permissions: readonly string[]): void {
  const beyond = permissions.find((label) => !permits(principal, label));
  if (beyond !== undefined) throw new ApiError('forbidden', `The permission ${beyond} is not yours to give.`);
}

function futureTime({ expiresAt }: Static<typeof CreateApiKey>): number | undefined {
  if (!expiresAt) return undefined;
  const time = Date.parse(expiresAt);
  if (time > Date.now()) return time;
  const detail = 'must be a time in the future';
  throw new ApiError('invalid-body', `/expiresAt ${detail}`, { errors: [{ name: '/expiresAt', detail }] });
}

function actor(principal: Principal): string {
  return `${principal.kind}:${principal.id}`;
}

function view(key: StoredApiKey): Static<typeof ApiKey> {
  return {
    id: key.id,
    name: key.name,
    keyPrefix: key.prefix,
    permissions: key.permissions,
    status: keyStatus(key),
    createdAt: timestamp(key.createdAt),
    createdBy: key.createdBy,
    updatedAt: timestamp(key.updatedAt),
    expiresAt: optionalTimestamp(key.expiresAt),
    lastUsedAt: optionalTimestamp(key.lastUsedAt),
    rotatedAt: optionalTimestamp(key.rotatedAt),
    revokedAt: optionalTimestamp(key.revokedAt),
  };
}
