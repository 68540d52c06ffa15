import { availableParallelism } from 'node:os';
import type { ReportTasks } from '../../core/compliance/compliance.js';
import type { DiagnosticsTasks } from '../../core/diagnostics/bundle.js';
import { BUNDLE_LIMITS } from '../../core/diagnostics/limits.js';
import type { IngestTasks, IngestWorkerData } from '../../core/exchange/ingest.js';
import type { RemoteRead } from '../../core/observability/task-scope.js';
import type { StorageTasks } from '../../core/sources/storage.js';
import type { Retention } from '../../core/streams/events.js';
import type { SymbolTasks } from '../../core/styles/symbols.js';
import type { ReportingPools, TaskInput, TaskName, TaskOptions, TaskOutput } from '../../core/tasks/tasks.js';
import { EnginePool } from '../engine/client.js';
import type { ArchiveTaskName } from '../entries/archive.js';
import { Admission } from '../threads/admission.js';
import { OccasionalPool } from '../threads/one-thread.js';
import { POOL_LIMITS } from './limits.js';
import { ProcessPool } from './process/pool.js';
import { VectorPool } from './vector/pool.js';

export interface PoolsOptions {
  /** Threads of the vector pool; 0 means one per core. */
  vectorThreads: number;
  maxQueue: number;
  /** Expected wait, in milliseconds, beyond which a task is refused. */
  maxWaitMs: number;
  /** Heavy requests of one address that may run or wait at the same time, without a key. */
  heavyPerAddress: number;
  /** Connections to each PostGIS database. */
  connections: number;
  /** Hosts from which remote archives can be read. Default: none. */
  remoteHosts?: readonly string[];
  /** Name of the server in its requests to other servers. Default: no name. */
  serverMark?: string;
  /** Retention of events in outboxes. Default: the default retention. */
  retention?: Retention;
  /** Bytes of memory that a process of a job may need. */
  processBytes: number;
  /** Directory of the engine sockets. */
  runDir: string;
  /** Folder of overviews of large tables. Default: no overviews. */
  overviews?: string;
  /** Data folder, for the ledger of SQLite files. Default: no ledger. */
  dataDir?: string;
  /** Milliseconds from which a statement is slow. Default: 250. */
  slowStatementMs?: number;
  /** Called when an engine is available again, with the milliseconds without an engine. */
  onEnginesBack?(absenceMs: number): void;
  /** Called for each request to a federated source. */
  onRemoteRead?(read: RemoteRead): void;
}

/** Part of a task name before the dot. */
type TaskFamily = TaskName extends `${infer F}.${string}` ? F : never;
type PoolName =
  | 'vector'
  | 'engines'
  | 'archives'
  | 'symbols'
  | 'diagnostics'
  | 'storage'
  | 'ingest'
  | 'geocoding'
  | 'networks'
  | 'networkBuilds'
  | 'processes'
  | 'reports'
  | 'geometries';

const POOLS: Readonly<Record<TaskFamily, PoolName>> = {
  archive: 'archives',
  diagnostics: 'diagnostics',
  engine: 'engines',
  geocoding: 'geocoding',
  ingest: 'ingest',
  map: 'engines',
  network: 'networks',
  ogr: 'engines',
  process: 'processes',
  raster: 'engines',
  report: 'reports',
  storage: 'storage',
  symbols: 'symbols',
  vector: 'vector',
};
/** A job may keep a process or a thread for long, and operations on geometries and routes have clients that wait. */
const OWN_POOLS: Readonly<Partial<Record<TaskName, PoolName>>> = {
  'process.geometry': 'geometries',
  'network.build': 'networkBuilds',
};

interface AnyPool {
  run(name: never, input: never, options?: TaskOptions): Promise<unknown>;
}

function findPool(name: TaskName): PoolName {
  return OWN_POOLS[name] ?? POOLS[name.slice(0, name.indexOf('.')) as TaskFamily];
}

