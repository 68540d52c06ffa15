import { closeSync, openSync, readFileSync, readSync, realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { TaskFailure } from '../../../core/errors/failure.js';
import { isBelow } from '../../../core/files/folders.js';

/** Documents of a STAC catalog on disk. Their content is untrusted. */

export type StacJson = Record<string, unknown>;

/** Document that was skipped, with the reason. */
export interface DocumentRefusal {
  path: string;
  reason: string;
}

export interface StacItemEntry {
  value: unknown;
  /** File, with the position in it if it contains several documents. */
  place: string;
  /** Base folder of relative hrefs. */
  folder: string;
  /** The nearest collection above. */
  collection: string | undefined;
}

export interface CatalogVisitor {
  /** Takes a collection document. */
  collection(document: StacJson): void;
  item(item: StacItemEntry): void;
  refuse(path: string, reason: string): void;
}

const MAX_DEPTH = 16;
const MAX_DOCUMENTS = 250_000;
const MAX_DOCUMENT_BYTES = 4_194_304;
/** Maximum bytes of a file with a complete ItemCollection. */
const MAX_COLLECTION_BYTES = 268_435_456;
/** Maximum bytes of a line. */
const MAX_LINE_BYTES = 4_194_304;
const CHILDREN = new Set(['child', 'item', 'items']);

/** Reads a catalog tree, an ItemCollection or lines of items. Throws `source-unreadable` for other files. */
export function readCatalog(path: string, reader: CatalogVisitor): void {
  const real = realpathSync(path);
  if (/\.(ndjson|jsonl|geojsonl)$/i.test(path)) return readLines(real, reader);
  const document = readJson(real, MAX_COLLECTION_BYTES);
  if (typeof document === 'string') throw new TaskFailure('source-unreadable', document);
  if (document['type'] === 'FeatureCollection') return readFeatures(real, document, reader);
  if (document['type'] === 'Catalog' || document['type'] === 'Collection')
    return readTree(real, document, reader);
  throw new TaskFailure(
    'source-unreadable',
    'A single STAC item cannot be published. Put it into a catalog or an ItemCollection.',
  );
}

interface Node {
  path: string;
  document: StacJson;
  depth: number;
  collection: string | undefined;
}

/** Follows links to children and items, each file once, never outside the root's folder. */
function readTree(root: string, document: StacJson, reader: CatalogVisitor): void {
  const folder = dirname(root);
  const visited = new Set([root]);
  const open: Node[] = [{ path: root, document, depth: 0, collection: undefined }];
  for (let node = open.pop(); node; node = open.pop()) {
    const { collection, depth } = enterCollection(node, reader);
    const children = listChildren(node, folder, reader).filter((child) => !visited.has(child));
    if (depth >= MAX_DEPTH && children.length > 0) {
      reader.refuse(node.path, `The catalog is deeper than ${MAX_DEPTH} levels.`);
      continue;
    }
    for (const child of children) {
      if (visited.size >= MAX_DOCUMENTS)
        throw new TaskFailure('too-large', `The catalog has more than ${MAX_DOCUMENTS} documents.`);
      visited.add(child);
      const read = readJson(child, MAX_DOCUMENT_BYTES);
      if (typeof read === 'string') reader.refuse(child, read);
      else if (read['type'] === 'Feature')
        reader.item({ value: read, place: child, folder: dirname(child), collection });
      else if (read['type'] === 'FeatureCollection') readFeatures(child, read, reader, collection);
      else open.push({ path: child, document: read, depth: depth + 1, collection });
    }
  }
}

function enterCollection({ path, document, depth, collection }: Node, reader: CatalogVisitor) {
  if (document['type'] !== 'Collection') return { depth, collection };
  const { id } = document;
  if (typeof id !== 'string' || id === '') {
    reader.refuse(path, 'The collection has no id.');
    return { depth, collection };
  }
  reader.collection(document);
  return { depth, collection: id };
}

/** Real paths of the documents that a catalog links to, in its order. */
function listChildren({ path, document }: Node, root: string, reader: CatalogVisitor): string[] {
  const links = Array.isArray(document['links']) ? (document['links'] as unknown[]) : [];
  return links.flatMap((link) => {
    const { rel, href } = (typeof link === 'object' && link !== null ? link : {}) as StacJson;
    if (typeof rel !== 'string' || !CHILDREN.has(rel) || typeof href !== 'string') return [];
    const file = localFile(href, dirname(path), root);
    if (file.path === undefined)
      reader.refuse(path, `The link to ${href.slice(0, 200)} was not followed: ${file.why}.`);
    return file.path === undefined ? [] : [file.path];
  });
}

/** Returns the regular file that a relative href names, with links resolved. It must be below the root. */
export function localFile(href: string, folder: string, root: string): { path?: string; why: string } {
  if (/^[a-z][\w+.-]*:/i.test(href) || href.startsWith('//')) return { why: 'it is not relative' };
  try {
    const path = realpathSync(resolve(folder, decodeURIComponent(href.replace(/[?#].*$/, ''))));
    if (!isBelow(path, root)) return { why: 'it is outside the folder' };
    return statSync(path).isFile() ? { path, why: '' } : { why: 'it is no file' };
  } catch {
    return { why: 'there is no such file' };
  }
}

/** The document, or why it cannot be read. */
function readJson(path: string, maxBytes: number): StacJson | string {
  try {
    if (statSync(path).size > maxBytes) return `The document is larger than ${maxBytes} bytes.`;
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return typeof value === 'object' && value !== null
      ? (value as StacJson)
      : 'The document is not a JSON object.';
  } catch (error) {
    return `The document is not JSON: ${(error as Error).message.slice(0, 120)}`;
  }
}

function readFeatures(path: string, document: StacJson, reader: CatalogVisitor, collection?: string): void {
  const features = Array.isArray(document['features']) ? (document['features'] as unknown[]) : [];
  features.forEach((value, i) => {
    reader.item({ value, place: `${path}#${i}`, folder: dirname(path), collection });
  });
}

/** One item a line, read in blocks: the file may be large. */
function readLines(path: string, reader: CatalogVisitor): void {
  let number = 0;
  for (const line of lines(path)) {
    number++;
    const place = `${path}#${number}`;
    if (line.trim() === '') continue;
    try {
      reader.item({ value: JSON.parse(line), place, folder: dirname(path), collection: undefined });
    } catch (error) {
      if (error instanceof TaskFailure) throw error;
      reader.refuse(place, `The line is not JSON: ${(error as Error).message.slice(0, 120)}`);
    }
  }
}

function* lines(path: string): Generator<string> {
  const file = openSync(path, 'r');
  const block = Buffer.allocUnsafe(1_048_576);
  let rest = Buffer.alloc(0);
  try {
    for (let read = readSync(file, block); read > 0; read = readSync(file, block)) {
      let text = Buffer.concat([rest, block.subarray(0, read)]);
      for (let end = text.indexOf(10); end >= 0; end = text.indexOf(10)) {
        yield text.toString('utf8', 0, end);
        text = text.subarray(end + 1);
      }
      rest = text;
      if (rest.length > MAX_LINE_BYTES)
        throw new TaskFailure('too-large', `A line is longer than ${MAX_LINE_BYTES} bytes.`);
    }
    if (rest.length > 0) yield rest.toString('utf8');
  } finally {
    closeSync(file);
  }
}
