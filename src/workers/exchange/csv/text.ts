/** The text of a CSV file: its encoding, its separator, its records. */

import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { analyse } from 'chardet';
import { parse } from 'csv-parse';
import { TaskFailure } from '../../../core/errors/failure.js';

/** Bytes from which the encoding is detected. */
const HEAD_BYTES = 1 << 20;
/** Bytes within which the header line must end. */
const NAMES_BYTES = 1 << 18;
/** Characters of one record. */
const RECORD_SIZE = 64 << 20;

export interface CsvText {
  path: string;
  /** A label of the Encoding Standard. */
  encoding: string;
  /** Why it is read in that encoding. */
  encodingReason: string;
  /** Whether the encoding was detected instead of being stated by the file or another file. */
  isGuess: boolean;
  separator: string;
}

export async function detectCsvFormat(path: string): Promise<CsvText> {
  const { encoding, reason: encodingReason, isGuess = false } = await loadEncoding(path);
  const head = new TextDecoder(encoding).decode(await readHead(path, NAMES_BYTES));
  return { path, encoding, encodingReason, isGuess, separator: parseSeparator(head) };
}

/** Records (RFC 4180), the line of names first. Fails with `source-unreadable`. */
export async function* readCsvRecords({ path, encoding, separator }: CsvText): AsyncGenerator<string[]> {
  const records = parse({
    delimiter: separator,
    relax_quotes: true,
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: RECORD_SIZE,
  });
  // A failure of either end ends both, and is passed to the reader of the records.
  pipeline(Readable.from(decoded(path, encoding)), records, () => {});
  try {
    yield* records as AsyncIterable<string[]>;
  } catch (error) {
    throw new TaskFailure('source-unreadable', `The text is not CSV: ${(error as Error).message}`);
  }
}

async function* decoded(path: string, encoding: string): AsyncGenerator<string> {
  const decoder = new TextDecoder(encoding);
  for await (const bytes of createReadStream(path) as AsyncIterable<Buffer>)
    yield decoder.decode(bytes, { stream: true });
  yield decoder.decode();
}

async function loadEncoding(path: string): Promise<{ encoding: string; reason: string; isGuess?: boolean }> {
  const named = await namedEncoding(path);
  if (named) return { encoding: named, reason: 'its .cpg file says so' };
  const head = await readHead(path, HEAD_BYTES);
  if (head[0] === 0xff && head[1] === 0xfe)
    return { encoding: 'utf-16le', reason: 'its byte order mark says so' };
  if (head[0] === 0xfe && head[1] === 0xff)
    return { encoding: 'utf-16be', reason: 'its byte order mark says so' };
  if (await isUtf8File(path)) return { encoding: 'utf-8', reason: 'all of it is valid' };
  return { encoding: likelyEncoding(head), reason: 'it is not UTF-8 and this fits best', isGuess: true };
}

/** Encodings of the Encoding Standard. ISO 8859-1 is read as windows-1252, as it requires. */
export function likelyEncoding(head: Uint8Array): string {
  const match = analyse(head).find(({ name }) => name !== 'ASCII' && name !== 'UTF-8' && isEncoding(name));
  return match ? new TextDecoder(match.name).encoding : 'windows-1252';
}

function isEncoding(label: string): boolean {
  try {
    return new TextDecoder(label).encoding !== '';
  } catch {
    return false;
  }
}

/** Returns the content of `data.csv.cpg` next to `data.csv`: a label, or the number of a code page. */
async function namedEncoding(path: string): Promise<string | undefined> {
  const text = await readFile(`${path}.cpg`, 'latin1').catch(() => undefined);
  return text === undefined ? undefined : parseEncodingLabel(text);
}

/** The encoding that a .cpg file names: by a label, or by the number of a code page. */
export function parseEncodingLabel(text: string): string | undefined {
  const label = text.trim().replace(/^(?:cp|ansi ?)?(\d{3,4})$/i, 'windows-$1');
  return label && isEncoding(label) ? new TextDecoder(label).encoding : undefined;
}

/** A character can start in one chunk and end in the next, so its bytes are kept until then. */
export async function isUtf8File(path: string): Promise<boolean> {
  let rest: Uint8Array = Buffer.alloc(0);
  for await (const chunk of createReadStream(path, { highWaterMark: HEAD_BYTES }) as AsyncIterable<Buffer>) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const whole = findCharacterEnd(bytes);
    if (!isUtf8(bytes.subarray(0, whole))) return false;
    rest = bytes.subarray(whole);
  }
  return isUtf8(rest);
}

/** Returns the end of the last character that is certainly complete. */
export function findCharacterEnd(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if (byte < 0x80) return bytes.length - back + 1;
    if (byte >= 0xc0) return bytes.length - back;
  }
  return bytes.length;
}

async function readHead(path: string, size: number): Promise<Uint8Array> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** The separator that is most often in the first line, outside of quotes: as OGR's driver finds it. */
function parseSeparator(text: string): string {
  const line = (/^(?:[^"\r\n]|"[^"]*")*/.exec(text)?.[0] ?? '').replace(/"[^"]*"/g, '');
  const counts = [',', ';', '\t', '|'].map((separator) => ({
    separator,
    count: line.split(separator).length - 1,
  }));
  return counts.reduce((most, one) => (one.count > most.count ? one : most)).separator;
}
