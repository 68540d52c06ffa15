import type { Registry } from 'prom-client';
import { ApiError } from '../../core/errors/errors.js';
import { defineOperation, type Operation } from '../../core/http/operation.js';
import { createTextReply, json } from '../../core/http/reply.js';
import type { PoolStatus } from '../../core/tasks/tasks.js';
import { requireNoTenant } from '../../services/access/rules/restrictions.js';
import { withDeadline } from '../../services/kit/deadline.js';
import type { HostCheck } from '../../services/observability/host-checks.js';
import { exposition } from '../../services/telemetry/metrics.js';
import { databaseQueryDuration } from '../../services/telemetry/store-metrics.js';

export interface ProbeDeps {
  registry: Registry;
  /** Path of the scrape, or undefined when observability is off. */
  metricsPath: string | undefined;
  poolStatus(): PoolStatus[];
  /** Resolves when the state database responds. */
  pingState(): Promise<void>;
  /** Problems that prevent writes to the data folder from being stored. */
  dataFolder(): { lost?: string; full?: string };
  databaseStatus(): Promise<{ name: string; up: boolean; published: boolean; reason: string }[]>;
  /** Milliseconds for which the events of each store could not be read. 0: they can be read. */
  outboxStatus(): { name: string; failingMs: number }[];
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

interface HealthCheck {
  name: string;
  healthy: boolean;
  detail?: string;
}

const COMMON = {
  surface: 'operations',
  method: 'GET',
  permission: 'public',
  tag: 'Probes',
  openQuery: true,
} as const;
const STATE_TIMEOUT_MS = 2000;
const OUTBOX_SILENCE_MS = 60_000;

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
      const failing = (await readinessChecks(deps)).filter((check) => !check.healthy);
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
      const checks = await readinessChecks(deps);
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

/**
 * Services that must respond before the server receives traffic. Catalog problems are not included: unreadable
 * sources are skipped.
 */
async function readinessChecks(deps: ProbeDeps): Promise<HealthCheck[]> {
  const pools = deps
    .poolStatus()
    .map(({ name, healthy }): HealthCheck => ({ name: `pool:${name}`, healthy }));
  const [state, databases] = await Promise.all([stateCheck(deps), databaseChecks(deps)]);
  return [state, ...folderChecks(deps), ...pools, ...databases, outboxCheck(deps)];
}

/** Checks of the machine. A server that fails them can still respond. */
function hostChecks(deps: ProbeDeps): HealthCheck[] {
  return deps.hostChecks().map(({ name, status, description }) => {
    const healthy = status === 'Healthy';
    return { name, healthy, ...(healthy ? {} : { detail: description }) };
  });
}

function folderChecks(deps: ProbeDeps): HealthCheck[] {
  const { lost, full } = deps.dataFolder();
  return [
    { name: 'data-folder', healthy: lost === undefined, ...(lost === undefined ? {} : { detail: lost }) },
    { name: 'disk', healthy: full === undefined, ...(full === undefined ? {} : { detail: full }) },
  ];
}

/** A single failure is tolerated. If an outbox cannot be read for long, its subscribers receive no events. */
function outboxCheck(deps: ProbeDeps): HealthCheck {
  const silent = deps.outboxStatus().filter(({ failingMs }) => failingMs > OUTBOX_SILENCE_MS);
  if (silent.length === 0) return { name: 'feature-change-outbox', healthy: true };
  const stores = silent.map(({ name }) => name).join(', ');
  return { name: 'feature-change-outbox', healthy: false, detail: `events are not read: ${stores}` };
}

/** Only databases with collections count: one that was down from the start is quarantined. */
async function databaseChecks(deps: ProbeDeps): Promise<HealthCheck[]> {
  const published = (await deps.databaseStatus()).filter((database) => database.published);
  return published.map(({ name, up, reason }) => ({
    name: `database:${name}`,
    healthy: up,
    ...(up ? {} : { detail: reason }),
  }));
}

async function stateCheck(deps: ProbeDeps): Promise<HealthCheck> {
  try {
    await withDeadline(deps.pingState(), STATE_TIMEOUT_MS, 'timed out');
    return { name: 'state-database', healthy: true };
  } catch (error) {
    return { name: 'state-database', healthy: false, detail: (error as Error).message };
  }
}
