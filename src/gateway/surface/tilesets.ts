import {
  findAttribution,
  hasFeatures,
  hasStoredTiles,
  hasVectorTiles,
} from '../../core/catalog/abilities.js';
import { type Collection, jointExtent, type VectorCollection } from '../../core/catalog/collection.js';
import type { Box } from '../../core/geometry/box.js';
import { CRS84 } from '../../core/geometry/crs.js';
import { type Format, JSON_FORMAT, linkType, TILEJSON_FORMAT } from '../../core/http/media.js';
import type { Exchange } from '../../core/http/operation.js';
import type { FieldType } from '../../core/sources/vector-source.js';
import type { VectorLayerMetadata } from '../../core/tiles/archives.js';
import { type MatrixSets, type TileMatrixSet, WEB_MERCATOR_QUAD } from '../../core/tiles/tile-matrix.js';
import { setsFor } from '../../services/tiles/extent.js';
import { isMade, listMatrixSets, tileFormats } from '../../services/tiles/formats.js';
import { listTileProperties } from '../../services/tiles/layer.js';
import { findLimits, listZooms } from '../../services/tiles/limits.js';
import { formatLinks, type Link, META_FORMATS } from './common.js';

/** Tilesets (OGC 17-083r4, clause 8; OGC 20-057, clauses 8 and 9): of one collection, or of the dataset. */

export const TILES_PATH = '/ogc/tiles';

export const REL = 'http://www.opengis.net/def/rel/ogc/1.0';

export interface TilesetSubject {
  /** What the tiles contain: data, or maps of the data, which are images only. */
  as: 'data' | 'map';
  collections: readonly Collection[];
  /** Undefined for the dataset. */
  collection: Collection | undefined;
  /** True when the client has chosen the collections of the dataset. */
  chosen?: boolean;
}

/** Formats of the description of a tile set. TileJSON can describe only Web Mercator tiles. */
export function tilesetFormats({ as }: TilesetSubject, set: TileMatrixSet): readonly Format[] {
  return set === WEB_MERCATOR_QUAD && as === 'data' ? [...META_FORMATS, TILEJSON_FORMAT] : META_FORMATS;
}

/** Path of the list of tile sets. The sets are below it. */
function tilesetsPath({ as, collection }: Pick<TilesetSubject, 'as' | 'collection'>): string {
  const path = as === 'map' ? '/ogc/maps' : TILES_PATH;
  const owner = collection ? `${path}/collections/${collection.layerId}` : path;
  return as === 'map' ? `${owner}/map/tiles` : `${owner}/tiles`;
}

export function mapTilesetsPath(collection: Collection | undefined): string {
  return tilesetsPath({ as: 'map', collection });
}

/** Formats of the tiles, the best first. */
export function listTileFormats({ as, collections }: TilesetSubject): readonly Format[] {
  const formats = tileFormats(collections);
  return as === 'map' ? formats.filter(isImage) : formats;
}

const isImage = ({ mediaType }: Format) => mediaType.startsWith('image/');

/** URL template of tiles, for a place such as `{tileMatrix}/{tileRow}/{tileCol}`. */
export function tileTemplate(
  x: Exchange,
  set: TileMatrixSet,
  subject: TilesetSubject,
  { place, format }: { place: string; format: Format },
): string {
  const query = subject.chosen ? selection(subject, format) : '';
  return `${x.baseUrl}${tilesetsPath({ as: 'data', collection: subject.collection })}/${set.id}/${place}?f=${format.name}${query}`;
}

/** The `collections` parameter of a dataset's tiles: vector tiles refuse rasters, so it names none there. */
function selection({ collections }: TilesetSubject, format: Format): string {
  const layers = collections.filter((c) => isImage(format) || hasFeatures(c));
  return `&collections=${layers.map((c) => c.layerId).join(',')}`;
}

