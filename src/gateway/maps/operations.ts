import { isDrawable } from '../../core/catalog/abilities.js';
import type { Collection } from '../../core/catalog/collection.js';
import { findNumbered } from '../../core/catalog/find.js';
import { withoutSurface } from '../../core/catalog/other-surfaces.js';
import { defineOperation, type Exchange, type Operation } from '../../core/http/operation.js';
import { defineListParam, pathString } from '../../core/http/params.js';
import { LIMITS } from '../../core/kit/limits.js';
import { mapSettings } from '../../services/catalog/layers/map-settings.js';
import { drawMap, inStyle } from '../../services/maps/draw.js';
import type { MapRequest } from '../../services/maps/request.js';
import { openApiDocument } from '../http/openapi.js';
import { PartialReplies } from '../http/replies/partial-replies.js';
import * as pages from '../pages/index.js';
import { META_FORMATS, selectCollections, surfaceBasics } from '../surface/common.js';
import { mapReply } from '../surface/map-reply.js';
import { symbolOperations } from '../surface/symbols.js';
import { mapCollectionOperations } from './collection-operations.js';
import { datasetMembers, landingLinks } from './documents.js';
import { legendOperations } from './legend.js';
import {
  IMAGES,
  MAP_OPERATION,
  MAPS_PATH,
  mapCollectionParam,
  mapFormat,
  mapQuery,
  RESPONSES,
} from './params.js';
import { styleOperations } from './styles.js';
import { mapTilesetOperations } from './tilesets.js';
import { type MapsDeps, viewerOperations } from './viewer.js';

/** Classes that a test of their name covers. */
export const MAPS_CONFORMANCE: readonly string[] = [
  ...['core', 'landing-page', 'json', 'html'].map(
    (name) => `http://www.opengis.net/spec/ogcapi-common-1/1.0/conf/${name}`,
  ),
  'http://www.opengis.net/spec/ogcapi-common-2/1.0/conf/collections',
  'http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/tilesets-list',
  ...[
    'core',
    'collection-map',
    'dataset-map',
    'styled-map',
    'tilesets',
    'collections-selection',
    'crs',
    'scaling',
    'background',
    'png',
    'jpeg',
    'tiff',
  ].map((name) => `https://www.opengis.net/spec/ogcapi-maps-1/1.0/conf/${name}`),
];

/** Rendered maps: OGC API Maps part 1. */
export function mapsOperations(deps: MapsDeps): Operation[] {
  const partial = new PartialReplies();
  const operations: Operation[] = [];
  const drawables = (x: Exchange) => deps.visible(x.principal).onEarth.collections.filter(isDrawable);
  const draw = (x: Exchange, params: MapRequest, collections: readonly Collection[], resource?: Collection) =>
    partial.reply(x, async () => {
      const format = mapFormat(x, mapSettings(collections[0]?.maps ?? {}));
      return mapReply(x, await drawMap(x, deps, collections, params, { resource, format }));
    });
  operations.push(
    ...surfaceBasics({
      ...MAP_OPERATION,
      path: MAPS_PATH,
      title: 'Maps',
      description: 'Rendered maps of every collection.',
      conformance: MAPS_CONFORMANCE,
      apiPaths: [`${MAPS_PATH}/openapi.json`],
      formats: META_FORMATS,
      links: (x) => landingLinks(x, drawables(x)),
      members: (x) => datasetMembers(x, drawables(x)),
      landingPage: pages.buildLandingPage,
      conformancePage: pages.buildConformancePage,
      api: (x) =>
        openApiDocument(
          { title: 'Graticule Maps', description: 'OGC API Maps', serverUrl: x.baseUrl },
          operations,
        ),
    }),
    defineOperation({
      ...MAP_OPERATION,
      id: 'maps.getDatasetMap',
      path: `${MAPS_PATH}/map`,
      summary: 'Map of several collections',
      tag: 'Maps',
      params: {
        collections: defineListParam(
          'collections',
          LIMITS.collectionsPerRequest,
          'Ids or URLs. Default: all.',
        ),
        ...mapQuery,
      },
      formats: IMAGES,
      responses: RESPONSES,
      run(x) {
        const collections = selectCollections(
          x,
          deps.visible(x.principal).onEarth,
          x.params.collections,
          isDrawable,
        );
        return draw(x, x.params, collections);
      },
    }),
    defineOperation({
      ...MAP_OPERATION,
      id: 'maps.getCollectionMap',
      path: `${MAPS_PATH}/collections/{collectionId}/map`,
      summary: 'Map of a collection',
      tag: 'Maps',
      params: { collectionId: mapCollectionParam, ...mapQuery },
      formats: IMAGES,
      responses: RESPONSES,
      run(x) {
        const collection = findNumbered(deps.visible(x.principal), x.params.collectionId);
        if (!isDrawable(collection)) throw withoutSurface('map of', collection);
        return draw(x, x.params, [collection], collection);
      },
    }),
    defineOperation({
      ...MAP_OPERATION,
      id: 'maps.getStyledMap',
      path: `${MAPS_PATH}/collections/{collectionId}/styles/{styleId}/map`,
      summary: 'Styled map of a collection',
      tag: 'Maps',
      params: {
        collectionId: mapCollectionParam,
        styleId: pathString('styleId', 'Identifier of a style of the collection.'),
        ...mapQuery,
      },
      formats: IMAGES,
      responses: { ...RESPONSES, 501: { description: 'Tile archives do not have styles' } },
      run(x) {
        const collection = findNumbered(deps.visible(x.principal), x.params.collectionId);
        const styled = inStyle(collection, x.params.styleId);
        return draw(x, x.params, [styled], collection);
      },
    }),
    ...mapCollectionOperations(deps),
    ...styleOperations(deps),
    ...mapTilesetOperations(deps),
    ...legendOperations(deps),
    ...viewerOperations(deps),
    ...symbolOperations(deps.symbols, {
      about: { ...MAP_OPERATION, tag: 'Fonts and icons' },
      ids: 'maps',
      path: MAPS_PATH,
      params: {},
      sprite: 'default',
    }),
  );
  return operations;
}
