/** Causes of vector files that no driver opens, with what to do. */

import { createReadStream } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { basename, dirname, extname } from 'node:path';
import { TaskFailure } from '../../../core/errors/failure.js';
import { storageFailure } from '../../../core/errors/storage-faults.js';
import { readFileStart } from '../../files/start-of-file.js';
import { jsonDriver } from '../../gdal/vector-drivers.js';
import { JsonSyntax, type SyntaxFault } from '../json-syntax.js';

const JSON_NAME = /\.(geo|topo)?jsons?$|\.geojsonl$|\.ndjson$/i;
const SEQUENCE_NAME = /\.(geojson[ls]|ndjson|jsonl)$/i;
const XML_NAME = /\.(kml|gml|gpx)$/i;
const SHAPEFILE = /\.shp$/i;
const CHUNK_BYTES = 1 << 20;
/** Bytes after which the search for a syntax error ends. */
const MAX_CHECKED_BYTES = 1 << 28;
/** Header of a shapefile, and the offset of its length in 16-bit words. */
const [SHAPE_HEADER, SHAPE_LENGTH] = [100, 24];
const MAX_NAMES = 8;

/** Names of formats by extension. */
const FORMATS: Readonly<Record<string, string>> = {
  '.fgb': 'a FlatGeobuf',
  '.gml': 'a GML',
  '.kml': 'a KML',
  '.gpx': 'a GPX',
  '.dxf': 'a DXF',
  '.dgn': 'a DGN',
  '.tab': 'a MapInfo',
  '.mif': 'a MapInfo',
  '.shp': 'a shapefile',
  '.gpkg': 'a GeoPackage',
};

/** Returns the failure for a vector file that could not be opened because of `error`. Reads the file for the cause. */
export async function describeUnreadable(path: string, error: unknown): Promise<TaskFailure> {
  const failure = error instanceof TaskFailure ? error : storageFailure(error);
  if (failure) return failure;
  const cause = await findCause(path, error).catch(() => undefined);
  const message =
    cause ?? `${describeKind(path)}, or is damaged. Export it again, for example as GeoPackage.`;
  return new TaskFailure(
    'source-unreadable',
    message,
    error instanceof Error ? error.message : String(error),
  );
}

/** Fails for a file whose name says JSON and whose text does not start as JSON. */
export async function requireJsonText(path: string): Promise<void> {
  if (!JSON_NAME.test(path)) return;
  const start = await readFileStart(path, 4096);
  const text = start.toString('utf8').replace(/^\uFEFF/, '');
  if (jsonDriver(path, text) !== undefined) return;
  throw new TaskFailure('source-unreadable', describeOtherText(start, 'JSON'));
}

function describeKind(path: string): string {
  const format = FORMATS[extname(path).toLowerCase()];
  return format === undefined
    ? 'The file is of no supported vector format'
    : `The file is not ${format} file`;
}

async function findCause(path: string, error: unknown): Promise<string | undefined> {
  if (SHAPEFILE.test(path)) return (await findMissingParts(path)) ?? (await findShapefileFault(path));
  if (JSON_NAME.test(path)) return findJsonFault(path);
  if (XML_NAME.test(path)) return findXmlFault(path, error);
  return undefined;
}

/** Files that a shapefile cannot be read without, or whose attributes are lost without. */
async function listMissingParts(path: string, required = ['.shx', '.dbf']): Promise<string[]> {
  const stem = basename(path, extname(path)).toLowerCase();
  const names = new Set((await readdir(dirname(path))).map((name) => name.toLowerCase()));
  return required.filter((extension) => !names.has(stem + extension));
}

async function findMissingParts(path: string): Promise<string | undefined> {
  const missing = await listMissingParts(path);
  if (!missing.includes('.shx')) return undefined;
  const stem = basename(path, extname(path));
  const [subject, verb, object] = missing.length > 1 ? ['files', 'are', 'them'] : ['file', 'is', 'it'];
  const names = missing.map((extension) => stem + extension).join(' and ');
  return `The ${subject} ${names} ${verb} missing. Copy ${object} into the folder of ${basename(path)}.`;
}

async function findShapefileFault(path: string): Promise<string | undefined> {
  const head = await readFileStart(path, SHAPE_HEADER);
  if (head.length >= SHAPE_LENGTH + 4 && head.readInt32BE(0) !== 9994)
    return `${describeKind(path)}: it does not start with the file code 9994. Export it again.`;
  return describeTruncation(path);
}

/** The sentence for a .shp file that is shorter than its header states. */
export async function describeTruncation(path: string): Promise<string | undefined> {
  const { size } = await stat(path);
  const head = await readFileStart(path, SHAPE_HEADER);
  const stated = head.length < SHAPE_HEADER ? SHAPE_HEADER : head.readInt32BE(SHAPE_LENGTH) * 2;
  if (size >= stated) return undefined;
  return `The .shp file is truncated: it ends at byte ${format(size)} of at least ${format(stated)}. Copy it again.`;
}

