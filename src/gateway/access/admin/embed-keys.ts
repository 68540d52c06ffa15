import Type, { type Static } from 'typebox';
import {
  EMBED_EVENTS,
  EMBED_GROUPS,
  type EmbedGroup,
  type EmbedScope,
} from '../../../core/access/embed-keys.js';
import { problem, requireSound } from '../../../core/http/body-problems.js';
import { formatActor, type Principal } from '../../../core/http/operation.js';
import { defineTextParam, pathString } from '../../../core/http/params.js';
import { keyStatus } from '../../../services/access/keys/api-keys.js';
import type { EmbedKeys, StoredEmbedKey } from '../../../services/access/keys/embed-keys.js';
import { requireHeld } from '../../../services/access/permissions.js';
import {
  isTenantHolder,
  requireBound,
  requireTenantHolder,
} from '../../../services/access/rules/restrictions.js';
import { listViews } from '../../admin/documents.js';
import { tagged } from '../../admin/entity-tags.js';
import { OptionalStringSchema } from '../../admin/envelope.js';
import { createRowBuilders, group, jsonBody, resource } from '../../admin/kit.js';
import { enumeration } from '../../admin/params.js';
import { NAME_SCHEMA } from '../../admin/rule-schemas.js';
import { ExpiresAt, formatKeyTimes, KEY_MEMBERS, parseKeyExpiry, Secret } from './key-schemas.js';

const SERVICES = ['embedKeys', 'rules'] as const;
const { action, implement, report } = createRowBuilders(SERVICES);

const Names = Type.Array(NAME_SCHEMA, { maxItems: 1000 });
const ScopeSchema = Type.Object({
  allowedEmbedOrigins: Names,
  allowedServiceOrigins: Names,
  allowedContentIds: Names,
  edition: OptionalStringSchema,
  tenantId: OptionalStringSchema,
  integrationId: OptionalStringSchema,
  rateLimitRequestsPerWindow: Type.Integer({ minimum: 0 }),
  rateLimitWindowSeconds: Type.Integer({ minimum: 1, maximum: 86_400 }),
});
const NewScope = Type.Object({
  ...Type.Partial(ScopeSchema).properties,
  allowedEmbedOrigins: Type.Array(NAME_SCHEMA, { minItems: 1, maxItems: 1000 }),
});

const KeySchema = Type.Object({ ...KEY_MEMBERS, scope: ScopeSchema });
const IssuedKey = Type.Object({ embedKey: KeySchema, key: Secret });
const NewKey = Type.Object({ name: NAME_SCHEMA, scope: NewScope, expiresAt: ExpiresAt });
const Usage = Type.Object({
  groupBy: Type.Enum([...EMBED_GROUPS]),
  total: Type.Integer(),
  aggregates: Type.Array(Type.Object({ key: Type.String(), count: Type.Integer() })),
});

const byId = { id: pathString('id', 'Id of the embed key.') };
const member = (name: string) =>
  defineTextParam(name, { description: `Only uses of this ${name.replace(/Id$/, '')}.` }, { maxLength: 200 });

