import { workerData } from 'piscina';
import { statements } from '../../core/observability/statements.js';
import { inTaskScope, TaskScope } from '../../core/observability/task-scope.js';
import type { FeatureProcessOrder, FeatureProcessTasks } from '../../core/processes/feature-processes.js';
import type { TaskInput, TaskOutput } from '../../core/tasks/tasks.js';
import { processFeatures } from '../processes/features.js';
import { computeGeometries } from '../processes/geometries/service.js';
import { writeMapPage } from '../processes/map-page.js';
import { stageFeatures } from '../processes/stage.js';
import { limitConnections } from '../providers/postgis/connections/database.js';
import { boundStatements } from '../providers/postgis/connections/session.js';
import { Cancellation } from '../threads/cancellation.js';
import { runTaskBody, type TaskResponse } from '../threads/failure.js';
import { reportThread } from '../threads/look.js';
import { lowerPriority, PROCESS_NICENESS } from '../threads/niceness.js';
import type { OneThreadMessage } from '../threads/one-thread.js';
import { ENTRY_LIMITS } from './limits.js';

/** Thread of a host. A task uses it until it is done. Its priority is below all threads that serve requests. */

/** Data that a thread receives at its start. */
export interface ProcessThreadData {
  /** Connections that it may open to each database, and where it counts them. */
  connections: number;
  counts: SharedArrayBuffer;
  /** Milliseconds from which a statement is slow. */
  slowMs: number;
}

const { connections, counts, slowMs } = workerData as ProcessThreadData;
statements.slowMs = slowMs;
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

export default async function runTask(message: OneThreadMessage<keyof FeatureProcessTasks>) {
  const { name, input, flag } = message;
  const work = () => TASKS[name](input as never, new Cancellation(flag));
  const result: TaskResponse = await runTaskBody<unknown>(() => inTaskScope(new TaskScope(name), work));
  result.report = reportThread('process');
  return result;
}
