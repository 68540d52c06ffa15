import type { ServicesOf } from '../../admin/deps.js';
import { timestamp } from '../../admin/envelope.js';
import { readMigrations } from '../../observability/admin/observability.js';
import { describeDeploy } from '../../observability/admin/ops-health.js';

export const PREFLIGHT_SERVICES = [
  'deployments',
  'observer',
  'opsHealth',
  'releases',
  'server',
  'state',
] as const;
export type PreflightDeps = ServicesOf<typeof PREFLIGHT_SERVICES>;

type Health = Awaited<ReturnType<PreflightDeps['opsHealth']['snapshot']>>;

/** Condition of the servers and of their state before another release. */
export async function describePreflight(withDiagnostics: boolean, deps: PreflightDeps) {
  const health = await deps.opsHealth.snapshot();
  const { status, readyForCoordinatedDeploy } = describeDeploy(health);
  const message = readyForCoordinatedDeploy ? 'The servers are ready.' : listObstacles(health).join(' ');
  const preflight = { status, readyForCoordinatedDeploy, message, generatedAt: timestamp(Date.now()) };
  return withDiagnostics ? { ...preflight, ...(await readDiagnostics(health, message, deps)) } : preflight;
}

function listObstacles({ deploy, missing, status, entries }: Health): string[] {
  const reasons: string[] = [];
  if (!deploy) reasons.push('The state did not respond.');
  if (deploy && deploy.pendingMigrations > 0)
    reasons.push(`The schema of the state lacks ${deploy.pendingMigrations} steps.`);
  if (deploy && deploy.skewed.length > 0)
    reasons.push(`${deploy.skewed.length} processes run another release than ${deploy.release}.`);
  if (missing.length > 0) reasons.push(`${missing.length} processes did not respond.`);
  const failed = entries.filter((entry) => entry.status === 'Unhealthy').map(({ name }) => name);
  if (status === 'Unhealthy') reasons.push(`Unhealthy: ${failed.join(', ')}.`);
  return reasons;
}

async function readDiagnostics(health: Health, message: string, deps: PreflightDeps) {
  const { status: lifecycleStatus, isReady: _, isFailed: __, ...steps } = await readMigrations(deps.state);
  const isReady = health.status !== 'Unhealthy';
  return {
    serverVersion: deps.server.version,
    environment: deps.releases.environment,
    deploymentMode: process.env['KUBERNETES_SERVICE_HOST'] === undefined ? 'servers' : 'kubernetes',
    instanceName: deps.observer.instance,
    readiness: { isReady, statusCode: isReady ? 200 : 503, message },
    migration: { lifecycleStatus, ...steps },
    databaseCompatibility: await readCompatibility(deps.state, lifecycleStatus === 'current'),
  };
}

/** The database of the state. Databases of layers have their own checks. */
async function readCompatibility(state: PreflightDeps['state'], hasAllSteps: boolean) {
  try {
    const { version, extensions } = await state.describeEngine();
    return {
      isCompatible: hasAllSteps,
      engineVersion: version,
      postGisVersion: extensions.get('postgis') ?? null,
      postGisRasterVersion: extensions.get('postgis_raster') ?? null,
      installedExtensions: [...extensions.keys()],
      ...{ warnings: [], errorMessage: null },
    };
  } catch (error) {
    return {
      ...{ isCompatible: false, engineVersion: 'unknown', postGisVersion: null, postGisRasterVersion: null },
      ...{ installedExtensions: [], warnings: [], errorMessage: (error as Error).message },
    };
  }
}
