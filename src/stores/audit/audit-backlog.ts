import { randomUUID } from 'node:crypto';
import { open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { AuditEvent, AuditStore } from './audit.js';

const NAME = 'audit-backlog';
/** File of the rows that wait; all processes of a data folder append to it. */
const FILE = `${NAME}.jsonl`;
/** Milliseconds between two attempts to write rows that wait. */
const RETRY_MS = 2000;
/** Rows of one transaction. */
const MAX_AT_ONCE = 200;
/** Attempts to keep a row on a disk that is full for a moment, and milliseconds between them. */
const KEEP_ATTEMPTS = 10;
const KEEP_RETRY_MS = 300;

/**
 * Audit rows that the state refused, in a file of the data folder until the state accepts them. Any process of the folder
 * writes them: the same one later, or the next one after a crash.
 */
export class AuditBacklog {
  readonly #file: string;
  readonly #timer: NodeJS.Timeout;
  #isEmpty = true;
  /** Rows that are on the disk, counted since the start. */
  #kept = 0;
  #draining: Promise<void> | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly folder: string,
    private readonly store: Pick<AuditStore, 'appendMissing'>,
    private readonly onError: (error: unknown) => void,
  ) {
    this.#file = join(folder, FILE);
    this.#timer = setInterval(() => void this.drain(), RETRY_MS).unref();
  }

  /** False while rows of this process wait: later ones must not be written before them. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  /** Resolves when the row is on the disk. */
  keep(event: AuditEvent): Promise<void> {
    this.#isEmpty = false;
    const kept = this.#turn.then(async () => {
      await this.#append(`\n${JSON.stringify(event)}\n`);
      this.#kept += 1;
      this.#isEmpty = false;
    });
    this.#turn = kept.catch(() => {});
    return kept;
  }

  /** Writes the waiting rows, including rows of former processes. Rows are kept if the state refuses them. */
  drain(isForced = false): Promise<void> {
    if (this.#isEmpty && !isForced) return Promise.resolve();
    this.#draining ??= this.#drain().finally(() => {
      this.#draining = undefined;
    });
    return this.#draining;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #append(text: string): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        // Another process may have taken the file while the row was written: then it may not have read the row.
        while (!(await this.#write(text)));
        return;
      } catch (error) {
        if (attempt === KEEP_ATTEMPTS) throw error;
        await pause(KEEP_RETRY_MS);
      }
    }
  }

  /** Writes text to the file. Returns false if another process took the file in between. */
  async #write(text: string): Promise<boolean> {
    const file = await open(this.#file, 'a', 0o600);
    try {
      // The row starts with a line break as well: a line that a full disk or a crash truncated ends before it.
      const { bytesWritten } = await file.write(text);
      if (bytesWritten < Buffer.byteLength(text)) throw new Error(`${this.#file}: the disk is full`);
      await file.sync();
      const { ino } = await file.stat();
      return await stat(this.#file).then(
        (now) => now.ino === ino,
        () => false,
      );
    } finally {
      await file.close();
    }
  }

  async #drain(): Promise<void> {
    const wasEmpty = this.#isEmpty;
    const kept = this.#kept;
    try {
      await rename(this.#file, join(this.folder, `${NAME}-${Date.now()}-${randomUUID()}.jsonl`)).catch(
        (error: NodeJS.ErrnoException) => {
          if (error.code !== 'ENOENT') throw error;
        },
      );
      const names = (await readdir(this.folder)).filter((name) => name.startsWith(`${NAME}-`));
      for (const name of names.sort()) await this.#writeRows(join(this.folder, name));
      if (kept === this.#kept) this.#isEmpty = true;
    } catch (error) {
      this.#isEmpty = false;
      if (wasEmpty) this.onError(error);
    }
  }

  async #writeRows(path: string): Promise<void> {
    const events = readEvents(await readFile(path, 'utf8'));
    for (let i = 0; i < events.length; i += MAX_AT_ONCE)
      await this.store.appendMissing(events.slice(i, i + MAX_AT_ONCE));
    await rm(path, { force: true });
  }
}

/** Reads the complete lines. An incomplete line was never acknowledged. */
function readEvents(text: string): AuditEvent[] {
  return text.split('\n').flatMap((line) => {
    try {
      return line === '' ? [] : [JSON.parse(line) as AuditEvent];
    } catch {
      return [];
    }
  });
}