/** The pools of a gateway process: vector threads, writer of archives and maker of glyphs here, GDAL and Mapnik in the engines. */
export function createPools(options: PoolsOptions): ReportingPools {
  const { maxQueue, maxWaitMs, runDir, connections, remoteHosts, overviews, retention, dataDir } = options;
  const threads = options.vectorThreads || availableParallelism();
  const vector = new VectorPool({
    threads,
    maxQueue,
    maxWaitMs,
    connections,
    remoteHosts,
    overviews,
    retention,
    dataDir,
    slowMs: options.slowStatementMs,
    ...(options.onRemoteRead ? { onRemoteRead: options.onRemoteRead } : {}),
  });
  const engines = new EnginePool({ runDir, maxQueue, maxWaitMs, onReturn: options.onEnginesBack });
  const archives = new OccasionalPool<ArchiveTaskName>({
    name: 'archive',
    worker: new URL('../entries/archive.js', import.meta.url),
  });
  const symbols = new OccasionalPool<keyof SymbolTasks>({
    name: 'symbols',
    worker: new URL('../entries/symbols.js', import.meta.url),
    maxQueue: POOL_LIMITS.symbolQueue,
  });
  const storage = new OccasionalPool<keyof StorageTasks>({
    name: 'storage',
    worker: new URL('../entries/storage.js', import.meta.url),
    concurrency: POOL_LIMITS.storageRequests,
  });
  const ingest = new OccasionalPool<keyof IngestTasks>({
    name: 'ingest',
    worker: new URL('../entries/ingest.js', import.meta.url),
    workerData: { remoteHosts: remoteHosts ?? [], serverMark: options.serverMark } satisfies IngestWorkerData,
    concurrency: POOL_LIMITS.ingestRequests,
    maxQueue: POOL_LIMITS.ingestQueue,
  });
  const geocoding = new OccasionalPool<'geocoding.import' | 'geocoding.sweep'>({
    name: 'geocoding',
    worker: new URL('../entries/geocoding.js', import.meta.url),
    maxQueue: POOL_LIMITS.geocodeImports,
  });
  const networks = new OccasionalPool<'network.route'>({
    name: 'networks',
    worker: new URL('../entries/networks.js', import.meta.url),
    threads,
    maxQueue: POOL_LIMITS.routeQueue,
  });
  const networkBuilds = new OccasionalPool<'network.build'>({
    name: 'network-builds',
    worker: new URL('../entries/network-builds.js', import.meta.url),
  });
  const diagnostics = new OccasionalPool<keyof DiagnosticsTasks>({
    name: 'diagnostics',
    worker: new URL('../entries/diagnostics.js', import.meta.url),
    maxQueue: BUNDLE_LIMITS.bundleQueue,
    listMemory: (input) => (input as TaskInput<'diagnostics.bundle'>).parts.map(({ buffer }) => buffer),
  });
  const reports = new OccasionalPool<keyof ReportTasks>({
    name: 'reports',
    worker: new URL('../entries/reports.js', import.meta.url),
    maxQueue: POOL_LIMITS.reportQueue,
  });
  const { slowStatementMs: slowMs } = options;
  const processes = new ProcessPool({ size: threads, maxBytes: options.processBytes, slowMs });
  const geometries = new ProcessPool({
    name: 'geometry',
    size: threads,
    reserved: 1,
    maxBytes: POOL_LIMITS.geometryMemoryBytes,
    maxQueue: POOL_LIMITS.geometryQueue,
    slowMs,
  });
  const pools = {
    ...{
      vector,
      engines,
      archives,
      symbols,
      storage,
      ingest,
      geocoding,
      networks,
      networkBuilds,
      diagnostics,
      reports,
      processes,
      geometries,
    },
  };
  const run = (name: TaskName, input: never, taskOptions?: TaskOptions): Promise<unknown> => {
    const pool: AnyPool = pools[findPool(name)];
    return pool.run(name as never, input, taskOptions);
  };
  const admission = new Admission(options.heavyPerAddress);
  return {
    run<N extends TaskName>(name: N, input: TaskInput<N>, taskOptions?: TaskOptions): Promise<TaskOutput<N>> {
      return admission.run(name, input, taskOptions, (admitted) =>
        run(name, input as never, admitted),
      ) as Promise<TaskOutput<N>>;
    },
    status: () => Object.values(pools).flatMap((pool) => pool.status()),
    look: async () => {
      const reports = await Promise.all([vector, engines, processes, geometries].map((pool) => pool.look()));
      return reports.flat();
    },
    async close() {
      await Promise.all(Object.values(pools).map((pool) => pool.close()));
    },
  };
}
