import { type FileHandle, open, rm } from 'node:fs/promises';

const CHUNK_BYTES = 262_144;

/** Bytes in an unlinked file, which disappears with its last reader, also if the process is killed. */
export class ByteSpool {
  #readers = 0;
  #isDropped = false;

  private constructor(
    readonly file: FileHandle,
    readonly size: number,
  ) {}

  /** Writes all parts to a new file; `seen` receives each part. */
  static async write(
    path: string,
    parts: AsyncIterable<Uint8Array>,
    look: (part: Uint8Array) => void,
  ): Promise<ByteSpool> {
    const file = await open(path, 'wx+', 0o600);
    try {
      await rm(path);
      let size = 0;
      for await (const part of parts) {
        await file.writev([part]);
        look(part);
        size += part.length;
      }
      return new ByteSpool(file, size);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  async *read(start: number, length: number): AsyncGenerator<Uint8Array> {
    this.#readers++;
    try {
      for (let at = 0; at < length; ) {
        const most = Math.min(CHUNK_BYTES, length - at);
        const { bytesRead, buffer } = await this.file.read(Buffer.allocUnsafe(most), 0, most, start + at);
        yield buffer.subarray(0, bytesRead);
        at += bytesRead;
      }
    } finally {
      this.#readers--;
      this.#close();
    }
  }

  drop(): void {
    this.#isDropped = true;
    this.#close();
  }

  #close(): void {
    if (this.#isDropped && this.#readers === 0) void this.file.close().catch(() => {});
  }
}
