import { hasVectorTiles, isServed } from '../../core/catalog/abilities.js';
import type { Collection } from '../../core/catalog/collection.js';
import { buildCrsUri, buildCrsUris, CRS84 } from '../../core/geometry/crs.js';
import type { Exchange } from '../../core/http/operation.js';
import type { MatrixSets } from '../../core/tiles/tile-matrix.js';
import { isMade } from '../../services/tiles/formats.js';
import {
  aboutLinks,
  aboutMembers,
  formatLinks,
  type Link,
  META_FORMATS,
  mapCollectionLink,
  stylesLink,
} from '../surface/common.js';
import { temporalExtent } from '../surface/temporal-extent.js';
import { mapTilesetsPath, REL, TILES_PATH } from '../surface/tilesets.js';

export function tileMatrixSetsDocument(x: Exchange, { all }: MatrixSets) {
  return {
    tileMatrixSets: all.map((set) => ({
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
  const rel = hasVectorTiles(collection) ? `${REL}/tilesets-vector` : `${REL}/tilesets-map`;
  return {
    id: String(collection.layerId),
    name: collection.id,
    title: collection.title,
    description: collection.description,
    ...aboutMembers(collection),
    extent: { spatial: { bbox: [bbox], crs: CRS84.uri }, temporal: temporalExtent(collection) },
    crs: buildCrsUris(collection.crs, x.baseUrl),
    storageCrs: buildCrsUri(collection.storageCrs, x.baseUrl),
    links: [
      ...formatLinks(x, path, META_FORMATS),
      { href: `${x.baseUrl}${path}/tiles`, rel, type: 'application/json', title: 'Tilesets' },
      ...(isMade(collection) && hasVectorTiles(collection) && isServed(collection, 'OgcMaps')
        ? [mapTilesets(x, collection)]
        : []),
      ...(isMade(collection) && isServed(collection, 'OgcMaps')
        ? [stylesLink(x.baseUrl, collection.layerId), mapCollectionLink(x.baseUrl, collection.layerId)]
        : []),
      ...aboutLinks(x.baseUrl, collection),
    ] as Link[],
  };
}

/** The same tiles as images, for clients that take a tileset for either vector or map tiles. */
function mapTilesets(x: Exchange, collection: Collection): Link {
  const href = `${x.baseUrl}${mapTilesetsPath(collection)}`;
  return { href, rel: `${REL}/tilesets-map`, type: 'application/json', title: 'Map tilesets' };
}

export const tiledListLinks = (x: Exchange): Link[] =>
  formatLinks(x, `${TILES_PATH}/collections`, META_FORMATS);
