import type { Collection, VectorCollection } from '../../../core/collection.js';
import { CRS84 } from '../../../core/crs.js';
import type { Exchange } from '../../../core/operation.js';
import type { Box } from '../../../core/tasks.js';
import {
  extentInSet,
  TILE_MATRIX_SETS,
  type TileMatrixSet,
  tileLimits,
  tileMatrixDocument,
} from '../../../core/tile-matrix.js';
import { formatLinks, type Link, META_FORMATS } from '../common.js';
import { matrixSetsOf, tileFormats } from './formats.js';

export const TILES_PATH = '/ogc/tiles';

const REL = 'http://www.opengis.net/def/rel/ogc/1.0';

/** `tiles`, or `collections/{id}/tiles`: the path a tileset lives under. */
export function tilesetBase(collection: Collection | undefined): string {
  return collection ? `${TILES_PATH}/collections/${collection.layerId}/tiles` : `${TILES_PATH}/tiles`;
}

export function extentOf(collections: readonly Collection[]): Box | undefined {
  const boxes = collections.map((c) => c.extent84).filter((box): box is Box => box !== undefined);
  if (boxes.length === 0) return undefined;
  return [
    Math.min(...boxes.map((b) => b[0])),
    Math.min(...boxes.map((b) => b[1])),
    Math.max(...boxes.map((b) => b[2])),
    Math.max(...boxes.map((b) => b[3])),
  ];
}

interface TilesetSubject {
  collections: readonly Collection[];
  collection: Collection | undefined;
}

export function tilesetItem(x: Exchange, set: TileMatrixSet, subject: TilesetSubject) {
  const base = tilesetBase(subject.collection);
  return {
    title: subject.collection?.title ?? 'All collections',
    dataType: subject.collections.some(holdsFeatures) ? 'vector' : 'map',
    crs: set.crs.uri,
    tileMatrixSetId: set.id,
    tileMatrixSetURI: set.uri,
    links: [
      {
        href: `${x.baseUrl}${base}/${set.id}`,
        rel: 'self',
        type: 'application/json',
        title: `Tileset ${set.id}`,
      },
      {
        href: `${x.baseUrl}${TILES_PATH}/tileMatrixSets/${set.id}`,
        rel: `${REL}/tiling-scheme`,
        type: 'application/json',
        title: set.title,
      },
    ] as Link[],
  };
}

/** Whether tiles of the collection can carry features. */
function holdsFeatures(collection: Collection): boolean {
  return collection.kind === 'vector' || (collection.kind === 'archive' && collection.format === 'mvt');
}

export function tilesetsDocument(x: Exchange, subject: TilesetSubject) {
  return {
    tilesets: matrixSetsOf(subject.collection).map((set) => tilesetItem(x, set, subject)),
    links: formatLinks(x, tilesetBase(subject.collection), META_FORMATS),
  };
}

export function tilesetDocument(x: Exchange, set: TileMatrixSet, subject: TilesetSubject, query = '') {
  const base = tilesetBase(subject.collection);
  const item = tilesetItem(x, set, subject);
  const extent = extentOf(subject.collections);
  const inSet = extent && extentInSet(set, extent);
  const formats = tileFormats(subject.collections);
  const tileLinks = formats.map(({ name, mediaType }) => ({
    href: `${x.baseUrl}${base}/${set.id}/{tileMatrix}/{tileRow}/{tileCol}?f=${name}${query ? selection(subject, mediaType) : ''}`,
    rel: 'item',
    type: mediaType,
    templated: true,
  }));
  const attribution = subject.collection?.kind === 'archive' ? subject.collection.attribution : undefined;
  return {
    ...item,
    description: subject.collection?.description ?? '',
    ...(attribution ? { attribution } : {}),
    mediaTypes: formats.map(({ mediaType }) => mediaType),
    ...(inSet
      ? { tileMatrixSetLimits: zoomsOf(set, subject.collection).map((zoom) => tileLimits(set, zoom, inSet)) }
      : {}),
    ...(extent
      ? {
          boundingBox: {
            lowerLeft: [extent[0], extent[1]],
            upperRight: [extent[2], extent[3]],
            crs: CRS84.uri,
          },
        }
      : {}),
    layers: subject.collections.flatMap(layersOf),
    links: [
      ...formatLinks(x, `${base}/${set.id}`, META_FORMATS, query),
      item.links[1]!,
      ...tileLinks,
    ] as Link[],
  };
}

