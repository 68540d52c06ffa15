import { createReadStream, createWriteStream } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import type { PageIdsTask } from '../../../core/exchange/ingest.js';
import { GEOJSON_GEOMETRIES } from '../../../core/geometry/geojson-types.js';
import { compactJson, elementsIn, type JsonText, membersIn } from '../../../core/values/json-text.js';
import { refused } from '../../storage/remote/allowed-hosts.js';
import { isObject, type RemoteJson } from './json.js';

/** Number of bytes in one write. */
const BLOCK = 1 << 20;

export interface AppendedPage {
  /** Offset in the file at which the next page starts. */
  readonly offset: number;
  readonly count: number;
  /** Ids of the features that have one, as JSON. */
  readonly ids: readonly string[];
}

/** The parts of a feature as JSON text, whose numbers keep all digits that the source server wrote. */
export interface FeatureJson {
  readonly id?: JsonText | undefined;
  readonly geometry: JsonText;
  readonly properties: JsonText;
}

/**
 * Writes features as lines of a GeoJSON text sequence, starting at an offset. Existing bytes after it belong to an
 * unfinished page. The features are on the disk when it resolves, so a job can record them.
 */
export async function append(
  path: string,
  offset: number,
  features: Iterable<FeatureJson>,
): Promise<AppendedPage> {
  const file = await open(path, offset === 0 ? 'w' : 'r+');
  try {
    await file.truncate(offset);
    const written = await write(file, offset, features);
    await file.datasync();
    return written;
  } finally {
    await file.close();
  }
}

async function write(
  file: FileHandle,
  start: number,
  features: Iterable<FeatureJson>,
): Promise<AppendedPage> {
  const ids: string[] = [];
  let offset = start;
  let count = 0;
  let block = '';
  const flush = async () => {
    const { bytesWritten } = await file.write(block, offset);
    offset += bytesWritten;
    block = '';
  };
  for (const feature of features) {
    const { id } = feature;
    if (id !== undefined && id !== 'null') ids.push(id);
    block += `${formatLine(feature)}\n`;
    count++;
    if (block.length >= BLOCK) await flush();
  }
  await flush();
  return { offset, count, ids };
}

/** Task `ingest.pageIds`. */
export async function readPageIds({ path, begin, end, idProperty }: PageIdsTask): Promise<string[] | null> {
  const text = await textBetween(path, begin, end);
  if (text === undefined) return null;
  return text.split('\n').flatMap((line) => {
    if (line === '') return [];
    const members = membersIn(line) ?? new Map<string, JsonText>();
    const value =
      idProperty === undefined ? members.get('id') : propertyIn(members.get('properties'), idProperty);
    return value === undefined || value === 'null' ? [] : [value];
  });
}

/** A property of a feature as JSON. */
export const propertyIn = (properties: JsonText | undefined, name: string): JsonText | undefined =>
  properties === undefined ? undefined : membersIn(properties)?.get(name);

async function textBetween(path: string, begin: number, end: number): Promise<string | undefined> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (!file) return undefined;
  try {
    if ((await file.stat()).size < end) return undefined;
    if (begin === end) return '';
    const { buffer } = await file.read(Buffer.alloc(end - begin), 0, end - begin, begin);
    return buffer.toString('utf8');
  } finally {
    await file.close();
  }
}

/** Only the members of a feature are kept. Links, bounding boxes and a CRS belong to the page. */
function formatLine({ id, geometry, properties }: FeatureJson): string {
  const key = id !== undefined && /^["\d-]/.test(id) ? `"id":${id},` : '';
  return `{"type":"Feature",${key}"geometry":${compactJson(geometry)},"properties":${compactJson(properties)}}`;
}

/** Task `ingest.collect`. */
export async function collect({ path, output }: { path: string; output: string }): Promise<null> {
  const { size } = await stat(path);
  // Commas separate the lines, and no comma follows the last line.
  const lines = createReadStream(path, { encoding: 'utf8', end: size - 2 });
  const collection = async function* (parts: AsyncIterable<string>) {
    yield '{"type":"FeatureCollection","features":[\n';
    for await (const part of parts) yield part.replaceAll('\n', ',\n');
    yield '\n]}\n';
  };
  await pipeline(lines, collection, createWriteStream(output));
  return null;
}

/** The features of the text of a page that `parsePageFeatures` has checked. */
export function splitFeatures(page: string): FeatureJson[] {
  const features = membersIn(page)?.get('features');
  return (elementsIn(features ?? '[]') ?? []).map(splitFeature);
}

/** The parts of the text of a feature. */
export function splitFeature(feature: JsonText): FeatureJson {
  const members = membersIn(feature)!;
  return {
    id: members.get('id'),
    geometry: members.get('geometry') ?? 'null',
    properties: isNull(members.get('properties')) ? '{}' : members.get('properties')!,
  };
}

const isNull = (json: JsonText | undefined) => json === undefined || json === 'null';

/** Returns the features of a page. Fails with `source-unreadable` for a page that is not a FeatureCollection. */
export function parsePageFeatures(page: RemoteJson): RemoteJson[] {
  const { type, features } = page;
  if (type !== 'FeatureCollection' || !Array.isArray(features))
    throw refused('a page is not a GeoJSON FeatureCollection');
  for (const feature of features)
    if (!isObject(feature) || feature['type'] !== 'Feature' || !isGeometry(feature['geometry']))
      throw refused('a page contains an entry that is not a GeoJSON feature');
  return features as RemoteJson[];
}

const GEOMETRIES: ReadonlySet<string> = new Set(GEOJSON_GEOMETRIES);

function isGeometry(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  return isObject(value) && GEOMETRIES.has(String(value['type']));
}
