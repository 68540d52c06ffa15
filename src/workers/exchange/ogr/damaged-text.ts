/** Text of a staging GeoPackage that is not UTF-8, or whose characters a program has replaced. */

import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { connect, quote } from '../../providers/geopackage/connection.js';
import { isUtf8File, likelyEncoding } from '../csv/text.js';

/** Character that decoders write for invalid bytes. */
const REPLACEMENT = '\uFFFD';
/** Values whose bytes show the encoding. */
const MAX_SAMPLES = 200;
const MAX_SHOWN = 40;
/** Formats of text in UTF-8, whose files name the encoding nowhere. */
const JSON_NAME = /\.((geo|topo)?jsons?|geojsonl|ndjson)$/i;
const CSV_NAME = /\.[ctp]sv$/i;

const REPLACED_CHARACTERS = `Characters of the file are replaced by U+FFFD (${REPLACEMENT}), because a program read them in a wrong encoding.`;
const EXPORT_AGAIN = 'Export the data again from its origin.';

/** Counts the features of a text in UTF-8 that contain replaced characters. */
export class ReplacedCharacters {
  #features = 0;
  #first = 0;

  add(text: string, feature: number): void {
    if (!text.includes(REPLACEMENT)) return;
    if (this.#features === 0) this.#first = feature;
    this.#features += 1;
  }

  /** Notes about these features. */
  get notes(): string[] {
    if (this.#features === 0) return [];
    return [
      `${REPLACED_CHARACTERS} Features: ${this.#features}, the first one is feature ${this.#first}. ${EXPORT_AGAIN}`,
    ];
  }
}

interface DamagedText {
  field: string;
  /** Number of the first feature. */
  feature: number;
  text: string;
  /** Number of damaged values, and of their fields. */
  values: number;
  fields: number;
  /** Values that are not UTF-8. */
  samples: readonly Buffer[];
}

/** Returns a sentence about text that is not valid in a table that was made of a file. Undefined if all text is valid. */
export async function describeDamagedText(
  source: string,
  staged: { path: string; table: string },
): Promise<string | undefined> {
  const found = findDamagedText(staged);
  if (!found) return undefined;
  const { field, feature, text, values, fields } = found;
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
  const first = `the first one is ${field} of feature ${feature}, ${JSON.stringify(shown)}`;
  const count =
    values === 1
      ? `1 value is damaged: ${field} of feature ${feature}, ${JSON.stringify(shown)}`
      : `${values} values of ${fields === 1 ? '1 property' : `${fields} properties`} are damaged: ${first}`;
  const encoding = await guessEncoding(source, found.samples);
  if (encoding === undefined) return `${REPLACED_CHARACTERS} ${count}. ${EXPORT_AGAIN}`;
  const format = JSON_NAME.test(source) ? 'The file is not UTF-8, as JSON must be' : 'Text is not UTF-8';
  return `${format}. ${count}. The encoding is probably ${encoding}. Save the file as UTF-8.`;
}

/** Returns the encoding of values that are not UTF-8. Undefined if the file itself contains U+FFFD. */
async function guessEncoding(path: string, samples: readonly Buffer[]): Promise<string | undefined> {
  if (samples.length > 0) return likelyEncoding(Buffer.concat(samples));
  const isText = JSON_NAME.test(path) || CSV_NAME.test(path);
  if (!isText || (await isUtf8File(path))) return undefined;
  return likelyEncoding(Buffer.concat(await readForeignParts(path)));
}

/** Chunks of a file that are not UTF-8, without their ASCII characters in front. */
async function readForeignParts(path: string): Promise<Buffer[]> {
  const parts: Buffer[] = [];
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    const at = chunk.findIndex((byte) => byte >= 0x80);
    if (at >= 0) parts.push(chunk.subarray(Math.max(0, at - 1000)));
    if (parts.length === 4) break;
  }
  return parts;
}

function findDamagedText({ path, table }: { path: string; table: string }): DamagedText | undefined {
  const db = connect(path, true);
  try {
    const columns = db.prepare('SELECT name, type, pk FROM pragma_table_info(?)').all(table) as Column[];
    const key = columns.find(({ pk }) => pk === 1)?.name ?? 'rowid';
    const texts = columns.filter(({ type }) => /^(TEXT|JSON)/i.test(type));
    db.function('is_damaged', { deterministic: true }, (bytes: unknown) => (isDamaged(bytes) ? 1 : 0));
    let found: DamagedText | undefined;
    for (const { name } of texts) {
      const column = quote(name);
      // Most text is ASCII, which the pattern excludes.
      const rows = db
        .prepare(
          `SELECT ${quote(key)} AS feature, CAST(${column} AS BLOB) AS bytes FROM ${quote(table)}
           WHERE ${column} GLOB ? AND is_damaged(CAST(${column} AS BLOB))`,
        )
        .iterate(NOT_ASCII) as IterableIterator<{ feature: number; bytes: Buffer }>;
      found = addRows(found, name, rows);
    }
    return found;
  } finally {
    db.close();
  }
}

interface Column {
  name: string;
  type: string;
  pk: number;
}

const NOT_ASCII = '*[^\u0001-\u007F]*';
const REPLACED = Buffer.from(REPLACEMENT);

const isDamaged = (bytes: unknown) =>
  bytes instanceof Uint8Array && (!isUtf8(bytes) || Buffer.from(bytes).includes(REPLACED));

function addRows(
  before: DamagedText | undefined,
  field: string,
  rows: Iterable<{ feature: number; bytes: Buffer }>,
): DamagedText | undefined {
  let found = before;
  let values = 0;
  const samples = [...(before?.samples ?? [])];
  for (const { feature, bytes } of rows) {
    values++;
    if (samples.length < MAX_SAMPLES && !isUtf8(bytes)) samples.push(bytes);
    if (!found || feature < found.feature)
      found = { values: 0, fields: 0, samples, ...found, field, feature, text: bytes.toString() };
  }
  if (!found || values === 0) return found;
  return { ...found, values: (before?.values ?? 0) + values, fields: (before?.fields ?? 0) + 1, samples };
}
