import Type from 'typebox';
import { RATE_SCOPES } from '../../../core/access/rate-limits.js';
import { badParameter, notFound } from '../../../core/errors/errors.js';
import type { Param } from '../../../core/http/operation.js';
import { LONGEST_WINDOW_S, RATE_LIMIT_KIND } from '../../../services/access/rate-limits.js';
import { documents } from '../../admin/documents.js';
import { TimestampSchema, timestamp } from '../../admin/envelope.js';
import { createRowBuilders, group, resource } from '../../admin/kit.js';
import { NAME_SCHEMA } from '../../admin/rule-schemas.js';

const SERVICES = ['limits'] as const;
const { report } = createRowBuilders(SERVICES);

const Requests = Type.Integer({ minimum: 1, maximum: 1_000_000_000 });
const Seconds = Type.Number({ minimum: 0.001, maximum: LONGEST_WINDOW_S });

const PolicySchema = Type.Object({
  name: Type.String(),
  scope: Type.Enum([...RATE_SCOPES]),
  key: Type.String(),
  requestsPerWindow: Requests,
  windowDurationSeconds: Seconds,
  enabled: Type.Boolean(),
});

const NewPolicy = Type.Object({
  name: NAME_SCHEMA,
  scope: Type.Enum([...RATE_SCOPES]),
  key: {
    ...NAME_SCHEMA,
    description:
      'Name of a plan, id of a tenant, of a key or user, id or path prefix of operations, address; * gives each its own limit.',
  },
  requestsPerWindow: Requests,
  windowDurationSeconds: Seconds,
  enabled: Type.Optional(Type.Boolean()),
});

const Status = Type.Object({
  key: Type.String(),
  policyId: Type.String(),
  requestsConsumed: Type.Integer(),
  requestsRemaining: Type.Integer(),
  windowResetsAt: TimestampSchema,
});

const key: Param<string> = {
  name: 'key',
  in: 'query',
  description: 'The key of a policy, or one that a policy for * counts.',
  required: true,
  schema: Type.String({ minLength: 1, maxLength: 200 }),
  parse(raw) {
    if (raw === undefined || raw === '')
      throw badParameter('key', 'is required. Send the key of a policy, or one that a policy for * counts');
    if (raw.length > 200) throw badParameter('key', 'must have at most 200 characters');
    return raw;
  },
};

/** Limits on the number of requests. */
export const rateLimits = group({ tag: 'Rate limits', scope: 'rate-limits', envelope: 'wrapped' }, [
  ...resource(
    '/rate-limits/{id}',
    {
      list: 'List Rate Limit Policies',
      create: 'Create Rate Limit Policy',
      get: 'Get Rate Limit Policy',
      update: 'Update Rate Limit Policy',
      remove: 'Delete Rate Limit Policy',
    },
    documents('/rate-limits', {
      kind: RATE_LIMIT_KIND,
      param: 'id',
      idMember: 'policyId',
      isRule: true,
      services: [],
      create: NewPolicy,
      update: Type.Object({
        name: Type.Optional(NAME_SCHEMA),
        requestsPerWindow: Type.Optional(Requests),
        windowDurationSeconds: Type.Optional(Seconds),
        enabled: Type.Optional(Type.Boolean()),
      }),
      body: PolicySchema,
      make: ({ enabled = true, ...policy }) => ({ ...policy, enabled }),
      change: (policy, change) => ({ ...policy, ...change }),
    }),
  ),
  report('GET /rate-limits/status', 'Get Rate Limit Status', {
    params: { key },
    data: Status,
    errors: [400, 404],
    async answer({ params: { key } }, { limits }) {
      const status = await limits.status(key);
      if (!status) throw notFound('rate limit', key);
      const { limit, left } = status;
      const { requestsPerWindow: most, windowDurationSeconds: window } = limit.policy;
      const remaining = Math.floor(left);
      return {
        key,
        policyId: limit.id,
        requestsConsumed: most - remaining,
        requestsRemaining: remaining,
        windowResetsAt: timestamp(Date.now() + ((most - left) / most) * window * 1000),
      };
    },
  }),
]);
