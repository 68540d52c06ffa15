import { isVectorArchive } from '../tiles/archives.js';
import type { ArchiveCollection, Collection, RasterCollection, VectorCollection } from './collection.js';
import type { ServiceProtocol } from './layer-settings.js';

/**
 * What a collection can do. Surfaces, pages and services ask for abilities and never for the kind of a collection, so
 * that a new kind declares here what it can do, and all that rests on the ability serves it.
 */
interface Abilities {
  /** Features: pages of items, edits, events, vector tiles encoded on request. */
  readonly features: boolean;
  /** Values on a grid: coverages, positions, time and height axes. */
  readonly coverage: boolean;
  /** Tiles that are served as they are stored, in their one format and matrix set. */
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

/** Whether a collection is on a surface. */
export function isServed({ protocols }: Collection, protocol: ServiceProtocol): boolean {
  return protocols === undefined || protocols.includes(protocol);
}

/** What stands for a collection by what its data is. */
export interface ByData<T> {
  features(collection: VectorCollection): T;
  coverage(collection: RasterCollection): T;
  storedTiles(collection: ArchiveCollection): T;
}

export function byData<T>(collection: Collection, ways: ByData<T>): T {
  if (hasFeatures(collection)) return ways.features(collection);
  return hasCoverage(collection) ? ways.coverage(collection) : ways.storedTiles(collection);
}

/** Cursor of the last edit that is in; 0 for what is never edited. */
export function getEditCursor(collection: Collection): number {
  return hasFeatures(collection) ? collection.cursor : 0;
}

/** Who is to be named with the data; may hold markup. */
export function findAttribution(collection: Perhaps): string | undefined {
  const own = hasStoredTiles(collection) ? collection.attribution : undefined;
  return collection?.about?.attribution ?? own;
}
