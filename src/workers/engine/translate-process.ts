/**
 * Tasks `ogr.translate` and `raster.import`, in a process of their own: GDAL cannot be told to stop half way, but a process can be killed;
 * and a foreign file that crashes its driver takes nothing else with it.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { TaskFailure, type TaskInput, type TaskOutput } from '../../core/tasks.js';
import { type Answer, failureFrom } from '../failure.js';
import { type FromTranslator, partPath, removePart, type TranslatorTask } from '../raster/translation.js';
import { Lane } from './lane.js';
import type { EngineTaskOptions } from './threads.js';

/** Imports are long and disk-bound: more at once would only slow the reads. */
const lane = new Lane({ name: 'import', concurrency: 2, maxQueue: 64, graceMs: 60_000, onStuck: () => {} });

export function runTranslate<N extends TranslatorTask>(
  task: N,
  input: TaskInput<N>,
  { onProgress, ...options }: EngineTaskOptions,
): Promise<TaskOutput<N>> {
  const stop = new AbortController();
  const onAbort = () => stop.abort();
  options.signal?.addEventListener('abort', onAbort, { once: true });
  return lane
    .run(() => translateInChild(task, input, stop.signal, onProgress), options)
    .finally(() => {
      options.signal?.removeEventListener('abort', onAbort);
      // Also ends a child whose deadline passed.
      stop.abort();
    });
}

function translateInChild<N extends TranslatorTask>(
  task: N,
  input: TaskInput<N>,
  signal: AbortSignal,
  onProgress?: (fraction: number) => void,
): Promise<TaskOutput<N>> {
  return new Promise((resolve, reject) => {
    const child = fork(new URL('../raster/translate-main.js', import.meta.url), {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    const complaints = tailOf(child);
    let result: Answer<TaskOutput<N>> | undefined;
    const kill = () => child.kill('SIGKILL');
    signal.addEventListener('abort', kill, { once: true });
    child.on('message', (message: FromTranslator<N>) => {
      if ('progress' in message) onProgress?.(message.progress);
      else result = message.answer;
    });
    child.on('error', () => {});
    child.on('close', async (code, killer) => {
      signal.removeEventListener('abort', kill);
      if (child.pid) await removePart(partPath(input.output, child.pid));
      if (result?.ok) resolve(result.value);
      else if (result) reject(failureFrom(result.failure));
      else if (signal.aborted) reject(new TaskFailure('cancelled', 'The task was cancelled.'));
      else
        reject(
          new TaskFailure(
            'source-unreadable',
            'The file crashed its reader.',
            `exit ${code ?? killer}: ${complaints()}`,
          ),
        );
    });
    child.send({ task, input });
  });
}

/** The last of what a child wrote to stderr. */
function tailOf(child: ChildProcess): () => string {
  let tail = '';
  child.stderr?.on('data', (bytes: Buffer) => {
    tail = (tail + bytes.toString()).slice(-2000);
  });
  return () => tail;
}
