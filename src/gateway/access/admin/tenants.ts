import Type, { type Static } from 'typebox';
import type { Tenant, TenantStatus } from '../../../core/access/rate-limits.js';
import { formatActor, type Principal } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { isTenantHolder, requireTenantHolder } from '../../../services/access/rules/restrictions.js';
import type { StoredDocument } from '../../../stores/state/documents.js';
import type { ServicesOf } from '../../admin/deps.js';
import {
  OptionalStringSchema,
  OptionalTimestampSchema,
  TimestampSchema,
  timestamp,
} from '../../admin/envelope.js';
import { createRowBuilders, group, jsonBody, resource } from '../../admin/kit.js';
import { NAME_SCHEMA } from '../../admin/rule-schemas.js';
import { recordExport } from '../../http/recorded-export.js';

const SERVICES = ['tenants'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action, implement, report } = createRowBuilders(SERVICES);

const TenantSchema = Type.Object({
  tenantId: Type.String(),
  displayName: Type.String(),
  plan: OptionalStringSchema,
  status: Type.Enum(['Active', 'Suspended', 'Deleted']),
  createdAt: TimestampSchema,
  updatedAt: TimestampSchema,
  suspendedAt: OptionalTimestampSchema,
  deletedAt: OptionalTimestampSchema,
  layers: Type.Union([Type.Array(Type.String()), Type.Null()]),
  requestsPerDay: Type.Union([Type.Integer(), Type.Null()]),
});

const NewTenant = Type.Object({
  tenantId: Type.String({ pattern: '^[\\w.-]{1,100}$' }),
  displayName: Type.Optional(NAME_SCHEMA),
  plan: Type.Optional(Type.Union([NAME_SCHEMA, Type.Null()])),
  layers: Type.Optional(
    Type.Array(NAME_SCHEMA, {
      maxItems: 10_000,
      description:
        'Ids or numbers of the collections that callers of the tenant can see. Default: all collections.',
    }),
  ),
  requestsPerDay: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 1_000_000_000_000,
      description: 'Maximum number of requests of its callers in a UTC day. Default: no limit.',
    }),
  ),
});

const Usage = Type.Object({
  records: Type.Array(
    Type.Object({
      tenantId: Type.String(),
      requestCount: Type.Integer(),
      capturedAt: TimestampSchema,
      day: Type.String({ format: 'date' }),
    }),
  ),
});

const byId = { tenantId: pathString('tenantId', 'Id of the tenant.') };

const REFUSED = 'Callers of the tenant are refused once this is answered.';

/** The operation that brings a tenant into a status. */
function becoming(status: TenantStatus, description?: string) {
  return {
    ...(description === undefined ? {} : { description }),
    params: byId,
    data: TenantSchema,
    errors: [404, 409] as const,
    answer: async (
      { params, principal }: { params: { tenantId: string }; principal: Principal },
      deps: Deps,
    ) => view(await deps.tenants.become(params.tenantId, status, formatActor(principal))),
  };
}

/** Tenants and their use. */
export const tenants = group({ tag: 'Tenants', scope: 'tenants', envelope: 'wrapped' }, [
  ...resource(
    '/tenants/{tenantId}',
    { list: 'List Tenants', create: 'Create Tenant', get: 'Get Tenant', remove: 'Delete Tenant' },
    {
      list: implement({
        data: Type.Array(TenantSchema),
        isForTenants: true,
        answer: async ({ principal: { tenantId } }, deps) =>
          (await deps.tenants.list()).filter(({ id }) => tenantId === undefined || id === tenantId).map(view),
      }),
      create: implement({
        body: jsonBody(NewTenant),
        data: TenantSchema,
        status: 201,
        errors: [400, 409],
        location: ({ tenantId }: TenantView) => `/tenants/${tenantId}`,
        answer: async ({ body, principal }, deps) =>
          view(await deps.tenants.create(body, formatActor(principal))),
      }),
      get: implement({
        params: byId,
        data: TenantSchema,
        errors: [404],
        isForTenants: true,
        async answer({ params: { tenantId }, principal }, deps) {
          requireTenantHolder(principal, { tenantId }, 'tenant', tenantId);
          return view(await deps.tenants.get(tenantId));
        },
      }),
      remove: implement(becoming('Deleted', `${REFUSED} A deleted tenant stays deleted.`)),
    },
  ),
  report('GET /tenants/usage', 'Export Tenant Billing Usage', {
    data: Usage,
    isForTenants: true,
    exports: true,
    async answer(x, deps) {
      const { principal } = x;
      const usages = (await deps.tenants.usages()).filter((one) => isTenantHolder(principal, one));
      const records = usages.map(({ tenantId, day, requests, countedAt }) => ({
        tenantId,
        requestCount: requests,
        capturedAt: timestamp(countedAt),
        day,
      }));
      recordExport(x, { format: 'json', filter: null, count: records.length });
      return { records };
    },
  }),
  action('POST /tenants/{tenantId}/suspend', 'Suspend Tenant', becoming('Suspended', REFUSED)),
  action('POST /tenants/{tenantId}/resume', 'Resume Tenant', becoming('Active')),
]);

type TenantView = Static<typeof TenantSchema>;

function view({ id, body, createdAt, updatedAt }: StoredDocument<Tenant>): TenantView {
  const { layers, requestsPerDay = null, ...rest } = body;
  return {
    tenantId: id,
    ...rest,
    layers: layers ? [...layers] : null,
    requestsPerDay,
    createdAt: timestamp(createdAt),
    updatedAt: timestamp(updatedAt),
  };
}
