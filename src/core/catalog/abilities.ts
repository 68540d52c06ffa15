import { isVectorArchive } from '../tiles/archives.js';
import type { ArchiveCollection, Collection, RasterCollection, VectorCollection } from './collection.js';
import type { ServiceProtocol } from './layer-settings.js';

/**
 * Abilities of a collection. APIs, pages and services test abilities and never the kind of a collection, so a new
 * kind of collection only declares its abilities here.
 */
interface Abilities {
  /** Features: pages of items, edits, events, vector tiles encoded on request. */
  readonly features: boolean;
  /** Values on a grid: coverages, positions, time and height axes. */
  readonly coverage: boolean;
  /** Stored tiles, served in their format and tile matrix set. */
  readonly storedTiles: boolean;
  /** It has a style and is drawn into maps and image tiles. */
  readonly drawing: boolean;
}

const NONE: Abilities = { features: false, coverage: false, storedTiles: false, drawing: false };

const ABILITIES: Readonly<Record<Collection['kind'], Abilities>> = {
  vector: { ...NONE, features: true, drawing: true },
  raster: { ...NONE, coverage: true, drawing: true },
  archive: { ...NONE, storedTiles: true },
};

type Perhaps = Collection | undefined;

export function hasFeatures(collection: Perhaps): collection is VectorCollection {
  return collection !== undefined && ABILITIES[collection.kind].features;
}

/** Whether all features of a collection are points. */
export function hasPoints(collection: Perhaps): boolean {
  return hasFeatures(collection) && collection.source.geometryType.endsWith('Point');
}

/** Whether features of a collection can be polygons. */
export function hasPolygons(collection: Perhaps): boolean {
  if (!hasFeatures(collection)) return false;
  const { geometryType } = collection.source;
  return geometryType.endsWith('Polygon') || geometryType.startsWith('Geometry');
}

export function hasCoverage(collection: Perhaps): collection is RasterCollection {
  return collection !== undefined && ABILITIES[collection.kind].coverage;
}

export function hasStoredTiles(collection: Perhaps): collection is ArchiveCollection {
  return collection !== undefined && ABILITIES[collection.kind].storedTiles;
}

export function isDrawable(collection: Perhaps): collection is VectorCollection | RasterCollection {
  return collection !== undefined && ABILITIES[collection.kind].drawing;
}

/** Whether tiles of a collection can carry features. */
export function hasVectorTiles(collection: Collection): boolean {
  return hasFeatures(collection) || (hasStoredTiles(collection) && isVectorArchive(collection.format));
}

/** Whether an API serves a collection. */
export function isServed({ protocols }: Collection, protocol: ServiceProtocol): boolean {
  return protocols === undefined || protocols.includes(protocol);
}

/** One function for each kind of data of a collection. */
export interface ByData<T> {
  features(collection: VectorCollection): T;
  coverage(collection: RasterCollection): T;
  storedTiles(collection: ArchiveCollection): T;
}

export function byData<T>(collection: Collection, ways: ByData<T>): T {
  if (hasFeatures(collection)) return ways.features(collection);
  return hasCoverage(collection) ? ways.coverage(collection) : ways.storedTiles(collection);
}

/** Cursor of the last applied edit. 0 for collections that are not editable. */
export function getEditCursor(collection: Collection): number {
  return hasFeatures(collection) ? collection.cursor : 0;
}

/** Attribution of the data. It can contain HTML. */
export function findAttribution(collection: Perhaps): string | undefined {
  const own = hasStoredTiles(collection) ? collection.attribution : undefined;
  return collection?.about?.attribution ?? own;
}
