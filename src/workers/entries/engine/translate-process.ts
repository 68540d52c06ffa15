/**
 * Tasks that write files with GDAL in a separate process. GDAL cannot be stopped during a call, but a process can be
 * killed, and a foreign file that crashes its driver ends only this process.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { ForeignFile } from '../../../core/exchange/ogr.js';
import type { TaskInput, TaskOutput } from '../../../core/tasks/tasks.js';
import { TaskLane } from '../../engine/lane.js';
import type { FromTranslator, TranslatorTask } from '../../exchange/ogr/translation.js';
import { failureFrom, type TaskResponse } from '../../threads/failure.js';
import type { EngineTaskOptions } from './threads.js';
import type { FromStarter, ToStarter } from './translate-starter.js';

const TASKS: ReadonlySet<string> = new Set<TranslatorTask>([
  'ogr.preview',
  'ogr.stage',
  'ogr.translate',
  'ogr.unpack',
  'raster.import',
  'raster.process',
]);

export const isTranslatorTask = (task: string): task is TranslatorTask => TASKS.has(task);

/** Imports are long and disk-bound, so more parallel imports would only slow the reads. */
const lane = new TaskLane({
  name: 'import',
  concurrency: 2,
  maxQueue: 64,
  graceMs: 60_000,
  onStuck: () => {},
});
/** A client waits for a preview, so previews do not wait for imports. */
const previews = new TaskLane({
  name: 'preview',
  concurrency: 2,
  maxQueue: 16,
  graceMs: 60_000,
  onStuck: () => {},
});

/** The processes of one engine. */
export class Translators {
  #starter: ChildProcess | undefined;
  readonly #heard = new Map<number, (message: FromStarter) => void>();
  #count = 0;

  /** `onLoss` is called when no more can be started. */
  constructor(private readonly onLoss: () => void) {}

  /** Starts the process that starts the other processes, unless it is running. Call it before GDAL is loaded. */
  begin(): ChildProcess {
    if (this.#starter) return this.#starter;
    const starter = fork(new URL('./translate-starter.js', import.meta.url), {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    starter.on('message', (message: FromStarter) => this.#heard.get(message.id)?.(message));
    starter.on('error', () => {});
    starter.on('exit', this.onLoss);
    // It ends with this process, and does not keep it running.
    starter.unref();
    starter.channel?.unref();
    return (this.#starter = starter);
  }

  run<N extends TranslatorTask>(
    task: N,
    input: TaskInput<N>,
    { onProgress, ...options }: EngineTaskOptions,
  ): Promise<TaskOutput<N>> {
    const stop = new AbortController();
    const onAbort = () => stop.abort();
    options.signal?.addEventListener('abort', onAbort, { once: true });
    return (task === 'ogr.preview' ? previews : lane)
      .run(() => this.#translate(task, input, stop.signal, onProgress), options)
      .finally(() => {
        options.signal?.removeEventListener('abort', onAbort);
        // Also ends a child whose deadline passed.
        stop.abort();
      });
  }

  #translate<N extends TranslatorTask>(
    task: N,
    input: TaskInput<N>,
    signal: AbortSignal,
    onProgress?: (fraction: number) => void,
  ): Promise<TaskOutput<N>> {
    return new Promise((resolve, reject) => {
      const id = ++this.#count;
      let result: TaskResponse<TaskOutput<N>> | undefined;
      const kill = () => this.#send({ id, kill: true });
      signal.addEventListener('abort', kill, { once: true });
      const { limitMs } = input as Partial<ForeignFile>;
      let isLate = false;
      const end = () => {
        isLate = true;
        kill();
      };
      const clock = limitMs === undefined ? undefined : setTimeout(end, limitMs);
      this.#heard.set(id, (heard) => {
        if ('message' in heard) {
          const message = heard.message as FromTranslator<N>;
          if ('progress' in message) onProgress?.(message.progress);
          else result = message.answer;
          return;
        }
        this.#heard.delete(id);
        clearTimeout(clock);
        signal.removeEventListener('abort', kill);
        if (result?.ok) resolve(result.value);
        else if (result) reject(failureFrom(result.failure));
        else if (isLate)
          reject(
            new TaskFailure('too-large', `Reading the file takes longer than ${limitMs! / 1000} seconds.`),
          );
        else if (signal.aborted) reject(new TaskFailure('cancelled', 'The task was cancelled.'));
        else if (heard.outgrown)
          reject(
            new TaskFailure(
              'too-large',
              'The task needs more memory than an import or a process can use. Use less data.',
            ),
          );
        else reject(new TaskFailure('source-unreadable', 'The file crashed its reader.', heard.ended));
      });
      this.#send({ id, order: { task, input } });
    });
  }

  #send(message: ToStarter): void {
    const starter = this.begin();
    if (starter.connected) starter.send(message);
  }
}