/** The `collections` parameter of a dataset's tiles: vector tiles refuse rasters, so it names none there. */
function selection(subject: TilesetSubject, type: string): string {
  if (subject.collection) return '';
  const shown = subject.collections.filter((c) => type === 'image/png' || c.kind === 'vector');
  return `&collections=${shown.map((c) => c.layerId).join(',')}`;
}

/** Zoom levels that have tiles. */
function zoomsOf(set: TileMatrixSet, collection: Collection | undefined): number[] {
  const [first, last] =
    collection?.kind === 'archive' ? [collection.minZoom, collection.maxZoom] : [0, set.maxZoom];
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

function layersOf(collection: Collection) {
  if (collection.kind === 'archive')
    return collection.vectorLayers.map((id) => ({ id, title: id, dataType: 'vector' }));
  if (collection.kind !== 'vector') return [];
  const { id, title } = collection;
  return [{ id, title, dataType: 'vector', geometryDimension: dimensionOf(collection) }];
}

function dimensionOf(collection: VectorCollection): number | undefined {
  const type = collection.source.geometryType;
  if (type.includes('Point')) return 0;
  if (type.includes('Line')) return 1;
  return type.includes('Polygon') ? 2 : undefined;
}

export function tileMatrixSetsDocument(x: Exchange) {
  return {
    tileMatrixSets: TILE_MATRIX_SETS.map((set) => ({
      id: set.id,
      title: set.title,
      uri: set.uri,
      crs: set.crs.uri,
      links: [
        {
          href: `${x.baseUrl}${TILES_PATH}/tileMatrixSets/${set.id}`,
          rel: `${REL}/tiling-scheme`,
          type: 'application/json',
          title: set.title,
        },
      ] as Link[],
    })),
    links: formatLinks(x, `${TILES_PATH}/tileMatrixSets`, META_FORMATS),
  };
}

export function tileMatrixSetDocument(set: TileMatrixSet) {
  return {
    id: set.id,
    title: set.title,
    uri: set.uri,
    crs: set.crs.uri,
    orderedAxes: set.crs.geographic ? ['Lon', 'Lat'] : ['X', 'Y'],
    wellKnownScaleSet: set.wellKnownScaleSet,
    tileMatrices: Array.from({ length: set.maxZoom + 1 }, (_, zoom) => tileMatrixDocument(set, zoom)),
  };
}

export function tiledCollectionDocument(x: Exchange, collection: Collection) {
  const path = `${TILES_PATH}/collections/${collection.layerId}`;
  const bbox = collection.extent84 ?? [-180, -90, 180, 90];
  const rel = holdsFeatures(collection) ? `${REL}/tilesets-vector` : `${REL}/tilesets-map`;
  return {
    id: String(collection.layerId),
    name: collection.id,
    title: collection.title,
    description: collection.description,
    extent: { spatial: { bbox: [bbox], crs: CRS84.uri } },
    crs: collection.crs.map((crs) => crs.uri),
    // A CRS without a code has no URI that clients could send.
    storageCrs: collection.storageCrs.epsg > 0 ? collection.storageCrs.uri : undefined,
    links: [
      ...formatLinks(x, path, META_FORMATS),
      { href: `${x.baseUrl}${path}/tiles`, rel, type: 'application/json', title: 'Tilesets' },
    ] as Link[],
  };
}

export function tiledCollectionsDocument(x: Exchange, collections: readonly Collection[]) {
  return {
    collections: collections.map((c) => tiledCollectionDocument(x, c)),
    links: formatLinks(x, `${TILES_PATH}/collections`, META_FORMATS),
  };
}
