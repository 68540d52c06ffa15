import Type from 'typebox';
import type { Collection } from '../../core/catalog/collection.js';
import { findCollection } from '../../core/catalog/find.js';
import { type Format, HTML_FORMAT, JSON_FORMAT } from '../../core/http/media.js';
import { defineOperation, type Exchange, type Operation } from '../../core/http/operation.js';
import { hasItems } from '../../services/stac/footprints.js';
import { openApiDocument } from '../http/openapi.js';
import * as pages from '../pages/index.js';
import { createPageReply } from '../pages/page-reply.js';
import { stacCatalogPage } from '../pages/stac/catalog.js';
import { stacCollectionPage } from '../pages/stac/collection.js';
import type { ItemList } from '../pages/stac/items.js';
import { documentReply, surfaceBasics } from '../surface/common.js';
import { chosenCollections, find, finderParams } from '../surface/finder.js';
import { assetOperation } from './asset.js';
import { STAC_CONFORMANCE } from './conformance.js';
import { catalogDocument, stacCollectionDocument, stacCollectionsDocument } from './documents.js';
import { createStacItemOperations, searchItems } from './item-operations.js';
import { itemsPath, readItemList } from './item-pages.js';
import { readsWhole, STAC_OPERATION, STAC_PATH, type StacDeps, stacCollectionParam } from './params.js';
import { queryablesOperations } from './queryables.js';

export type { StacDeps } from './params.js';

const FORMATS: readonly Format[] = [JSON_FORMAT, HTML_FORMAT];
const DOCUMENT = { 200: { description: 'STAC document', content: { 'application/json': Type.Object({}) } } };

/** Items on the page of a collection. */
const FIRST_ITEMS = 12;

async function firstItems(deps: StacDeps, x: Exchange, collection: Collection): Promise<ItemList> {
  const query = {
    collections: [collection.id],
    limit: FIRST_ITEMS,
    offset: 0,
    filterLang: 'cql2-text',
  } as const;
  const reply = await searchItems(deps, x, query, () => []);
  return readItemList(x, itemsPath(collection), `limit=${FIRST_ITEMS}`, reply);
}

/** SpatioTemporal Asset Catalog 1.0.0: catalog, collections and items of everything that is published. */
export function stacOperations(deps: StacDeps): Operation[] {
  const { visible } = deps;
  const operations: Operation[] = [];
  const catalogReply = (
    x: Exchange<typeof finderParams>,
    title: string,
    description: string,
    collections: readonly Collection[],
  ) => {
    const finder = find(x, deps.places, collections);
    const query = x.query === '' ? 'f=json' : `${x.query}&f=json`;
    const json = { href: `${x.baseUrl}${x.path}?${query}`, rel: 'alternate', type: 'application/json' };
    return createPageReply(stacCatalogPage(x, { title, description, finder, links: [json] }));
  };
  const basics = surfaceBasics({
    ...STAC_OPERATION,
    path: STAC_PATH,
    title: 'STAC',
    description: 'Catalog of the published data.',
    conformance: STAC_CONFORMANCE,
    apiPaths: [`${STAC_PATH}/openapi.json`],
    formats: FORMATS,
    links: () => [],
    landingPage: pages.buildLandingPage,
    conformancePage: pages.buildConformancePage,
    api: (x) =>
      openApiDocument({ title: 'Graticule STAC', description: 'STAC API', serverUrl: x.baseUrl }, operations),
  });
  operations.push(
    defineOperation({
      ...STAC_OPERATION,
      method: 'GET',
      id: 'stac.getCatalog',
      path: STAC_PATH,
      summary: 'Catalog',
      formats: FORMATS,
      responses: DOCUMENT,
      params: finderParams,
      run(x) {
        const { collections } = visible(x.principal);
        if (x.format === HTML_FORMAT)
          return catalogReply(
            x,
            'STAC catalog',
            'Spatial and temporal catalog of the published data.',
            collections,
          );
        const chosen = chosenCollections(x.params, deps.places, collections);
        return documentReply(x, catalogDocument(x, chosen), () => '');
      },
    }),
    // The landing page of STAC is its catalog.
    ...basics.filter((operation) => operation.id !== 'stac.landing'),
    defineOperation({
      ...STAC_OPERATION,
      method: 'GET',
      id: 'stac.getCollections',
      path: `${STAC_PATH}/collections`,
      summary: 'Collections',
      formats: FORMATS,
      responses: DOCUMENT,
      params: finderParams,
      run(x) {
        const { collections } = visible(x.principal);
        if (x.format === HTML_FORMAT)
          return catalogReply(x, 'STAC collections', 'Collections of the catalog.', collections);
        const chosen = chosenCollections(x.params, deps.places, collections);
        return documentReply(x, stacCollectionsDocument(x, chosen), () => '');
      },
    }),
    defineOperation({
      ...STAC_OPERATION,
      method: 'GET',
      id: 'stac.getCollection',
      path: `${STAC_PATH}/collections/{collectionId}`,
      summary: 'One collection',
      params: { collectionId: stacCollectionParam },
      formats: FORMATS,
      responses: { ...DOCUMENT, 404: { description: 'No such collection' } },
      async run(x) {
        const collection = findCollection(visible(x.principal), x.params.collectionId);
        const document = stacCollectionDocument(x, collection);
        if (x.format !== HTML_FORMAT) return documentReply(x, document, () => '');
        const list =
          hasItems(collection) && readsWhole(collection) ? await firstItems(deps, x, collection) : undefined;
        return createPageReply(stacCollectionPage(x, { document, collection, list }));
      },
    }),
    ...createStacItemOperations(deps),
    ...queryablesOperations(deps),
    assetOperation(deps),
  );
  return operations;
}
