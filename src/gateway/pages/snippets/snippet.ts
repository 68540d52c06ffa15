import { hasCoverage, hasStoredTiles } from '../../../core/catalog/abilities.js';
import type { Collection } from '../../../core/catalog/collection.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { isVectorArchive } from '../../../core/tiles/archives.js';
import { type PageColors, withColors } from '../maps/color-form.js';

/** Data for the snippets of a collection. */
export interface SnippetSubject {
  /** Public origin and path prefix, without a trailing slash. */
  readonly baseUrl: string;
  readonly collection: Collection;
  /** The colours that the reader chose for a raster. */
  readonly colors?: PageColors | undefined;
}

/** Code that works as pasted. */
export interface Snippet {
  readonly id: string;
  /** The program or library that it is for. */
  readonly title: string;
  /** Text on where to paste it, and what it does. */
  readonly intro: string;
  readonly language: 'html' | 'sh' | 'python' | 'r';
  readonly code: string;
}

/** Placeholder for the style in a snippet; pages replace it with the chosen style. */
export const STYLE_MARK = '{style of the collection}';

/** Versions of the libraries in the snippets. The tests run the snippets with these versions. */
const LIBRARIES = { 'maplibre-gl': '6.17.0', ol: '10.11.0', leaflet: '1.9.4' } as const;

export function libraryUrl(name: keyof typeof LIBRARIES, file: string): string {
  return `https://unpkg.com/${name}@${LIBRARIES[name]}/dist/${file}`;
}

/** A string literal of JavaScript or Python that cannot end a script element early. */
export function literal(text: string): string {
  return JSON.stringify(text)
    .replace(/</g, '\\u003c')
    .replace(/\u2028/g, '\\u2028')
    .replace(/\u2029/g, '\\u2029');
}

/** A word of a POSIX shell. */
export function shellWord(text: string): string {
  return `'${text.replace(/'/g, `'\\''`)}'`;
}

/** A name that is safe for a file in any system. */
export function createSafeFileName(id: string): string {
  return id.replace(/[^\w.-]+/g, '_').replace(/^[.-]+/, '') || 'collection';
}

export function buildSnippetItemsUrl({ baseUrl, collection }: SnippetSubject): string {
  return `${baseUrl}/ogc/features/collections/${encodeURIComponent(collection.id)}/items`;
}

export function coverageUrl({ baseUrl, collection }: SnippetSubject): string {
  return `${baseUrl}/ogc/coverages/collections/${encodeURIComponent(collection.id)}/coverage`;
}

export function tilesUrl({ baseUrl, collection, colors }: SnippetSubject, format: string): string {
  return withColors(`${baseUrl}/tiles/${collection.layerId}/{z}/{x}/{y}.${format}`, colors);
}

/** Format of the image tiles; undefined if there are only vector tiles. */
export function findImageTileFormat(collection: Collection): string | undefined {
  if (!hasStoredTiles(collection)) return 'png';
  return isVectorArchive(collection.format) ? undefined : collection.format;
}

/** A coverage with more pixels than a response may contain is requested at a smaller scale. */
export function wholeCoverage(subject: SnippetSubject): string {
  const { collection } = subject;
  const url = `${coverageUrl(subject)}?f=geotiff`;
  if (!hasCoverage(collection)) return url;
  const { width, height } = collection.raster;
  const scale = Math.min(1, LIMITS.coverageSide / Math.max(width, height));
  return scale < 1 ? `${url}&scale-factor=${Math.floor(scale * 1000) / 1000}` : url;
}
