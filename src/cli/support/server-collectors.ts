import { type ServerTarget, sendTo } from '../running-server.js';
import type { FactCollector } from './collector.js';

const ADMIN = '/api/v1/admin';

/** Collectors that query a running server by its management API. */
export function serverCollectors(target: ServerTarget): FactCollector[] {
  const read = async (path: string): Promise<Record<string, unknown>> => {
    const body = (await (await sendTo(target, `${ADMIN}${path}`)).json()) as Record<string, unknown>;
    return 'data' in body ? (body['data'] as Record<string, unknown>) : body;
  };
  const list = (name: string, path: string, member: string, fields: readonly string[]): FactCollector => ({
    ...{ name, fields },
    collect: async () => (await read(path))[member] as object[],
  });
  const one = (name: string, path: string, fields: readonly string[]): FactCollector => ({
    ...{ name, fields },
    collect: () => read(path),
  });
  return [
    { name: 'probes', fields: ['live', 'ready'], collect: () => readProbes(target) },
    one('serverVersion', '/version', ['version', 'metadataApiVersion', 'serverTime']),
    list('errors', '/observability/errors', 'errors', [
      ...['timestamp', 'statusCode', 'path', 'message', 'correlationId', 'instanceId'],
    ]),
    list('log', '/observability/logs', 'items', [
      ...['timestamp', 'level', 'statusCode', 'message', 'path', 'correlationId', 'instanceId'],
    ]),
    one('telemetry', '/observability/telemetry', ['tracingEnabled', 'otlpConfigured']),
    one('schema', '/observability/migrations', [
      ...['status', 'isReady', 'isFailed', 'planAvailable', 'upgradeRequired', 'pendingScripts'],
      ...['executedButNotDiscoveredScripts', 'message'],
    ]),
    one('secrets', '/configuration/secrets/validate', ['totalSecrets', 'validSecrets', 'invalidSecrets']),
    one('audit', '/observability/audit/verify', [
      ...['verified', 'rowsChecked', 'firstBrokenAuditId', 'failureReason'],
    ]),
  ];
}

async function readProbes({ url = 'http://localhost:8080' }: ServerTarget): Promise<object> {
  const probe = async (name: string) =>
    (await fetch(`${url.replace(/\/$/, '')}/healthz/${name}`, { signal: AbortSignal.timeout(10_000) }))
      .status;
  return { live: await probe('live'), ready: await probe('ready') };
}
