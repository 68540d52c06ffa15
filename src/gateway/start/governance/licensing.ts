import type { Config } from '../../../core/config/config.js';
import type { Topology } from '../../../core/licensing/capacity.js';
import { Capacity } from '../../../services/licensing/capacity.js';
import { Licences } from '../../../services/licensing/licences.js';
import { measureServingUnits } from '../../../services/licensing/serving-units.js';
import { StateClock } from '../../../services/observability/latency/state-clock.js';
import { exception } from '../../../services/telemetry/log.js';
import type { Foundation } from '../foundation.js';

export interface LicensingServices {
  readonly licences: Licences;
  readonly capacity: Capacity;
}

const MINUTE_MS = 60_000;

export function createLicensing({ config, state, cluster, log }: Foundation): LicensingServices {
  const { licensing } = config;
  const licences = new Licences({
    config: licensing,
    store: state.licences,
    announcements: cluster.announcements,
    clock: new StateClock(() => state.instances.readTime()),
    log,
    settle: async () => void (await cluster.settle()),
  });
  const capacity = new Capacity({
    ...{ licences, log },
    store: state.capacity,
    instances: state.instances,
    role: licensing.deploymentRole,
    topology: findTopology(config),
    localUnits: measureServingUnits(),
    hasRedis: config.cache.redis.url !== '',
  });
  return { licences, capacity };
}

/** Reads the licence, and measures the capacity every minute. Returns how to stop. */
export async function startLicensing(
  { licences, capacity }: LicensingServices,
  { log }: Pick<Foundation, 'log'>,
): Promise<() => void> {
  await licences.start();
  // Without licensing, an idle server sends no statements.
  if (!licences.enabled) return () => {};
  const look = async () => {
    await licences.look();
    await capacity.meter();
  };
  const timer = setInterval(() => {
    look().catch((error: unknown) => log.write('licence.minute.failed', exception(error)));
  }, MINUTE_MS).unref();
  return () => clearInterval(timer);
}

function findTopology({ state }: Config): Topology {
  if (process.env['AWS_LAMBDA_FUNCTION_NAME'] !== undefined) return 'serverless';
  if (state.url === '') return 'single-node';
  return process.env['KUBERNETES_SERVICE_HOST'] === undefined ? 'virtual-machine' : 'replica-set';
}
