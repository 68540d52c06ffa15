import { workerData } from 'piscina';
import type { FeatureProcessOrder, FeatureProcessTasks } from '../../core/processes/feature-processes.js';
import type { TaskInput, TaskOutput } from '../../core/tasks/tasks.js';
import { processFeatures } from '../processes/features.js';
import { computeGeometries } from '../processes/geometries/service.js';
import { writeMapPage } from '../processes/map-page.js';
import { stageFeatures } from '../processes/stage.js';
import { limitConnections } from '../providers/postgis/connections/database.js';
import { boundStatements } from '../providers/postgis/connections/session.js';
import { Cancellation } from '../threads/cancellation.js';
import { runTaskBody } from '../threads/failure.js';
import { lowerPriority, PROCESS_NICENESS } from '../threads/niceness.js';
import type { OneThreadMessage } from '../threads/one-thread.js';
import { ENTRY_LIMITS } from './limits.js';

/** Thread of a host. A task uses it until it is done. Its priority is below all threads that serve requests. */

/** Data that a thread receives at its start. */
export interface ProcessThreadData {
  /** Connections that it may open to each database, and where it counts them. */
  connections: number;
  counts: SharedArrayBuffer;
}

const { connections, counts } = workerData as ProcessThreadData;
limitConnections(connections, counts);
boundStatements(ENTRY_LIMITS.processStatementMs, ENTRY_LIMITS.processClientMs);
lowerPriority(PROCESS_NICENESS);

/** Member that the host adds to each task. */
type FeatureCount = Pick<FeatureProcessOrder, 'count'>;

const TASKS: {
  [N in keyof FeatureProcessTasks]: (
    input: TaskInput<N> & FeatureCount,
    cancellation: Cancellation,
  ) => TaskOutput<N> | Promise<TaskOutput<N>>;
} = {
  'process.geometry': computeGeometries,
  'process.stage': stageFeatures,
  'process.features': processFeatures,
  'process.map-page': writeMapPage,
};

export default function runTask({ name, input, flag }: OneThreadMessage<keyof FeatureProcessTasks>) {
  return runTaskBody(async () => TASKS[name](input as never, new Cancellation(flag)));
}
