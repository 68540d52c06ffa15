import { setTimeout as pause } from 'node:timers/promises';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { IngestTasks } from '../../../core/exchange/ingest.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import type { JobContext } from '../../jobs/kinds.js';

const PASSING: ReadonlySet<string> = new Set(['store-unavailable', 'deadline-exceeded']);
/** Milliseconds before the first request that is sent again. */
const RETRY_MS = 500;

/** Sends a request of a job to another server. Retries with increasing delays if the failure can be temporary. */
export async function askAgain<N extends keyof IngestTasks>(
  pools: Pick<Pools, 'run'>,
  context: Pick<JobContext, 'signal' | 'log'>,
  maxRetries: number,
  name: N,
  input: IngestTasks[N]['input'],
): Promise<IngestTasks[N]['output']> {
  for (let retry = 0; ; retry++) {
    try {
      return (await pools.run(name, input, { signal: context.signal })) as IngestTasks[N]['output'];
    } catch (error) {
      const mayPass = error instanceof TaskFailure && PASSING.has(error.code);
      if (!mayPass || retry >= maxRetries) throw error;
      await context.log('warning', `${error.message} The request is repeated.`);
      await pause(RETRY_MS * 2 ** retry, undefined, { signal: context.signal });
    }
  }
}
