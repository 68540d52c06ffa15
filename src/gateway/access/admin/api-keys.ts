import Type, { type Static } from 'typebox';
import { formatActor, type Principal } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { buildKeyIdentity, buildPrincipal } from '../../../services/access/identity/identity.js';
import { type ApiKeys, keyStatus } from '../../../services/access/keys/api-keys.js';
import { requireHeld } from '../../../services/access/permissions.js';
import {
  buildHolder,
  isTenantHolder,
  requireBound,
  requireTenantHolder,
} from '../../../services/access/rules/restrictions.js';
import type { StoredApiKey } from '../../../stores/access/api-keys.js';
import { createRowBuilders, group, jsonBody } from '../../admin/kit.js';
import { ExpiresAt, formatKeyTimes, KEY_MEMBERS, KeyStatus, parseKeyExpiry, Secret } from './key-schemas.js';

const SERVICES = ['keys', 'rules'] as const;
const { action, report } = createRowBuilders(SERVICES);

const Permissions = Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: 200 });

const ApiKey = Type.Object({ ...KEY_MEMBERS, permissions: Permissions });
const ApiKeySecret = Type.Object({ apiKey: ApiKey, key: Secret });

const CreateApiKey = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 200 }),
  permissions: Type.Optional(Permissions),
  expiresAt: ExpiresAt,
});

const EffectivePermissions = Type.Object({
  id: Type.String({ format: 'uuid' }),
  name: Type.String(),
  status: KeyStatus,
  permissions: Type.Array(Type.String()),
  canAuthenticate: Type.Boolean(),
});

const byId = { id: pathString('id', 'Id of the key.') };

/** Keys that programs authenticate with. */
export const apiKeys = group(
  { tag: 'API keys', scope: 'api-keys', envelope: 'wrapped', isForTenants: true },
  [
    report('GET /api-keys', 'List Admin API Keys', {
      data: Type.Array(ApiKey),
      answer: async ({ principal }, { keys }) =>
        (await keys.list())
          .filter(({ permissions }) => isTenantHolder(principal, buildHolder(permissions)))
          .map(view),
    }),
    action('POST /api-keys', 'Create Admin API Key', {
      description: 'Labels are free text. A label that no operation requires has no effect.',
      body: jsonBody(CreateApiKey),
      data: ApiKeySecret,
      status: 201,
      errors: [400],
      async answer({ body, principal }, { keys, rules }) {
        requireHeld(principal, body.permissions ?? []);
        requireBound(principal, buildHolder(body.permissions ?? []), rules.current);
        const { name, permissions: labels = [] } = body;
        const newKey = { name, permissions: labels, expiresAt: parseKeyExpiry(body) ?? undefined };
        const { key, secret } = await keys.create(newKey, formatActor(principal));
        return { apiKey: view(key), key: secret };
      },
    }),
    action('POST /api-keys/{id}/rotate', 'Rotate Admin API Key', {
      params: byId,
      data: ApiKeySecret,
      errors: [404],
      async answer({ params, principal }, { keys, rules }) {
        const { permissions } = await keyFor(params.id, principal, keys);
        requireHeld(principal, permissions);
        requireBound(principal, buildHolder(permissions), rules.current);
        const { key, secret } = await keys.rotate(params.id);
        return { apiKey: view(key), key: secret };
      },
    }),
    action('POST /api-keys/{id}/revoke', 'Revoke Admin API Key', {
      params: byId,
      data: ApiKey,
      errors: [404],
      async answer({ params, principal }, { keys }) {
        const { permissions } = await keyFor(params.id, principal, keys);
        requireHeld(principal, permissions);
        return view(await keys.revoke(params.id));
      },
    }),
    report('GET /api-keys/{id}/effective-permissions', 'Get Admin API Key Effective Permissions', {
      description: 'Labels of the key and labels from its roles.',
      params: byId,
      data: EffectivePermissions,
      errors: [404],
      async answer({ params, principal }, { keys, rules }) {
        const key = await keyFor(params.id, principal, keys);
        const status = keyStatus(key);
        const { id, name } = key;
        const permissions = [...buildPrincipal(buildKeyIdentity(key), rules.current).permissions];
        return { id, name, status, permissions, canAuthenticate: status === 'active' };
      },
    }),
  ],
);

/** Throws `not-found`, also for a key of another tenant. */
async function keyFor(id: string, principal: Principal, keys: Pick<ApiKeys, 'get'>): Promise<StoredApiKey> {
  const key = await keys.get(id);
  requireTenantHolder(principal, buildHolder(key.permissions), 'API key', id);
  return key;
}

function view(key: StoredApiKey): Static<typeof ApiKey> {
  const { id, name, prefix, permissions, createdBy } = key;
  return {
    id,
    name,
    keyPrefix: prefix,
    permissions,
    status: keyStatus(key),
    createdBy,
    ...formatKeyTimes(key),
  };
}
