import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ApiError } from '../../../core/errors/errors.js';

/** An array of a Zarr store, as its metadata says. */
export interface ZarrArray {
  name: string;
  dataType: string;
  shape: number[];
  chunks: number[];
  dimensionNames: string[];
  compressor: string | null;
}

export interface ZarrMetadata {
  zarrFormat: 2 | 3;
  arrays: ZarrArray[];
}

/** Bytes of one metadata document; arrays of one store, and groups below each other. */
const MAX_BYTES = 4 << 20;
const MAX_ARRAYS = 1000;
const MAX_DEPTH = 4;

/**
 * Reads the metadata of a local store, whose folder contains no links. Throws `invalid-request` for a folder that is
 * not a Zarr store.
 */
export async function readZarrMetadata(folder: string): Promise<ZarrMetadata> {
  if (await isFile(join(folder, 'zarr.json'))) return { zarrFormat: 3, arrays: [] };
  const all = await readJson(join(folder, '.zmetadata'));
  const documents = (all?.['metadata'] as Documents | undefined) ?? (await gather(folder, '', 0));
  const names = Object.keys(documents).filter((key) => /(^|\/)\.zarray$/.test(key));
  if (names.length === 0)
    throw new ApiError('invalid-request', 'The folder is not a Zarr store: it has no array.');
  if (names.length > MAX_ARRAYS)
    throw new ApiError('invalid-request', `The store has more than ${MAX_ARRAYS} arrays.`);
  return {
    zarrFormat: 2,
    arrays: names.map((key) => buildArray(key.replace(/\/?\.zarray$/, ''), documents)),
  };
}

type Json = Record<string, unknown>;
/** Metadata documents by their path in the store. */
type Documents = Record<string, Json>;

function buildArray(name: string, documents: Documents): ZarrArray {
  const path = name === '' ? '' : `${name}/`;
  const array = documents[`${path}.zarray`];
  const attributes = documents[`${path}.zattrs`];
  const names = attributes?.['_ARRAY_DIMENSIONS'];
  const compressor = array?.['compressor'] as Json | null | undefined;
  return {
    name: name === '' ? '/' : name,
    dataType: text(array?.['dtype']) ?? 'structured',
    shape: numbers(array?.['shape']),
    chunks: numbers(array?.['chunks']),
    dimensionNames: Array.isArray(names) ? names.map(String).slice(0, 32) : [],
    compressor: text(compressor?.['id']) ?? null,
  };
}

const text = (value: unknown) => (typeof value === 'string' ? value.slice(0, 100) : undefined);

function numbers(value: unknown): number[] {
  return Array.isArray(value) ? value.slice(0, 32).map((one) => Math.trunc(Number(one)) || 0) : [];
}

/** Documents of a store without a consolidated one. */
async function gather(folder: string, prefix: string, depth: number): Promise<Documents> {
  const documents: Documents = {};
  if (depth > MAX_DEPTH) return documents;
  const entries = await readdir(join(folder, prefix), { withFileTypes: true });
  const array = await readJson(join(folder, prefix, '.zarray'));
  if (array) {
    documents[`${prefix}.zarray`] = array;
    documents[`${prefix}.zattrs`] = (await readJson(join(folder, prefix, '.zattrs'))) ?? {};
    return documents;
  }
  for (const entry of entries.filter((one) => one.isDirectory()).slice(0, MAX_ARRAYS))
    Object.assign(documents, await gather(folder, `${prefix}${entry.name}/`, depth + 1));
  return documents;
}

async function readJson(path: string): Promise<Json | undefined> {
  const size = await stat(path).then(
    (entry) => entry.size,
    () => undefined,
  );
  if (size === undefined) return undefined;
  if (size > MAX_BYTES) throw new ApiError('invalid-request', 'The metadata of the store is too large.');
  try {
    const value: unknown = JSON.parse(await readFile(path, 'utf8'));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json;
  } catch (cause) {
    throw new ApiError('invalid-request', 'The metadata of the store is not JSON.', { cause });
  }
  throw new ApiError('invalid-request', 'The metadata of the store is not a JSON object.');
}

function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (entry) => entry.isFile(),
    () => false,
  );
}
