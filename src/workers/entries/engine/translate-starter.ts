/**
 * Entry of the process that starts those of translate-main.js for an engine, and gives them work. The engine cannot: once GDAL is loaded
 * there, a fork may copy a lock of PROJ that another thread holds, and the copy then waits for it for ever. This process
 * starts before GDAL is loaded, and never loads it.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { LIMITS } from '../../../core/kit/limits.js';
import type { FromTranslator, TranslatorOrder, TranslatorTask } from '../../exchange/ogr/translation.js';
import { partPath, removePart } from '../../gdal/parts.js';

export type ToStarter = { id: number; order: TranslatorOrder<TranslatorTask> } | { id: number; kill: true };

export type FromStarter =
  | { id: number; message: FromTranslator<TranslatorTask> }
  /** The work has ended, and nothing of it is left but what was to be made. */
  | { id: number; ended: string; outgrown: boolean };

process.title = 'graticule: engine imports';

const MEMORY_CHECK_MS = 250;
const PAGE_BYTES = 4096;
/** How long a process waits for another order: starting one takes longer than translating a small file. */
const IDLE_MS = 5000;
/** A process that is larger than this takes no further order: what drivers leave behind ends with it. */
const REUSE_BYTES = 400 << 20;

interface Work {
  id: number;
  order: TranslatorOrder<TranslatorTask>;
}

/** A process, and what it is at. */
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

  /** A child that was disconnected from here tells nothing of its end but that it is there. */
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
    // What crashed it may be left from a file before: only a new process tells.
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

/** Whether all that went wrong is what a driver says of a file. */
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
// The translators notice, too, and clear up.
process.once('disconnect', () => process.exit(0));

/** Drivers that read whole files into memory must not take the machine's. 0 where the system does not tell. */
function residentBytes(pid: number | undefined): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * PAGE_BYTES;
  } catch {
    return 0;
  }
}
