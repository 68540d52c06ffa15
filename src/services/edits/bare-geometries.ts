import { createReadStream, createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { extname } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { TaskFailure } from '../../core/errors/failure.js';

/** Conversion of files with only geometries into CSV, which OGR reads. */

/** Longest geometry that OGR reads from a line. */
const MAX_CHARACTERS = 9_000_000;

export function holdsBareGeometries(path: string): boolean {
  return ['.wkt', '.wkb'].includes(extname(path).toLowerCase());
}

/**
 * Writes the geometries of a file into a CSV file with one column: WKT, one after another, or WKB, a single one or lines of
 * hexadecimal digits. Fails with `source-unreadable` where there are none, or one is too long.
 */
export async function writeAsCsv(path: string, output: string): Promise<void> {
  const isText = extname(path).toLowerCase() === '.wkt';
  const geometries = isText ? parseWkt(path) : readWkb(path);
  await pipeline(Readable.from(parseCsv(isText ? 'wkt' : 'wkb', geometries)), createWriteStream(output));
}

async function* parseCsv(column: string, geometries: AsyncIterable<string>): AsyncGenerator<string> {
  yield `id,${column}\n`;
  let id = 0;
  for await (const geometry of geometries) yield `${++id},"${geometry.replaceAll('"', '""')}"\n`;
  if (id === 0) throw new TaskFailure('source-unreadable', 'The file has no geometry.');
}

const buildLines = (path: string) => createInterface({ input: createReadStream(path), crlfDelay: Infinity });

/**
 * The geometries of a file. A geometry ends with its last bracket, on the same line or a later one. The SRID of EWKT
 * is removed.
 */
async function* parseWkt(path: string): AsyncGenerator<string> {
  let text = '';
  let depth = 0;
  for await (const line of buildLines(path)) {
    if (text === '' && line.trim() === '') continue;
    text += ` ${line.replace(/^\uFEFF/, '').trim()}`;
    for (const character of line) depth += character === '(' ? 1 : character === ')' ? -1 : 0;
    requireLength(text);
    if (depth > 0) continue;
    yield text
      .replace(/^\s*SRID=\d+;/i, '')
      .replace(/;\s*$/, '')
      .trim();
    text = '';
    depth = 0;
  }
  if (text !== '') throw new TaskFailure('source-unreadable', 'The last geometry of the file is truncated.');
}

async function* readWkb(path: string): AsyncGenerator<string> {
  if (await isBinary(path)) {
    let digits = '';
    for await (const chunk of createReadStream(path)) {
      digits += (chunk as Buffer).toString('hex');
      requireLength(digits);
    }
    yield digits;
    return;
  }
  for await (const line of buildLines(path)) {
    const digits = line.trim().replace(/^(\\x|0x)/i, '');
    requireLength(digits);
    if (digits !== '') yield digits;
  }
}

/** Whether a file is binary: WKB starts with the byte order, which is not a digit. */
async function isBinary(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(1), 0, 1, 0);
    return bytesRead === 1 && buffer[0]! <= 1;
  } finally {
    await file.close();
  }
}

function requireLength(geometry: string): void {
  if (geometry.length > MAX_CHARACTERS)
    throw new TaskFailure('too-large', `A geometry of the file has more than ${MAX_CHARACTERS} characters.`);
}
