import { TaskFailure } from '../../core/errors/failure.js';
import type { ResponseStage } from '../../core/http/operation.js';
import type { Caller } from '../../core/kit/callers.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { Loss } from '../../core/rasters/rasters.js';
import type { Pools, TaskInput, TaskName, TaskOutput, TaskWork } from '../../core/tasks/tasks.js';
import type { Hold } from '../../core/values/presence.js';
import * as metrics from '../telemetry/metrics.js';
import type { RequestSpan } from '../telemetry/spans.js';
import { countTask } from '../telemetry/task-metrics.js';
import { inTaskSpan } from '../telemetry/task-spans.js';

/** The part of a request that a task needs. */
export interface TaskContext {
  /** Aborted when no caller waits for the result any more. Undefined if a caller always waits. */
  readonly signal?: AbortSignal;
  readonly span?: unknown;
  /** Caller of the task. Default: the server itself. */
  readonly caller?: Caller;
  /** Presence of a request that other processes can report as lost. */
  readonly hold?: Hold;
  /** Id of the request in log lines and slow statements. */
  readonly correlationId?: string;
  timing(stage: string, milliseconds: number): void;
  /** Adds to the time of a stage. */
  stage?(stage: ResponseStage, milliseconds: number, place?: string): void;
}

export interface TaskRunOptions {
  /**
   * Whether the task runs to its end and its result is awaited, even if the client disconnects or the deadline
   * passes.
   */
  toTheEnd?: boolean;
  /** Signal for the task to end early. Its result is still awaited. */
  stop?: AbortSignal;
  /** Whether its response has already started. Then the task is not refused because of waiting tasks. */
  begun?: boolean;
  /** The layer of the task, for its span, if the input does not contain it. */
  layerId?: number | 'several';
}

/** Tasks whose work is drawing, of images or of coverages. */
const DRAWING: ReadonlySet<TaskName> = new Set(['map.render', 'raster.image', 'raster.coverage']);

/** Measures the stages of a task, in addition to its span. */
function watchWork(
  x: TaskContext,
  name: TaskName,
  since: number,
  trace: ((work: TaskWork) => void) | undefined,
): { onWork?: (work: TaskWork) => void } {
  if (!x.stage) return {};
  const onWork = (work: TaskWork) => {
    trace?.(work);
    const { startMs, endMs, databaseMs = 0, pid, thread } = work;
    const ms = endMs - startMs;
    x.stage?.('queue', Math.max(0, startMs - since), `process ${pid} thread ${thread}`);
    if (DRAWING.has(name)) return x.stage?.('render', ms);
    if (databaseMs === 0) return;
    x.stage?.('database', databaseMs);
    x.stage?.('encode', Math.max(0, ms - databaseMs));
  };
  return { onWork };
}

/** Runs a worker task for a request: deadline, abort, metrics, span and Server-Timing in one place. */
export async function runTask<N extends TaskName>(
  x: TaskContext,
  pools: Pools,
  name: N,
  input: TaskInput<N>,
  { toTheEnd = false, begun = false, stop, layerId }: TaskRunOptions = {},
): Promise<TaskOutput<N>> {
  const started = performance.now();
  let output: TaskOutput<N> | undefined;
  let outcome = 'failed';
  let admission = 'admitted';
  try {
    const bounds = toTheEnd ? { stop } : { signal: x.signal, deadlineMs: LIMITS.requestDeadlineMs };
    const about = { begun, caller: x.caller, request: x.correlationId, ...bounds };
    const since = performance.timeOrigin + started;
    output = await inTaskSpan(x.span as RequestSpan | undefined, { name, input, layerId }, (traced) =>
      pools.run(name, input, { ...about, ...traced, ...watchWork(x, name, since, traced.onWork) }),
    );
    outcome = 'ok';
    metrics.scenesLost.cell().inc((output as Loss | null)?.lost?.length ?? 0);
    return output;
  } catch (error) {
    if (error instanceof TaskFailure && (error.code === 'queue-full' || error.code === 'too-many'))
      admission = 'refused';
    throw error;
  } finally {
    const ms = performance.now() - started;
    metrics.operationDuration.cell(name).observe(ms);
    metrics.operationCounter.cell(name, outcome).inc();
    metrics.admissions.cell(admission).inc();
    countTask({ name, input, output, ms });
    x.timing(name.replace('.', '-'), ms);
  }
}