/** Keys that web pages embed, and their use. */
export const embedKeys = group(
  { tag: 'Embed keys', scope: 'embed-keys', envelope: 'wrapped', isForTenants: true },
  [
    ...resource(
      '/embed/keys/{id}',
      { list: 'List Embed Keys', create: 'Create Embed Key', get: 'Get Embed Key' },
      {
        list: implement({
          data: Type.Array(KeySchema),
          answer({ principal }, { embedKeys: keys }) {
            const own = keys
              .list()
              .then((all) => all.filter(({ body }) => isTenantHolder(principal, body.scope)));
            return listViews(own, keys.lastUses(), view);
          },
        }),
        create: implement({
          body: jsonBody(NewKey),
          data: IssuedKey,
          status: 201,
          errors: [400],
          location: ({ embedKey }: Static<typeof IssuedKey>) => `/embed/keys/${embedKey.id}`,
          async answer({ body, principal }, deps) {
            const scope = readScope(body.scope);
            requireSound(scope.allowedEmbedOrigins.map(originProblem));
            // A page is given no more than its owner may read.
            requireHeld(principal, contentLabels(scope));
            requireBound(principal, { ...principal, tenantId: scope.tenantId }, deps.rules.current);
            const newKey = { name: body.name, scope, expiresAt: parseKeyExpiry(body) };
            const { key, secret } = await deps.embedKeys.create(newKey, formatActor(principal));
            return tagged({ embedKey: view(key), key: secret }, key.etag);
          },
        }),
        get: implement({
          params: byId,
          data: KeySchema,
          errors: [404],
          answer: async ({ params: { id }, principal }, { embedKeys: keys }) =>
            view(await keyFor(id, principal, keys), (await keys.lastUses()).get(id)),
        }),
      },
    ),
    action('POST /embed/keys/{id}/rotate', 'Rotate Embed Key', {
      params: byId,
      data: IssuedKey,
      errors: [404],
      async answer({ params: { id }, principal }, { embedKeys: keys, rules }) {
        const { scope } = (await keyFor(id, principal, keys)).body;
        requireHeld(principal, contentLabels(scope));
        requireBound(principal, { ...principal, tenantId: scope.tenantId }, rules.current);
        const { key, secret } = await keys.rotate(id, formatActor(principal));
        return { embedKey: view(key, (await keys.lastUses()).get(id)), key: secret };
      },
    }),
    action('POST /embed/keys/{id}/revoke', 'Revoke Embed Key', {
      params: byId,
      data: KeySchema,
      errors: [404],
      async answer({ params: { id }, principal }, { embedKeys: keys }) {
        requireHeld(principal, contentLabels((await keyFor(id, principal, keys)).body.scope));
        return view(await keys.revoke(id, formatActor(principal)), (await keys.lastUses()).get(id));
      },
    }),
    report('GET /embed/usage', 'Query Embed Usage', {
      params: {
        groupBy: enumeration('groupBy', EMBED_GROUPS, 'What uses are summed by. Default: eventType.'),
        eventType: enumeration('eventType', EMBED_EVENTS, 'Only uses of this kind.'),
        integrationId: member('integrationId'),
        tenantId: member('tenantId'),
        origin: member('origin'),
        serviceId: member('serviceId'),
        layerId: member('layerId'),
      },
      data: Usage,
      errors: [400],
      async answer({ params, principal: { tenantId = params.tenantId } }, deps) {
        const groupBy: EmbedGroup = params.groupBy ?? 'eventType';
        const where = {
          ...(params.eventType === undefined ? {} : { eventType: params.eventType }),
          ...(params.integrationId === undefined ? {} : { integration: params.integrationId }),
          ...(tenantId === undefined ? {} : { tenant: tenantId }),
          ...(params.origin === undefined ? {} : { origin: params.origin }),
          ...(params.serviceId === undefined ? {} : { service: params.serviceId }),
          ...(params.layerId === undefined ? {} : { layer: params.layerId }),
        };
        const aggregates = await deps.embedKeys.uses(groupBy, where);
        return { groupBy, total: aggregates.reduce((sum, { count }) => sum + count, 0), aggregates };
      },
    }),
  ],
);

/** Labels of the layers that a key shows. */
const contentLabels = ({ allowedContentIds }: Pick<EmbedScope, 'allowedContentIds'>) =>
  allowedContentIds.map((id) => `read:default/${id}`);

/** Throws `not-found`, also for a key of another tenant. */
async function keyFor(
  id: string,
  principal: Principal,
  keys: Pick<EmbedKeys, 'get'>,
): Promise<StoredEmbedKey> {
  const key = await keys.get(id);
  requireTenantHolder(principal, key.body.scope, 'embed key', id);
  return key;
}

function originProblem(origin: string, n: number) {
  const isOrigin = URL.canParse(origin) && new URL(origin).origin === origin;
  return isOrigin
    ? undefined
    : problem(`scope/allowedEmbedOrigins/${n}`, 'must be an origin, for example https://example.org');
}

function readScope(scope: Static<typeof NewScope>): EmbedScope {
  return {
    allowedEmbedOrigins: scope.allowedEmbedOrigins,
    allowedServiceOrigins: scope.allowedServiceOrigins ?? [],
    allowedContentIds: scope.allowedContentIds ?? [],
    edition: scope.edition ?? null,
    tenantId: scope.tenantId ?? null,
    integrationId: scope.integrationId ?? null,
    rateLimitRequestsPerWindow: scope.rateLimitRequestsPerWindow ?? 0,
    rateLimitWindowSeconds: scope.rateLimitWindowSeconds ?? 60,
  };
}

function view(key: StoredEmbedKey, lastUsedAt: number | null = null): Static<typeof KeySchema> {
  const { id, etag, body, createdAt, createdBy, updatedAt } = key;
  const { name, prefix, scope } = body;
  const members = {
    id,
    name,
    keyPrefix: prefix,
    scope: scope as Static<typeof ScopeSchema>,
    status: keyStatus(body),
    createdBy,
    ...formatKeyTimes({ ...body, createdAt, updatedAt, lastUsedAt }),
  };
  return tagged(members, etag);
}
