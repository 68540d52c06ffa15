/** Definitions of coordinate reference systems in files, checked before GDAL reads them: PROJ opens files that they name. */

import { createReadStream } from 'node:fs';
import { TaskFailure } from '../../../core/errors/failure.js';
import { xmlUnescaped } from '../../../core/values/xml-text.js';
import { namesFile } from '../../../native/index.js';
import Database from '../../../native/sqlite.js';
import { findSidecar, readSidecar } from '../../gdal/sidecars.js';
import { readHead } from '../../gdal/vector-drivers.js';
import { readHeaderCrs } from './formats/flatgeobuf.js';

/** Maximum bytes of a definition, with the member or attribute that contains it. */
const MAX_DEFINITION = 1 << 20;
const CHUNK_BYTES = 4 << 20;
/** Longest form of the name of a member or attribute. */
const MAX_KEY = 128;

/**
 * Fails with `invalid-input` for a file in which a definition names another file, and for a file whose definitions
 * cannot be found.
 */
export async function requirePlainDefinitions(path: string): Promise<void> {
  const text = (await readHead(path)).trimStart();
  if (text.startsWith('SQLite format 3\0')) requirePlainTable(path);
  else if (text.startsWith('fgb')) (await readHeaderCrs(path)).forEach(requirePlain);
  else if (text.startsWith('<')) await requirePlainXml(path);
  else if ('{[\u001e'.includes(text.charAt(0))) await scanText(path, MEMBERS, definitionsOfMember);
}

/** Text that GDAL interprets as the path of a file with a definition. */
const PATH = /^\s*(file:|[/~]|\.\.?\/)/i;

function requirePlain(definition: string): void {
  if (!PATH.test(definition) && !namesFile(definition)) return;
  throw new TaskFailure(
    'invalid-input',
    'The coordinate reference system refers to a file, which is not supported.',
  );
}

/**
 * Checks the definitions of a GeoPackage. They must be in a table, because a view could return other definitions to
 * GDAL.
 */
function requirePlainTable(path: string): void {
  const db = new Database(path, { readonly: true, fileMustExist: true });
  try {
    const type = db
      .prepare("SELECT type FROM sqlite_master WHERE name = 'gpkg_spatial_ref_sys' COLLATE NOCASE")
      .pluck()
      .get();
    if (type === undefined) return;
    if (type !== 'table')
      throw new TaskFailure(
        'invalid-input',
        'The coordinate reference systems of the GeoPackage (gpkg_spatial_ref_sys) are not in a table.',
      );
    const rows = db.prepare('SELECT * FROM gpkg_spatial_ref_sys').iterate() as Iterable<object>;
    for (const row of rows)
      for (const [name, value] of Object.entries(row))
        if (/^definition/i.test(name)) requirePlain(decodeText(value));
  } catch (error) {
    // GDAL reports the problem of a damaged file.
    if (error instanceof TaskFailure) throw error;
  } finally {
    db.close();
  }
}

const decodeText = (value: unknown) =>
  value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value ?? '');

/** Each character of the names may be written as an escape. */
const MEMBERS = new RegExp(
  `["'](?:${['crs', 'spatialReference', 'coordRefSys'].map(escapable).join('|')})["']`,
  'g',
);

function escapable(name: string): string {
  const code = (letter: string) => letter.charCodeAt(0).toString(16);
  return [...name].map((letter) => `(?:${letter}|\\\\u00${code(letter)})`).join('');
}

/** The texts in the member of JSON whose name was found; none where it is a value. */
function definitionsOfMember(rest: string): string[] {
  const [before, mark] = /^\s*(.)?/.exec(rest)!;
  if (mark !== ':') {
    if (mark !== undefined && ',}]'.includes(mark)) return [];
    throw unclear();
  }
  const at = before.length;
  const value = rest.slice(at, endOfJson(rest, at));
  try {
    return [value, ...textsIn(JSON.parse(value))];
  } catch {
    throw unclear();
  }
}

/** Returns the end of the JSON value that starts after `at`. */
function endOfJson(text: string, at: number): number {
  let depth = 0;
  const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],]/gs;
  tokens.lastIndex = at;
  for (let found = tokens.exec(text); found; found = tokens.exec(text)) {
    const [token] = found;
    if (token === '{' || token === '[') depth += 1;
    else if (depth === 0 && !token.startsWith('"')) return found.index;
    else if (token === '}' || token === ']') depth -= 1;
    if (depth === 0 && token !== ',') return tokens.lastIndex;
  }
  throw unclear();
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/**
 * Attributes of GML. Without a document type (`requireNoDocumentType`) an element has only the attributes that it
 * names.
 */
const ATTRIBUTES = /srsName/g;

async function requirePlainXml(path: string): Promise<void> {
  await scanText(path, ATTRIBUTES, definitionsOfAttribute);
  const schema = await findSidecar(path, '.gfs');
  if (schema === undefined) return;
  const text = await readSidecar(schema);
  for (const [, name] of text.matchAll(/SRSName>([^<]*)</g)) requirePlain(xmlUnescaped(name!));
  requirePlain(`{${xmlUnescaped(text)}}`);
}

function definitionsOfAttribute(rest: string): string[] {
  const found = /^\s*=\s*(?:"([^"]*)"|'([^']*)')/.exec(rest);
  if (found) {
    const text = xmlUnescaped(found[1] ?? found[2]!);
    // References of other forms.
    if (/&[#\w]/.test(text)) throw unclear();
    return [text];
  }
  if (/^\s*(=\s*(["'][\s\S]*)?)?$/.test(rest)) throw unclear();
  return [];
}

const unclear = () =>
  new TaskFailure(
    'invalid-input',
    'The coordinate reference system of the file cannot be read, or is too long.',
  );

/** Calls `read` with the text after each match, and checks the definitions that it returns. */
async function scanText(
  path: string,
  keys: RegExp,
  read: (rest: string, key: string) => string[],
): Promise<void> {
  let text = '';
  const scan = (isLast: boolean) => {
    let done = 0;
    for (const { 0: key, index } of text.matchAll(keys)) {
      const end = index + key.length;
      if (!isLast && end + MAX_DEFINITION > text.length) {
        text = text.slice(index);
        return;
      }
      for (const one of read(text.slice(end, end + MAX_DEFINITION), key)) requirePlain(one);
      done = end;
    }
    text = text.slice(Math.max(done, text.length - MAX_KEY));
  };
  const chunks = createReadStream(path, { highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>;
  for await (const chunk of chunks) {
    // All relevant characters are ASCII in any encoding.
    text += chunk.toString('latin1');
    scan(false);
  }
  scan(true);
}
