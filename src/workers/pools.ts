import { availableParallelism } from 'node:os';
import type { Pools, TaskInput, TaskName, TaskOptions, TaskOutput } from '../core/tasks.js';
import { EnginePool } from './engine/client.js';
import type { EngineTaskName } from './engine/wire.js';
import { VectorPool } from './vector/pool.js';
import type { VectorTaskName } from './vector/worker.js';

export interface PoolsOptions {
  /** Threads of the vector pool; 0 means one per core. */
  vectorThreads: number;
  maxQueue: number;
  /** Connections to each PostGIS database. */
  connections: number;
  /** Directory of the engine sockets. */
  runDir: string;
  /** Where overviews of large tables are kept; none are made without it. */
  overviews?: string;
}

/** The pools of a gateway process: vector threads here, GDAL and Mapnik in the engines. */
export function createPools(options: PoolsOptions): Pools {
  const { maxQueue, runDir, connections, overviews } = options;
  const threads = options.vectorThreads || availableParallelism();
  const vector = new VectorPool({ threads, maxQueue, connections, overviews });
  const engines = new EnginePool({ runDir, maxQueue });
  return {
    run<N extends TaskName>(name: N, input: TaskInput<N>, taskOptions?: TaskOptions): Promise<TaskOutput<N>> {
      const answer = name.startsWith('vector.')
        ? vector.run(name as VectorTaskName, input as never, taskOptions)
        : engines.run(name as EngineTaskName, input as never, taskOptions);
      return answer as Promise<TaskOutput<N>>;
    },
    status: () => [vector.status(), ...engines.status()],
    async close() {
      await Promise.all([vector.close(), engines.close()]);
    },
  };
}