async function findJsonFault(path: string): Promise<string | undefined> {
  const start = await readFileStart(path, CHUNK_BYTES);
  const text = start.toString('utf8').replace(/^\uFEFF/, '');
  const driver = jsonDriver(path, text);
  if (driver === undefined) return describeOtherText(start, 'JSON');
  const fault = await findSyntaxFault(path, driver === 'GeoJSONSeq' || SEQUENCE_NAME.test(path));
  if (fault) return describeSyntaxFault(fault);
  const names = start.length < CHUNK_BYTES ? listMembers(text) : undefined;
  const members = names === undefined ? '' : `: its members are ${names}`;
  return `The JSON is valid, but is neither GeoJSON, TopoJSON nor Esri JSON${members}. Convert it to GeoJSON, or move it to another folder.`;
}

function listMembers(text: string): string | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    const names = Object.keys(value);
    if (names.length === 0) return undefined;
    return names.slice(0, MAX_NAMES).join(', ') + (names.length > MAX_NAMES ? ' and more' : '');
  } catch {
    return undefined;
  }
}

/** First syntax error in the checked bytes of a JSON file. */
async function findSyntaxFault(path: string, isSequence: boolean): Promise<SyntaxFault | undefined> {
  const syntax = new JsonSyntax(isSequence);
  const options = { highWaterMark: CHUNK_BYTES, end: MAX_CHECKED_BYTES - 1 };
  let bytes = 0;
  for await (const chunk of createReadStream(path, options) as AsyncIterable<Buffer>) {
    const part = bytes === 0 && chunk[0] === 0xef && chunk[1] === 0xbb ? chunk.fill(0x20, 0, 3) : chunk;
    bytes += chunk.length;
    const fault = syntax.read(part);
    if (fault) return fault;
  }
  return bytes < MAX_CHECKED_BYTES ? syntax.end() : undefined;
}

/** Message for the syntax error of a JSON file. Undefined for other files. */
export async function describeJsonFault(path: string): Promise<string | undefined> {
  if (!JSON_NAME.test(path)) return undefined;
  const fault = await findSyntaxFault(path, SEQUENCE_NAME.test(path));
  return fault && describeSyntaxFault(fault);
}

function describeSyntaxFault({ at, found, expected }: SyntaxFault): string {
  if (found === undefined)
    return `The JSON ends at byte ${format(at)}, where ${expected} is expected: the file is truncated. Copy or download it again.`;
  return `The JSON has ${JSON.stringify(found)} at byte ${format(at)}, where ${expected} is expected. Correct the text there.`;
}

/** Message for a text that does not start as its format does. */
function describeOtherText(start: Buffer, format: string): string {
  const isUtf16 = (start[0] === 0xff && start[1] === 0xfe) || (start[0] === 0xfe && start[1] === 0xff);
  if (isUtf16) return `The text is UTF-16. Save the ${format} as UTF-8.`;
  const text = start.toString('latin1').trimStart();
  if (/^<(!doctype\s+html|html)/i.test(text))
    return 'The file is an HTML page, such as an error page of a download. Download the data again.';
  const shown = text.slice(0, 20).replace(/[^ -~]/g, '.');
  if (shown === '') return `The file has only white space. Export it again.`;
  return `The file is not ${format}: it starts with ${JSON.stringify(shown)}. Export it again, or give it the extension of its format.`;
}

async function findXmlFault(path: string, error: unknown): Promise<string | undefined> {
  const start = await readFileStart(path, 4096);
  const text = start
    .toString('latin1')
    .replaceAll('\0', '')
    .replace(/^[^<]{1,3}(?=<)/, '');
  if (!text.trimStart().startsWith('<')) return describeOtherText(start, 'XML');
  const { size } = await stat(path);
  const root = /<(\w+:)?(\w+)[\s>]/
    .exec(text.replace(/<\?[\s\S]*?\?>|<!--[\s\S]*?-->/g, ''))?.[0]
    ?.trim()
    .replace('>', '');
  if (root !== undefined && !(await endsWithTag(path, size)))
    return `The XML ends at byte ${format(size)} within an element: the file is truncated. Copy or download it again.`;
  const place = /line (\d+),? column (\d+)/i.exec(error instanceof Error ? error.message : String(error));
  if (place)
    return `The XML is not well-formed at line ${place[1]}, column ${place[2]}. Correct the text there.`;
  return undefined;
}

/** Returns true if the last characters of a file close an XML element. */
async function endsWithTag(path: string, size: number): Promise<boolean> {
  const file = await open(path);
  try {
    const length = Math.min(size, 1024);
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return /(<\/[^<>]+>|\/>|-->|\?>)\s*\0*$/.test(buffer.toString('latin1').replaceAll('\0', ''));
  } finally {
    await file.close();
  }
}

const format = (bytes: number) => bytes.toLocaleString('en');
