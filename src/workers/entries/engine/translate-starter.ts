/**
 * Entry of the process that starts translate-main.js processes for an engine and sends them work. The engine cannot
 * do this: after GDAL is loaded, a fork can copy a PROJ lock of another thread, and the copy then waits forever. This
 * process starts before GDAL is loaded, and never loads it.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { LIMITS } from '../../../core/kit/limits.js';
import type { FromTranslator, TranslatorOrder, TranslatorTask } from '../../exchange/ogr/translation.js';
import { partPath, removePart } from '../../gdal/parts.js';

export type ToStarter = { id: number; order: TranslatorOrder<TranslatorTask> } | { id: number; kill: true };

export type FromStarter =
  | { id: number; message: FromTranslator<TranslatorTask> }
  /** The work has ended, and only its output remains. */
  | { id: number; ended: string; outgrown: boolean };

process.title = 'graticule: engine imports';

const MEMORY_CHECK_MS = 250;
const PAGE_BYTES = 4096;
/**
 * Milliseconds that a process waits for another order, because a process start takes longer than the translation of a
 * small file.
 */
const IDLE_MS = 5000;
/** Resident bytes above which a process accepts no further order, so that memory leaks of drivers end with it. */
const REUSE_BYTES = 400 << 20;

interface Work {
  id: number;
  order: TranslatorOrder<TranslatorTask>;
}

/** Process with its current work. */
class Translator {
  #work: Work | undefined;
  #outgrown = false;
  #killed = false;
  /** Files that it has had before. */
  #served = 0;
  #complaints = '';
  #idle: NodeJS.Timeout | undefined;
  readonly #watch: NodeJS.Timeout;
  readonly #child: ChildProcess;

  constructor() {
    this.#child = fork(new URL('./translate-main.js', import.meta.url), {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#child.stderr?.on('data', (bytes: Buffer) => {
      this.#complaints = (this.#complaints + bytes.toString()).slice(-2000);
    });
    this.#watch = setInterval(() => this.#checkMemory(), MEMORY_CHECK_MS);
    this.#child.on('message', (message: FromTranslator<TranslatorTask>) => this.#onMessage(message));
    this.#child.on('error', () => {});
    this.#child.on('close', (code, killer) => void this.#onClose(`exit ${code ?? killer}`));
  }

  get isIdle(): boolean {
    return this.#work === undefined && this.#child.connected;
  }

  isAt(id: number): boolean {
    return this.#work?.id === id;
  }

  take(work: Work): void {
    clearTimeout(this.#idle);
    this.#work = work;
    this.#complaints = '';
    this.#child.send(work.order);
  }

  kill(): void {
    this.#killed = true;
    this.#child.kill('SIGKILL');
  }

  #onMessage(message: FromTranslator<TranslatorTask>): void {
    const { id } = this.#work!;
    send({ id, message });
    if (!('answer' in message)) return;
    this.#work = undefined;
    this.#served += 1;
    send({ id, ended: 'with an answer', outgrown: false });
    if (isOrderly(message.answer) && residentBytes(this.#child.pid) <= REUSE_BYTES)
      this.#idle = setTimeout(() => this.#end(), IDLE_MS);
    else this.#end();
  }

  /** Ends a child, which after the disconnect shows only by its existence that it is still running. */
  #end(): void {
    clearInterval(this.#watch);
    clearTimeout(this.#idle);
    translators.delete(this);
    if (this.#child.connected) this.#child.disconnect();
  }

  async #onClose(end: string): Promise<void> {
    clearInterval(this.#watch);
    clearTimeout(this.#idle);
    translators.delete(this);
    if (!this.#work) return;
    const { id, order } = this.#work;
    if (this.#child.pid && 'output' in order.input)
      await removePart(partPath(order.input.output, this.#child.pid));
    // A crash can be caused by an earlier file, so the work is repeated in a new process.
    if (this.#served > 0 && !this.#killed) return start(this.#work);
    send({ id, ended: `${end}: ${this.#complaints}`, outgrown: this.#outgrown });
  }

  #checkMemory(): void {
    const input = this.#work?.order.input;
    const maxBytes = input && 'maxBytes' in input ? input.maxBytes : LIMITS.importMemoryBytes;
    this.#outgrown ||= residentBytes(this.#child.pid) > maxBytes;
    if (this.#outgrown) this.kill();
  }
}

const translators = new Set<Translator>();
const send = (message: FromStarter) => void process.send?.(message);

function start(work: Work, translator = new Translator()): void {
  translators.add(translator);
  translator.take(work);
}

/** Whether the only problem is an error that a driver reports about a file. */
function isOrderly(answer: Extract<FromTranslator<TranslatorTask>, { answer: unknown }>['answer']): boolean {
  return answer.ok || answer.failure.code === 'source-unreadable' || answer.failure.code === 'invalid-input';
}

process.on('message', (message: ToStarter) => {
  const all = [...translators];
  if ('kill' in message) return all.find((one) => one.isAt(message.id))?.kill();
  start(
    message,
    all.find(({ isIdle }) => isIdle),
  );
});
// The translators also detect this and clean up.
process.once('disconnect', () => process.exit(0));

/**
 * Returns the resident bytes of a process, because drivers that read complete files into memory must not use up the
 * machine's memory. 0 if the system does not report it.
 */
function residentBytes(pid: number | undefined): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * PAGE_BYTES;
  } catch {
    return 0;
  }
}
