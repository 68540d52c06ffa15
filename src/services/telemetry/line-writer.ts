import { write, writeSync } from 'node:fs';
import { LOG_EVENTS } from '../../core/kit/log-events.js';

const CAPACITY = 65_536;
/** UTF-8 bytes a UTF-16 unit can take. */
const MAX_UNIT_BYTES = 3;
/** Blocks that may wait for a slow reader of the log; further lines are dropped and counted. */
const MAX_WAITING = 256;

/**
 * Gathers log lines in blocks and writes them in the background, one write at a time. A reader that stalls
 * costs lines, never the gateway's time or memory; the number lost is written when the reader is back.
 */
export class LineWriter {
  readonly #fd: number;
  #block = Buffer.allocUnsafe(CAPACITY);
  /** Bytes of complete lines in the block. Code that writes into its free space increases it. */
  length = 0;
  #waiting: Buffer[] = [];
  #writing: Buffer | undefined;
  #dropped = 0;

  constructor(fd: number) {
    this.#fd = fd;
  }

  /** Writes complete ASCII lines with their line ends: one byte per unit, copied unchanged. */
  writeAscii(line: string): void {
    if (line.length > CAPACITY - this.length) this.#close();
    if (line.length > CAPACITY) this.#enqueue(Buffer.from(line, 'latin1'));
    else this.length += this.#block.write(line, this.length, 'latin1');
  }

  /** A block with this many free bytes after `length`. Undefined if a line is longer than a block. */
  room(bytes: number): Buffer | undefined {
    if (bytes > CAPACITY - this.length) this.#close();
    return bytes > CAPACITY ? undefined : this.#block;
  }

  /** Writes complete lines with their line ends. */
  write(line: string): void {
    if (line.length * MAX_UNIT_BYTES > CAPACITY - this.length) {
      this.#close();
      if (line.length * MAX_UNIT_BYTES > CAPACITY) {
        this.#enqueue(Buffer.from(line));
        return;
      }
    }
    this.length += this.#block.write(line, this.length);
  }

  /** Hands what was gathered to the background writer. */
  flush(): void {
    if (this.length > 0) this.#close();
  }

  /** Writes everything before it returns; for the end of the process. */
  flushSync(): void {
    this.#waiting.push(this.#take());
    for (const block of this.#waiting.splice(0)) {
      try {
        writeSync(this.#fd, block);
      } catch {
        // The reader has ended or is blocked, and there is no time to wait for it.
        return;
      }
    }
  }

  #close(): void {
    const block = this.#take();
    if (block.length > 0) this.#enqueue(block);
  }

  #take(): Buffer {
    const block = this.#block.subarray(0, this.length);
    this.#block = Buffer.allocUnsafe(CAPACITY);
    this.length = 0;
    return block;
  }

  #enqueue(block: Buffer): void {
    if (this.#waiting.length >= MAX_WAITING) {
      this.#dropped++;
      return;
    }
    this.#waiting.push(block);
    if (!this.#writing) this.#next();
  }

  #next(): void {
    const block = this.#waiting.shift();
    this.#writing = block;
    if (!block) return this.#reportDropped();
    write(this.#fd, block, 0, block.length, null, (error, bytes) => {
      if (error && error.code !== 'EAGAIN') return this.#next();
      const rest = block.subarray(error ? 0 : bytes);
      if (rest.length > 0) this.#waiting.unshift(rest);
      if (error) setTimeout(() => this.#next(), 10);
      else this.#next();
    });
  }

  #reportDropped(): void {
    if (this.#dropped === 0) return;
    const blocks = this.#dropped;
    this.#dropped = 0;
    const { id, level, message } = LOG_EVENTS['log.lines.dropped'];
    const event = {
      '@t': new Date().toISOString(),
      '@l': level,
      '@i': id,
      '@m': `${blocks} ${message}`,
    };
    this.write(`${JSON.stringify(event)}\n`);
  }
}
