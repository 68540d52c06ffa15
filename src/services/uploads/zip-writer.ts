import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';

/** A file of an archive. */
export interface ZipEntry {
  readonly name: string;
  readonly content: Uint8Array;
}

/** 1980-01-01, the first day that a ZIP archive can state: archives of equal content are equal. */
const OPTIONS = { mtime: new Date(1980, 0, 1), forceDosTimestamp: true };
/** Bytes of a content that are summed up in one turn of the event loop. */
const PIECE_BYTES = 65_536;

/** Writes a ZIP archive with one entry in memory at a time. The archive is on the disk once the promise resolves. */
export async function writeZip(path: string, entries: AsyncIterable<ZipEntry>): Promise<void> {
  const zip = new ZipFile();
  const output = zip.outputStream as Readable;
  const written = pipeline(output, createWriteStream(path, { mode: 0o600, flush: true }));
  try {
    for await (const { name, content } of entries) {
      const stream = Readable.from(pieces(content));
      zip.addReadStream(stream, name, OPTIONS);
      await Promise.race([finished(stream), written]);
    }
    zip.end();
  } catch (error) {
    output.destroy();
    await written.catch(() => {});
    throw error;
  }
  await written;
}

function* pieces(content: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < content.length; at += PIECE_BYTES) yield content.subarray(at, at + PIECE_BYTES);
}
