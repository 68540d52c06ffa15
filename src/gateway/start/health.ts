import { CHANNELS, formatLane } from '../../core/alerts/alerts.js';
import { version } from '../../core/kit/version.js';
import type { AlertDispatch } from '../../services/alerts/dispatch.js';
import { BACKEND } from '../../services/jobs/kinds.js';
import { shareWork } from '../../services/kit/shared-work.js';
import { OpsHealth } from '../../services/observability/health/ops-health.js';
import type { ReadinessDeps } from '../../services/observability/health/readiness.js';
import { HealthMinutes } from '../../services/observability/latency/health-minutes.js';
import { LatencyRecorder } from '../../services/observability/latency/latencies.js';
import { StateClock } from '../../services/observability/latency/state-clock.js';
import { PROCESS_KIND } from '../../services/processes/service.js';
import { exception } from '../../services/telemetry/log.js';
import { CDN_LANE } from '../../services/webhooks/index.js';
import { REMOVAL_STEPS } from '../../stores/state/migrations.js';
import type { LaneState } from '../../stores/streams/deliveries.js';
import type { Data } from './data.js';
import type { Foundation } from './foundation.js';

/** Latency and condition of the server. */
export interface Health {
  readonly opsHealth: OpsHealth;
  readonly recorder: LatencyRecorder;
  /** Starts to store minutes. Resolves with what stores the last one. */
  start(): Promise<() => Promise<void>>;
}

/** Parts whose failure makes the server not ready. */
export function createReadiness({ pools, state, dataFolder }: Foundation, data: Data): ReadinessDeps {
  return {
    poolStatus: () => pools.status(),
    pingState: () => state.check(),
    dataFolder: () => dataFolder.problems(),
    databaseStatus: (patienceMs) => data.databases.status(patienceMs),
    outboxStatus: () => data.events.outboxStatus(),
  };
}

/** Lanes of webhooks, CDN purges and alert channels by the names that operators know. */
export async function readReceivers({ config, state }: Pick<Foundation, 'config' | 'state'>) {
  const names = nameReceivers(config);
  return describeReceivers(config, names, await state.deliveries.laneStates([...names.keys()]));
}

/** Names of receivers by their lanes. */
const nameReceivers = (config: Foundation['config']) =>
  new Map([
    ...config.events.webhooks.map(({ name }) => [name, `webhook ${name}`] as const),
    ...(config.cdn.purge.url === '' ? [] : [[CDN_LANE, 'CDN purges'] as const]),
    ...CHANNELS.map((channel) => [formatLane(channel), `alert channel ${channel}`] as const),
  ]);

function describeReceivers(
  config: Foundation['config'],
  names: ReadonlyMap<string, string>,
  lanes: readonly LaneState[],
) {
  return lanes.map(({ name, failures, pending, dead, isPaused }) => ({
    ...{ name: names.get(name)!, failures, pending, dead, isPaused },
    channel: CHANNELS.find((channel) => formatLane(channel) === name),
    webhook: config.events.webhooks.find((webhook) => webhook.name === name)?.name,
  }));
}

export function createHealth(
  foundation: Foundation,
  data: Data,
  { alertDispatch }: { readonly alertDispatch: AlertDispatch },
): Health {
  const { config, state, peers, instance, log, pools, hostChecks } = foundation;
  const receivers = nameReceivers(config);
  // A report is about channels and receivers: both are read once for it.
  const lanes = shareWork(() => state.deliveries.laneStates([...receivers.keys()]));
  const clock = new StateClock(() => state.instances.readTime());
  const recorder = new LatencyRecorder();
  const opsHealth = new OpsHealth({
    ...createReadiness(foundation, data),
    ...{
      instance,
      peers,
      clock,
      release: version(),
      declaredRelease: config.deploy.release,
      store: state.healthPeriods,
    },
    connections: () => pools.status().find(({ connections }) => connections)?.connections,
    cache: () => data.caching.tiles.statistics(),
    hostChecks: () => hostChecks.list(),
    quarantined: () => data.catalog.current.quarantined.length,
    async openJobs() {
      const open = await state.jobs.depths();
      return open
        .filter(({ kind }) => kind === PROCESS_KIND)
        .map((one) => ({ status: one.state, backend: BACKEND, count: one.count }));
    },
    channels: async () => alertDispatch.describe(await lanes()),
    receivers: async () => describeReceivers(config, receivers, await lanes()),
    dispatch: () => ({ ...alertDispatch.activity, isEnabled: alertDispatch.configured.size > 0 }),
    async pendingMigrations() {
      const { pending } = await state.migrationSteps();
      return { count: pending.length, removals: pending.filter((step) => REMOVAL_STEPS.has(step)).length };
    },
    releases: () => state.instances.alive(),
  });
  return {
    opsHealth,
    recorder,
    async start() {
      await clock.set();
      const minutes = new HealthMinutes({
        ...{ recorder, clock, store: state.healthPeriods, replica: instance },
        observe: () => opsHealth.observe(),
        onError: (error) => log.write('telemetry.minutes.kept', exception(error)),
      });
      opsHealth.serve(minutes);
      minutes.start();
      return () => minutes.close();
    },
  };
}
