import type { Collection } from '../../../core/collection.js';
import { CRS84 } from '../../../core/crs.js';
import type { Exchange } from '../../../core/operation.js';
import type { Box } from '../../../core/tasks.js';
import { tileMatrixSets } from '../../../core/tile-matrix.js';
import { formatLinks, type Link, META_FORMATS } from '../common.js';

export const TILES_PATH = '/ogc/tiles';

export const REL = 'http://www.opengis.net/def/rel/ogc/1.0';

/** The box in CRS84 around collections; the whole turn of longitudes when one of them crosses the antimeridian. */
export function extentOf(collections: readonly Collection[]): Box | undefined {
  const boxes = collections.map((c) => c.extent84).filter((box): box is Box => box !== undefined);
  if (boxes.length === 0) return undefined;
  if (boxes.length === 1) return boxes[0];
  const wraps = boxes.some(([west, , east]) => west > east);
  return [
    wraps ? -180 : Math.min(...boxes.map((b) => b[0])),
    Math.min(...boxes.map((b) => b[1])),
    wraps ? 180 : Math.max(...boxes.map((b) => b[2])),
    Math.max(...boxes.map((b) => b[3])),
  ];
}

/** Whether tiles of the collection can carry features. */
export function holdsFeatures(collection: Collection): boolean {
  return collection.kind === 'vector' || (collection.kind === 'archive' && collection.format === 'mvt');
}

export function tileMatrixSetsDocument(x: Exchange) {
  return {
    tileMatrixSets: tileMatrixSets().map((set) => ({
      id: set.id,
      title: set.title,
      uri: set.uri,
      crs: set.crsDocument,
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
