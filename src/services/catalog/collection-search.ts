import { byData, hasCoverage, hasFeatures, hasStoredTiles } from '../../core/catalog/abilities.js';
import type { Collection } from '../../core/catalog/collection.js';
import type { Box } from '../../core/geometry/box.js';
import { plainBoxes } from '../../core/geometry/box.js';
import { type SourceName, sourceNames } from './source-names.js';

export const COLLECTION_KINDS = ['point', 'line', 'polygon', 'vector', 'raster', 'tiles'] as const;
export type CollectionKind = (typeof COLLECTION_KINDS)[number];

export const ORDERS = ['source', 'title', 'size'] as const;
export type CollectionOrder = (typeof ORDERS)[number];

export interface CollectionSearch {
  /** Words that all have to be in names, titles, descriptions, attributes or sources. */
  readonly words: readonly string[];
  readonly kind?: CollectionKind | undefined;
  /** Boxes of which at least one must intersect the extent. An empty list matches no extent. */
  readonly boxes?: readonly Box[] | undefined;
  readonly order: CollectionOrder;
}

export interface FoundCollection {
  readonly collection: Collection;
  readonly name: SourceName;
}

const byText = new Intl.Collator('en', { numeric: true, sensitivity: 'base' }).compare;

/** The collections that match a search, in its order. */
export function searchCollections(
  collections: readonly Collection[],
  { words, kind, boxes, order }: CollectionSearch,
): FoundCollection[] {
  const names = sourceNames(collections);
  const hits = collections
    .filter((one) => kind === undefined || isOfKind(one, kind))
    .filter((one) => boxes === undefined || meets(one, boxes))
    .map((collection) => ({ collection, name: names.get(collection)! }))
    .filter(({ collection, name }) => hasWords(collection, name, words));
  return hits.sort(COMPARE[order]);
}

type Compare = (a: FoundCollection, b: FoundCollection) => number;

const byTitle: Compare = (a, b) =>
  byText(a.collection.title, b.collection.title) || byText(a.name.source, b.name.source);

const COMPARE: Record<CollectionOrder, Compare> = {
  title: byTitle,
  source: (a, b) => byText(a.name.group, b.name.group) || byTitle(a, b),
  size: (a, b) => computeSize(b.collection) - computeSize(a.collection) || byTitle(a, b),
};

function computeSize(collection: Collection): number {
  if (hasFeatures(collection)) return collection.featureCount ?? 0;
  return hasCoverage(collection) ? collection.raster.width * collection.raster.height : 0;
}

function isOfKind(collection: Collection, kind: CollectionKind): boolean {
  if (kind === 'tiles') return hasStoredTiles(collection);
  if (kind === 'raster') return hasCoverage(collection);
  if (!hasFeatures(collection)) return false;
  if (kind === 'vector') return true;
  const type = collection.source.geometryType;
  const ending = { point: 'Point', line: 'LineString', polygon: 'Polygon' }[kind];
  return type.endsWith(ending);
}

function meets({ extent84 }: Collection, boxes: readonly Box[]): boolean {
  if (!extent84) return false;
  const own = plainBoxes(extent84);
  return boxes
    .flatMap((box) => plainBoxes(box))
    .some((a) => own.some((b) => a[0] <= b[2] && b[0] <= a[2] && a[1] <= b[3] && b[1] <= a[3]));
}

function hasWords(collection: Collection, { source }: SourceName, words: readonly string[]): boolean {
  if (words.length === 0) return true;
  const text = plain([...listTexts(collection), source].join('\n'));
  return words.every((word) => text.includes(plain(word)));
}

function listTexts(collection: Collection): string[] {
  const { id, title, description, kind } = collection;
  const common = [id, title, description, kind];
  const own = byData<string[]>(collection, {
    features: ({ source }) => [source.geometryType, ...source.fields.map(({ name }) => name)],
    coverage: ({ bands }) => bands.map((band) => band.description),
    storedTiles: ({ vectorLayers }) => vectorLayers.map((layer) => layer.id),
  });
  return [...common, ...own];
}

/** The text without case and accents, which do not distinguish words. */
const plain = (text: string) => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
