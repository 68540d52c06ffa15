import { join, resolve } from 'node:path';
import type { Note } from '../../core/cluster/notes.js';
import type { Config, Setting } from '../../core/config/config.js';
import { serverMark } from '../../core/exchange/ingest.js';
import { version } from '../../core/kit/version.js';
import type { Pools, ReportingPools } from '../../core/tasks/tasks.js';
import { AlertStream } from '../../services/alerts/stream.js';
import { FolderNames } from '../../services/catalog/folder-names.js';
import type { SourceChange } from '../../services/catalog/inspections/readings.js';
import { readIdentity } from '../../services/catalog/marker-file.js';
import { Cluster } from '../../services/cluster/cluster.js';
import type { Peers } from '../../services/cluster/peers.js';
import { DataFolder } from '../../services/kit/data-folder.js';
import { measureServingUnits } from '../../services/licensing/serving-units.js';
import { HostChecks } from '../../services/observability/host-checks.js';
import { Observer } from '../../services/observability/observer.js';
import { ProcessReports } from '../../services/observability/process-reports.js';
import { RequestRecords } from '../../services/observability/request-records.js';
import { remoteHosts } from '../../services/storage/hosts.js';
import { openStorage } from '../../services/storage/open.js';
import type { Storage } from '../../services/storage/storage.js';
import { countFederatedRead } from '../../services/telemetry/federation-metrics.js';
import { exception, type Log } from '../../services/telemetry/log.js';
import { watchPools } from '../../services/telemetry/metrics.js';
import { errorRecovery } from '../../services/telemetry/process-metrics.js';
import { instanceName } from '../../stores/database/instance.js';
import { folderName, STATE_FILE } from '../../stores/database/private-files.js';
import { openConfiguredState, type State } from '../../stores/state/state.js';
import { createPools } from '../../workers/pools/pools.js';

export interface GatewayOptions {
  config: Config;
  settings: readonly Setting[];
  /** Directory of the engine sockets. */
  runDir: string;
  log: Log;
  /** True in one gateway of a server: it makes the first key and talks to the person at the terminal. */
  first: boolean;
  /** Called with the converted fraction of a file, from 0 to 1. */
  onConversion?(file: string, fraction: number): void;
  /** Requests a reload of the catalog in every gateway. */
  /** Without changes, everything is loaded again. */
  requestReload(reason: string, changes?: readonly SourceChange[]): void;
  /**
   * Sends a note to the other gateways of this server. In the services that use the foundation, it is sent to those
   * of all servers with the same state.
   */
  tell(note: Note): void;
}

/** Resources that all parts of a gateway share. */
export interface Foundation extends GatewayOptions {
  /** Absolute. */
  readonly dataDir: string;
  readonly dataFolder: DataFolder;
  /** Identifies this process among those that share the state database. */
  readonly instance: string;
  readonly state: State;
  readonly cluster: Cluster;
  readonly pools: Pools;
  /** Names this server in requests to other servers, and so in those to itself. */
  readonly serverMark: string;
  readonly storage: Storage;
  /** Names of collections in the data folders of the servers of the state. */
  readonly names: FolderNames;
  readonly peers: Peers;
  readonly alerts: AlertStream;
  readonly observer: Observer;
  readonly requestRecords: RequestRecords;
  readonly reports: ProcessReports;
  readonly hostChecks: HostChecks;
}

/**
 * Opens the state database and starts the workers. `hear` receives notes from other servers. Rejects if the database
 * cannot be used.
 */
export async function layFoundation(
  options: GatewayOptions,
  hear: (note: Note) => void,
): Promise<Foundation> {
  const { config, log } = options;
  const dataDir = resolve(config.data.directory);
  const state = await openConfiguredState(config);
  state.statements.recorder.slowMs = config.observability.slowStatementMs;
  const instance = instanceName();
  const cluster = await Cluster.open({
    state,
    config: config.state,
    instance,
    capacity: describeCapacity(config),
    tellServer: options.tell,
    hear,
    onError: (error) => log.write('cluster.behind', exception(error)),
  });
  const { peers } = cluster;
  const observer = new Observer(instance, peers);
  log.showTo(observer);
  const mark = serverMark(await readIdentity(state.documents));
  const pools = startWorkers(options, dataDir, mark);
  const tell = (note: Note) => cluster.tell(note);
  return {
    ...options,
    tell,
    dataDir,
    dataFolder: new DataFolder(dataDir, config.state.url === '' ? [STATE_FILE] : []),
    instance,
    state,
    cluster,
    pools,
    serverMark: mark,
    storage: openStorage(config, pools),
    names: new FolderNames({
      documents: state.documents,
      folder: config.state.url === '' ? undefined : folderName(dataDir),
    }),
    peers,
    alerts: new AlertStream(peers, {
      tell: (notice) => tell({ notice }),
      tellAlert: (alert) => tell({ alert }),
      events: state.alertEvents,
      current: () => cluster.pauses.current(),
    }),
    observer,
    requestRecords: new RequestRecords(instance, peers),
    reports: new ProcessReports({ instance, peers, pools, state: state.statements.recorder }),
    hostChecks: new HostChecks({
      certificate: config.server.tls.cert || undefined,
      readStateTime: () => state.instances.readTime(),
      log,
    }),
  };
}

function startWorkers({ config, runDir }: GatewayOptions, dataDir: string, mark: string): ReportingPools {
  return createPools({
    vectorThreads: config.workers.vectorThreads,
    maxQueue: config.workers.queue,
    maxWaitMs: config.workers.waitMs,
    heavyPerAddress: config.workers.heavyPerAddress,
    connections: config.postgis.connections,
    remoteHosts: remoteHosts(config),
    serverMark: mark,
    processBytes: config.processes.memory,
    retention: readRetention(config),
    runDir,
    overviews: join(dataDir, 'overviews'),
    dataDir,
    slowStatementMs: config.observability.slowStatementMs,
    onRemoteRead: countFederatedRead,
    onEnginesBack: (absenceMs) => errorRecovery.cell('engine').observe(absenceMs),
  });
}

/** Maximum number and age of kept events. */
export function readRetention({ events }: Config) {
  const { count, hours } = events.retention;
  return { count, ageMs: hours * 3_600_000 };
}

/** Shows the pools in the metrics; the result pushes metrics and traces, where the configuration says so. */
export async function startTelemetry(config: Config, pools: Pools, log: Log) {
  watchPools(() => pools.status());
  const { otlpEndpoint } = config.observability;
  if (!otlpEndpoint) return undefined;
  // Loaded on demand: it is a fifth of all modules of a gateway, and only few installations push metrics.
  const { startOtlp } = await import('../../services/telemetry/otlp.js');
  return startOtlp(otlpEndpoint, version(), log);
}

/** Capacity that the heartbeats of this process report. Workers serve no requests. */
function describeCapacity({ licensing, server }: Config) {
  const role = { deploymentRole: licensing.deploymentRole };
  return server.role === 'worker' ? role : { ...role, servingUnits: measureServingUnits() };
}
