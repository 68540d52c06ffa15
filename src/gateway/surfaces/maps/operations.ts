import { notFound } from '../../../core/errors.js';
import { LIMITS } from '../../../core/limits.js';
import { JSON_FORMAT } from '../../../core/media.js';
import { defineOperation, type Exchange, type Operation } from '../../../core/operation.js';
import { list, pathString } from '../../../core/params.js';
import { openApiDocument } from '../../http/openapi.js';
import * as pages from '../../pages/index.js';
import { Symbols } from '../../services/symbols.js';
import { findByLayerId, type Link, type SurfaceDeps, selectCollections, surfaceBasics } from '../common.js';
import { drawable, drawMap, inStyle } from './draw.js';
import { legendOperations } from './legend.js';
import { COMMON, collectionId, IMAGES, MAPS_PATH, mapQuery, RESPONSES } from './params.js';
import { styleOperations } from './styles.js';
import { symbolOperations } from './symbols.js';
import { mapTilesetOperations } from './tilesets.js';
import { type MapsDeps, viewerOperation } from './viewer.js';

const MAPS_CONFORMANCE = [
  'core',
  'collection-map',
  'dataset-map',
  'collections-selection',
  'crs',
  'png',
  'jpeg',
  'tiff',
  'scaling',
].map((name) => `https://www.opengis.net/spec/ogcapi-maps-1/1.0/conf/${name}`);

/** Rendered maps: OGC API Maps part 1. */
export function mapsOperations(deps: MapsDeps): Operation[] {
  const operations: Operation[] = [];
  operations.push(
    ...surfaceBasics({
      ...COMMON,
      path: MAPS_PATH,
      title: 'Maps',
      description: 'Rendered maps of every collection.',
      conformance: MAPS_CONFORMANCE,
      apiPaths: [`${MAPS_PATH}/openapi.json`],
      formats: [JSON_FORMAT],
      links: (x) => mapLinks(x, deps),
      landingPage: pages.landingPage,
      conformancePage: pages.conformancePage,
      api: (x) =>
        openApiDocument(
          { title: 'Graticule Maps', description: 'OGC API Maps', serverUrl: x.baseUrl },
          operations,
        ),
    }),
    defineOperation({
      ...COMMON,
      id: 'maps.getDatasetMap',
      path: `${MAPS_PATH}/map`,
      summary: 'Map of several collections',
      tag: 'Maps',
      params: {
        collections: list('collections', LIMITS.collectionsPerRequest, 'Identifiers; all when absent.'),
        ...mapQuery,
      },
      formats: IMAGES,
      responses: RESPONSES,
      run(x) {
        return drawMap(
          x,
          deps,
          selectCollections(deps.visible(x.principal), x.params.collections, drawable),
          x.params,
        );
      },
    }),
    defineOperation({
      ...COMMON,
      id: 'maps.getCollectionMap',
      path: `${MAPS_PATH}/collections/{collectionId}/map`,
      summary: 'Map of a collection',
      tag: 'Maps',
      params: { collectionId, ...mapQuery },
      formats: IMAGES,
      responses: RESPONSES,
      run(x) {
        const collection = findByLayerId(deps.visible(x.principal), x.params.collectionId);
        if (!drawable(collection)) throw notFound('map of', collection.id);
        return drawMap(x, deps, [collection], x.params);
      },
    }),
    defineOperation({
      ...COMMON,
      id: 'maps.getStyledMap',
      path: `${MAPS_PATH}/collections/{collectionId}/styles/{styleId}/map`,
      summary: 'Styled map of a collection',
      tag: 'Maps',
      params: {
        collectionId,
        styleId: pathString('styleId', 'Identifier of a style of the collection.'),
        ...mapQuery,
      },
      formats: IMAGES,
      responses: { ...RESPONSES, 501: { description: 'Tile archives have no styles' } },
      run(x) {
        const collection = findByLayerId(deps.visible(x.principal), x.params.collectionId);
        return drawMap(x, deps, [inStyle(collection, x.params.styleId)], x.params);
      },
    }),
    ...styleOperations(deps),
    ...mapTilesetOperations(deps),
    ...legendOperations(deps),
    viewerOperation(deps),
    ...symbolOperations(new Symbols(deps.pools)),
  );
  return operations;
}

function mapLinks(x: Exchange, { visible }: SurfaceDeps): Link[] {
  const rel = 'http://www.opengis.net/def/rel/ogc/1.0/map';
  const link = (path: string, title: string): Link => ({
    href: `${x.baseUrl}${MAPS_PATH}/${path}`,
    rel,
    type: 'image/png',
    title,
  });
  const each = visible(x.principal)
    .collections.filter(drawable)
    .map((c) => link(`collections/${c.layerId}/map`, `Map of ${c.title}`));
  const styles = { rel: 'http://www.opengis.net/def/rel/ogc/1.0/styles', type: 'application/json' };
  const all = { ...styles, href: `${x.baseUrl}${MAPS_PATH}/styles`, title: 'Styles of all collections' };
  return [link('map', 'Map of all collections'), all, ...each];
}
