import Type from 'typebox';
import { withDeadline } from '../../../services/kit/deadline.js';
import { Observer } from '../../../services/observability/observer.js';
import { OptionalStringSchema, TimestampSchema, timestamp } from '../../admin/envelope.js';
import { createRowBuilders, group } from '../../admin/kit.js';
import { MissingInstances } from './missing-instances.js';

const SERVICES = ['observer', 'config', 'state'] as const;
const { report } = createRowBuilders(SERVICES);

const S = Type.String();
const I = Type.Integer();
const B = Type.Boolean();
const Names = Type.Array(S);
const NO_REQUEST = '-';

/** Failed requests, log lines, telemetry and the schema of the state. */
export const observability = group({ tag: 'Observability', scope: 'observability', envelope: 'raw' }, [
  report('GET /observability/errors', 'Get Recent Errors', {
    description:
      'Requests with a status of 429 or of 5xx other than 501, newest first, of all processes. They are kept in memory. Each class of errors has separate places.',
    data: Type.Object({
      capacity: I,
      errors: Type.Array(
        Type.Object({
          timestamp: TimestampSchema,
          statusCode: I,
          path: S,
          message: S,
          correlationId: S,
          actor: Type.String({ description: 'Id of the caller.' }),
          remoteIp: S,
          instanceId: S,
        }),
      ),
      missingInstances: MissingInstances,
    }),
    async answer(_x, { observer }) {
      const { items, missing } = await observer.failures();
      return {
        capacity: Observer.failedCapacity,
        errors: items.map(({ at, instance, ...error }) => ({
          ...{ timestamp: timestamp(at), ...error, instanceId: instance },
        })),
        missingInstances: missing,
      };
    },
  }),
  report('GET /observability/logs', 'List Recent Server Logs', {
    description:
      'Log lines of the levels Warning and Error, newest first, of all processes. They are kept in memory, whatever the level of the log.',
    data: Type.Object({
      instanceId: S,
      capacity: I,
      items: Type.Array(
        Type.Object({
          timestamp: TimestampSchema,
          level: Type.Enum(['warning', 'error']),
          statusCode: Type.Integer({ description: '0 if the line is not about a request.' }),
          message: S,
          path: OptionalStringSchema,
          correlationId: Type.String({
            description: `\`${NO_REQUEST}\` if the line is not about a request.`,
          }),
          instanceId: S,
        }),
      ),
      missingInstances: MissingInstances,
    }),
    async answer(_x, { observer }) {
      const { items, missing } = await observer.lines();
      return {
        instanceId: observer.instance,
        capacity: Observer.lineCapacity,
        items: items.map(({ at, instance, path, correlationId, level, statusCode, message }) => ({
          ...{ timestamp: timestamp(at), level, statusCode, message, path: path ?? null },
          ...{ correlationId: correlationId ?? NO_REQUEST, instanceId: instance },
        })),
        missingInstances: missing,
      };
    },
  }),
  report('GET /observability/telemetry', 'Get Telemetry Status', {
    data: Type.Object({ tracingEnabled: B, otlpConfigured: B, otlpEndpoint: OptionalStringSchema }),
    answer(_x, { config }) {
      const { value } = config.settings.find(({ path }) => path === 'observability.otlpEndpoint') ?? {};
      const isConfigured = typeof value === 'string' && value !== '';
      return {
        tracingEnabled: isConfigured,
        otlpConfigured: isConfigured,
        otlpEndpoint: isConfigured ? withoutSecrets(value) : null,
      };
    },
  }),
  report('GET /observability/migrations', 'Get Migration Status', {
    description:
      'Steps of the schema of the state. `current`: the state has the steps of this release. `ahead`: it also has steps of a newer release. `pending`: steps are missing. `unknown`: the state did not respond.',
    data: Type.Object({
      status: Type.Enum(['current', 'ahead', 'pending', 'unknown']),
      isReady: B,
      isFailed: B,
      planAvailable: B,
      upgradeRequired: B,
      pendingScripts: Names,
      executedButNotDiscoveredScripts: Names,
      planError: OptionalStringSchema,
      message: OptionalStringSchema,
      generatedAt: TimestampSchema,
    }),
    async answer(_x, { state }) {
      return { ...(await readMigrations(state)), generatedAt: new Date().toISOString() };
    },
  }),
]);

/** An endpoint without its user, password and query, which can have keys. */
function withoutSecrets(endpoint: string): string {
  if (!URL.canParse(endpoint)) return '***';
  const url = new URL(endpoint);
  return `${url.origin}${url.pathname === '/' ? '' : url.pathname}`;
}

/** Milliseconds that the state has for its steps. */
const PATIENCE_MS = 2000;

type Steps = { readonly pending: readonly string[]; readonly later: readonly string[] };

export async function readMigrations(state: { migrationSteps(): Promise<Steps> }) {
  const none = { pendingScripts: [], executedButNotDiscoveredScripts: [], planError: null, message: null };
  let steps: Steps;
  try {
    steps = await withDeadline(
      state.migrationSteps(),
      PATIENCE_MS,
      'The state did not respond within 2 seconds.',
    );
  } catch (error) {
    const planError = (error as Error).message;
    const about = { isReady: false, isFailed: true, planAvailable: false, upgradeRequired: false };
    return { status: 'unknown' as const, ...about, ...none, planError };
  }
  const { pending, later } = steps;
  const status = pending.length > 0 ? 'pending' : later.length > 0 ? 'ahead' : 'current';
  const isAhead = status === 'ahead';
  return {
    status,
    isReady: pending.length === 0,
    isFailed: false,
    planAvailable: true,
    upgradeRequired: pending.length > 0,
    ...none,
    pendingScripts: [...pending],
    executedButNotDiscoveredScripts: [...later],
    message: isAhead
      ? 'A newer release shares the state. Upgrade this server to use the same release.'
      : null,
  };
}
