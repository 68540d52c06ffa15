import { workerData } from 'piscina';
import type { FeatureProcessOrder, FeatureProcessTasks } from '../../core/feature-processes.js';
import { LIMITS } from '../../core/limits.js';
import type { TaskInput, TaskOutput } from '../../core/tasks.js';
import { Cancellation } from '../cancellation.js';
import { answer } from '../failure.js';
import { lowerPriority, PROCESS_NICENESS } from '../niceness.js';
import type { OneThreadMessage } from '../one-thread.js';
import { limitConnections } from '../providers/postgis/database.js';
import { boundStatements } from '../providers/postgis/session.js';
import { processFeatures } from './features.js';
import { computeGeometries } from './geometries/service.js';
import { writeMapPage } from './map-page.js';
import { stageFeatures } from './stage.js';

/** Thread of a host: a task keeps it until it is done, and yields to all that answers requests. */

/** What a thread is told when it starts. */
export interface ProcessThreadData {
  /** Connections that it may open to each database, and where it counts them. */
  connections: number;
  counts: SharedArrayBuffer;
}

const { connections, counts } = workerData as ProcessThreadData;
limitConnections(connections, counts);
boundStatements(LIMITS.processStatementMs, LIMITS.processClientMs);
lowerPriority(PROCESS_NICENESS);

/** What the host adds to each task. */
type Counted = Pick<FeatureProcessOrder, 'count'>;

const TASKS: {
  [N in keyof FeatureProcessTasks]: (
    input: TaskInput<N> & Counted,
    cancellation: Cancellation,
  ) => TaskOutput<N> | Promise<TaskOutput<N>>;
} = {
  'process.geometry': computeGeometries,
  'process.stage': stageFeatures,
  'process.features': processFeatures,
  'process.map-page': writeMapPage,
};

export default function runTask({ name, input, flag }: OneThreadMessage<keyof FeatureProcessTasks>) {
  return answer(async () => TASKS[name](input as never, new Cancellation(flag)));
}
