import type { PoolStatus } from '../../../core/tasks/tasks.js';
import { withDeadline } from '../../kit/deadline.js';

export interface ReadinessDeps {
  poolStatus(): PoolStatus[];
  /** Resolves when the state database responds. */
  pingState(): Promise<void>;
  /** Problems that prevent writes to the data folder from being stored. */
  dataFolder(): { lost?: string; full?: string };
  /** Resolves within `patienceMs`. Default: two seconds. */
  databaseStatus(patienceMs?: number): Promise<DatabaseCondition[]>;
  /** Stores with the milliseconds for which their events could not be read; 0 if they can be read. */
  outboxStatus(): { name: string; failingMs: number }[];
}

interface DatabaseCondition {
  name: string;
  up: boolean;
  /** Whether it does not respond now. A single late response is not a failure. */
  isLate: boolean;
  published: boolean;
  reason: string;
}

/** A part that must work before the server receives traffic. */
export interface ReadinessCheck {
  readonly name: string;
  readonly healthy: boolean;
  /** Whether it takes long, but has not failed. */
  readonly isLate?: boolean;
  readonly detail?: string;
  readonly durationMs: number;
}

const TIMEOUT_MS = 2000;
const OUTBOX_SILENCE_MS = 60_000;

/**
 * Checks the services that must respond before the server receives traffic. Catalog problems are not included:
 * unreadable sources are skipped. Resolves within `timeoutMs`.
 */
export async function checkReadiness(deps: ReadinessDeps, timeoutMs = TIMEOUT_MS): Promise<ReadinessCheck[]> {
  const [state, databases] = await Promise.all([
    checkState(deps, timeoutMs),
    checkDatabases(deps, timeoutMs),
  ]);
  const pools = deps.poolStatus().map(({ name, healthy }) => buildCheck(`pool:${name}`, { healthy }));
  return [state, ...checkFolder(deps), ...pools, ...databases, checkOutboxes(deps)];
}

function buildCheck(
  name: string,
  facts: { healthy: boolean; isLate?: boolean; detail?: string | undefined; durationMs?: number },
): ReadinessCheck {
  const { healthy, isLate = false, detail, durationMs = 0 } = facts;
  return { name, healthy, isLate, durationMs, ...(detail === undefined ? {} : { detail }) };
}

function checkFolder(deps: ReadinessDeps): ReadinessCheck[] {
  const started = performance.now();
  const { lost, full } = deps.dataFolder();
  const durationMs = performance.now() - started;
  return [
    buildCheck('data-folder', { healthy: lost === undefined, detail: lost, durationMs }),
    buildCheck('disk', { healthy: full === undefined, detail: full }),
  ];
}

/** A single failure is tolerated. If an outbox cannot be read for long, its subscribers receive no events. */
function checkOutboxes(deps: ReadinessDeps): ReadinessCheck {
  const silent = deps.outboxStatus().filter(({ failingMs }) => failingMs > OUTBOX_SILENCE_MS);
  if (silent.length === 0) return buildCheck('feature-change-outbox', { healthy: true });
  const stores = silent.map(({ name }) => name).join(', ');
  return buildCheck('feature-change-outbox', { healthy: false, detail: `events are not read: ${stores}` });
}

/** Only databases with collections count: one that was down from the start is quarantined. */
async function checkDatabases(deps: ReadinessDeps, timeoutMs: number): Promise<ReadinessCheck[]> {
  const started = performance.now();
  const published = (await deps.databaseStatus(timeoutMs)).filter((database) => database.published);
  const durationMs = performance.now() - started;
  return published.map(({ name, up, isLate, reason }) => {
    const detail = up ? (isLate ? 'does not respond' : undefined) : reason;
    return buildCheck(`database:${name}`, { healthy: up, isLate, detail, durationMs });
  });
}

async function checkState(deps: ReadinessDeps, timeoutMs: number): Promise<ReadinessCheck> {
  const started = performance.now();
  const build = (healthy: boolean, detail?: string) =>
    buildCheck('state-database', { healthy, detail, durationMs: performance.now() - started });
  try {
    await withDeadline(deps.pingState(), timeoutMs, 'timed out');
    return build(true);
  } catch (error) {
    return build(false, (error as Error).message);
  }
}