/** Entry of a tile set in a list, sufficient for requesting its tiles. */
function tilesetItem(x: Exchange, set: TileMatrixSet, subject: TilesetSubject) {
  const extent = jointExtent(subject.collections);
  const limits = findLimits(set, subject.collections, listZooms(set, subject.collections));
  const formats = listTileFormats(subject);
  return {
    title: subject.collection?.title ?? 'All collections',
    dataType: subject.as === 'data' && subject.collections.some(hasVectorTiles) ? 'vector' : 'map',
    crs: set.crsDocument,
    tileMatrixSetId: set.id,
    tileMatrixSetURI: set.uri,
    tileMatrixSetLimits: limits.length > 0 ? limits : undefined,
    mediaTypes: formats.map(({ mediaType }) => mediaType),
    boundingBox: extent && boundingBox(extent),
    links: [
      {
        href: `${x.baseUrl}${tilesetsPath(subject)}/${set.id}`,
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
      ...formats.map((format) => ({
        href: tileTemplate(x, set, subject, { place: '{tileMatrix}/{tileRow}/{tileCol}', format }),
        rel: 'item',
        type: linkType(format),
        title: `Tiles as ${format.name.toUpperCase()}`,
        templated: true,
      })),
    ] as Link[],
  };
}

/** Document of the tile sets whose grids cover the data. */
export function tilesetsDocument(x: Exchange, matrixSets: MatrixSets, subject: TilesetSubject) {
  const { collection, collections } = subject;
  const offered =
    collection && !isMade(collection)
      ? listMatrixSets(collection, matrixSets)
      : setsFor(jointExtent(collections), matrixSets);
  return {
    tilesets: offered.map((set) => tilesetItem(x, set, subject)),
    links: formatLinks(x, tilesetsPath(subject), META_FORMATS),
  };
}

export function tilesetDocument(x: Exchange, set: TileMatrixSet, subject: TilesetSubject) {
  const { collection, collections } = subject;
  const item = tilesetItem(x, set, subject);
  const extent = jointExtent(collections);
  const zooms = listZooms(set, collections);
  return {
    ...item,
    description: collection?.description ?? '',
    version: collection?.version,
    attribution: findAttribution(collection),
    centerPoint: extent && centerPoint(set, zooms, extent),
    layers: collections.flatMap((one) => listLayers(set, one)),
    links: [
      ...formatLinks(x, `${tilesetsPath(subject)}/${set.id}`, tilesetFormats(subject, set), x.query),
      // Its own page is among those above.
      ...item.links.filter(({ rel }) => rel !== 'self'),
      ...collections.flatMap((one) => geodataLinks(x, one)),
    ] as Link[],
  };
}

/** Links to other representations of the tile data (OGC 20-057, 10.2). */
function geodataLinks(x: Exchange, collection: Collection): Link[] {
  const href = `${x.baseUrl}${TILES_PATH}/collections/${collection.layerId}`;
  return [{ href, rel: `${REL}/geodata`, type: JSON_FORMAT.mediaType, title: collection.title }];
}

function boundingBox([west, south, east, north]: Box) {
  return {
    lowerLeft: [west, south],
    upperRight: [east, north],
    crs: CRS84.uri,
    orderedAxes: ['Lon', 'Lat'],
  };
}

/** Middle of an extent in CRS84, which may cross the antimeridian. */
export function computeCentre([west, south, east, north]: Box): [number, number] {
  const turn = west > east ? 360 : 0;
  const middle = (west + east + turn) / 2;
  return [rounded(middle > 180 ? middle - 360 : middle), rounded((south + north) / 2)];
}

const rounded = (degrees: number) => Math.round(degrees * 1e7) / 1e7;

/** Zoom level of WebMercatorQuad at which an extent fills about one screen. */
export function computeExtentLevel([west, , east]: Box): number {
  const width = west > east ? east - west + 360 : east - west;
  return Math.max(0, Math.min(16, Math.floor(Math.log2(360 / Math.max(width, 1e-9))) + 1));
}

/** Initial view (17-083r4, 8.3.1.4): the centre, at the matrix that shows the whole extent. */
function centerPoint(set: TileMatrixSet, zooms: readonly number[], extent: Box) {
  const level = computeExtentLevel(extent);
  const zoom = zooms.find((place) => set.matrices[place]!.level >= level) ?? zooms.at(-1);
  if (zoom === undefined) return undefined;
  const { id, scaleDenominator, cellSize } = set.matrices[zoom]!;
  return { coordinates: computeCentre(extent), crs: CRS84.uri, tileMatrix: id, scaleDenominator, cellSize };
}

function listLayers(set: TileMatrixSet, collection: Collection): object[] {
  if (hasStoredTiles(collection)) return collection.vectorLayers.map(archivedLayer);
  const zooms = listZooms(set, [collection]);
  const { id, title, description, extent84 } = collection;
  return [
    {
      id,
      title,
      description: description || undefined,
      dataType: hasFeatures(collection) ? 'vector' : 'coverage',
      geometryDimension: hasFeatures(collection) ? findDimension(collection) : undefined,
      minTileMatrix: set.matrices[zooms[0] ?? 0]!.id,
      maxTileMatrix: set.matrices[zooms.at(-1) ?? 0]!.id,
      boundingBox: extent84 && boundingBox(extent84),
      propertiesSchema: hasFeatures(collection) ? propertiesSchema(collection) : undefined,
    },
  ];
}

function findDimension(collection: VectorCollection): number | undefined {
  const type = collection.source.geometryType;
  if (type.includes('Point')) return 0;
  if (type.includes('Line')) return 1;
  return type.includes('Polygon') ? 2 : undefined;
}

/** Types of values in vector tiles: what is neither number nor boolean is text. */
const TYPES: Partial<Record<FieldType, string>> = {
  integer: 'integer',
  number: 'number',
  boolean: 'boolean',
};

function propertiesSchema(collection: VectorCollection) {
  const carried = listTileProperties(collection);
  const fields = collection.source.fields.filter(({ name }) => carried?.includes(name) ?? true);
  const members = fields.map(({ name, type, title, description }) => {
    return [name, { title, description, type: TYPES[type] ?? 'string' }] as const;
  });
  return { type: 'object', properties: Object.fromEntries(members) };
}

const SCHEMA_TYPES: Readonly<Record<string, string>> = {
  number: 'number',
  boolean: 'boolean',
  string: 'string',
};

/** Layer of an archive from its metadata. MBTiles does not define the names of types. */
function archivedLayer({ id, description, fields }: VectorLayerMetadata) {
  const properties = Object.entries(fields).map(([name, words]) => {
    const type = SCHEMA_TYPES[words.toLowerCase()];
    return [name, type ? { type } : { description: words }];
  });
  const propertiesSchema = { type: 'object', properties: Object.fromEntries(properties) };
  return { id, title: id, description, dataType: 'vector', propertiesSchema };
}
