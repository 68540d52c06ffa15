import type { Registry } from 'prom-client';
import { ApiError } from '../../core/errors/errors.js';
import { defineOperation, type Operation } from '../../core/http/operation.js';
import { createTextReply, json } from '../../core/http/reply.js';
import { requireNoTenant } from '../../services/access/rules/restrictions.js';
import { checkReadiness, type ReadinessDeps } from '../../services/observability/health/readiness.js';
import type { HostCheck } from '../../services/observability/host-checks.js';
import { exposition } from '../../services/telemetry/metrics.js';
import { databaseQueryDuration } from '../../services/telemetry/store-metrics.js';

export interface ProbeDeps extends ReadinessDeps {
  registry: Registry;
  /** Path of the scrape, or undefined when observability is off. */
  metricsPath: string | undefined;
  catalogStatus(): {
    generation: number;
    collections: number;
    quarantined: number;
    /** Warnings about data that is published nevertheless. */
    warnings: { collection: string; warning: string }[];
    /** Sources and layers that are not published, and the reasons. A long list is cut. */
    problems: { source: string; layer?: string; reason: string }[];
  };
  hostChecks(): readonly HostCheck[];
  cacheStatistics(): unknown;
  /** When the catalog was read last, and what for. */
  cacheRefresh(): unknown;
  license(): { validationState: string; activeEntitlements: readonly string[] };
}

const COMMON = {
  surface: 'operations',
  method: 'GET',
  permission: 'public',
  tag: 'Probes',
  openQuery: true,
} as const;

/** Probes, performance snapshot and scrape. */
export function probeOperations(deps: ProbeDeps): Operation[] {
  const live = (path: string, id: string) =>
    defineOperation({
      ...COMMON,
      protocol: 'Health',
      id,
      path,
      summary: 'Liveness',
      quiet: true,
      responses: { 200: { description: 'The process runs', content: { 'text/plain': null } } },
      run: () => ({ ...createTextReply('Healthy'), cacheControl: 'no-store' }),
    });
  const ready = defineOperation({
    ...COMMON,
    protocol: 'Health',
    id: 'operations.ready',
    path: '/healthz/ready',
    summary: 'Readiness',
    quiet: true,
    responses: {
      200: { description: 'Every dependency responds', content: { 'text/plain': null } },
      503: { description: 'A dependency does not respond' },
    },
    async run() {
      const failing = (await checkReadiness(deps)).filter((check) => !check.healthy);
      if (failing.length === 0) return { ...createTextReply('Ready'), cacheControl: 'no-store' };
      const errors = failing.map(({ name, detail }) => ({ name, detail: detail ?? 'does not respond' }));
      throw new ApiError('unavailable', `Not ready: ${failing.map((check) => check.name).join(', ')}.`, {
        errors,
        headers: { 'retry-after': '2' },
      });
    },
  });
  const snapshot = defineOperation({
    ...COMMON,
    protocol: 'Monitoring',
    id: 'operations.snapshot',
    path: '/healthz/metrics',
    summary: 'Performance snapshot',
    permission: 'admin:read',
    responses: { 200: { description: 'Snapshot', content: { 'application/json': null } } },
    async run({ principal }) {
      requireNoTenant(principal);
      const checks = (await checkReadiness(deps)).map(({ name, healthy, detail }) => ({
        ...{ name, healthy },
        ...(detail === undefined ? {} : { detail }),
      }));
      const document = {
        ready: checks.every((check) => check.healthy),
        checks: [...checks, ...hostChecks(deps)],
        pools: deps.poolStatus(),
        catalog: deps.catalogStatus(),
        database: {
          queries: queriesByType(),
          sources: (await deps.databaseStatus()).map(({ name, up, published }) => ({ name, up, published })),
        },
        cache_refresh: deps.cacheRefresh(),
        license: deps.license(),
        tile_cache: deps.cacheStatistics(),
        uptime_seconds: Math.round(process.uptime()),
        generated_at: new Date().toISOString(),
      };
      return json(snakeCased(document));
    },
  });
  const operations = [
    live('/healthz/live', 'operations.live'),
    live('/healthz', 'operations.healthz'),
    live('/health', 'operations.health'),
    ready,
    snapshot,
  ];
  if (deps.metricsPath) operations.push(scrape(deps.metricsPath, deps.registry));
  return operations;
}

function scrape(path: string, registry: Registry): Operation {
  return defineOperation({
    ...COMMON,
    protocol: 'Monitoring',
    id: 'operations.metrics',
    path,
    summary: 'Metrics in Prometheus text exposition',
    permission: 'admin:read',
    responses: { 200: { description: 'Metrics', content: { 'text/plain': null } } },
    async run() {
      return {
        ...createTextReply(await exposition(registry), registry.contentType),
        cacheControl: 'no-store',
      };
    },
  });
}

/** Store queries since the start, by kind. */
function queriesByType() {
  const types: Record<string, { count: number; totalMs: number; meanMs: number }> = {};
  for (const { labels, count, sum } of databaseQueryDuration.samples()) {
    const type = (types[labels['query_type']!] ??= { count: 0, totalMs: 0, meanMs: 0 });
    type.count += count;
    type.totalMs += sum;
    type.meanMs = type.totalMs / type.count;
  }
  return types;
}

/** The same data with names in snake_case, as all of this document has them. */
function snakeCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snakeCased);
  if (value === null || typeof value !== 'object') return value;
  const name = (key: string) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [name(key), snakeCased(member)]));
}

/** Checks of the machine. A server that fails them can still respond. */
function hostChecks(deps: ProbeDeps) {
  return deps.hostChecks().map(({ name, status, description }) => {
    const healthy = status === 'Healthy';
    return { name, healthy, ...(healthy ? {} : { detail: description }) };
  });
}
