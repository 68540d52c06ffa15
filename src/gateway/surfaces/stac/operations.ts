import Type from 'typebox';
import { type Format, HTML_FORMAT, JSON_FORMAT } from '../../../core/media.js';
import { defineOperation, type Operation } from '../../../core/operation.js';
import { pathString } from '../../../core/params.js';
import { openApiDocument } from '../../http/openapi.js';
import * as pages from '../../pages/index.js';
import { documentReply, findCollection, notBuilt, type SurfaceDeps, surfaceBasics } from '../common.js';
import {
  catalogDocument,
  STAC_CONFORMANCE,
  STAC_PATH,
  stacCollectionDocument,
  stacCollectionsDocument,
} from './documents.js';

const COMMON = { surface: 'stac', protocol: 'STAC', permission: 'public', method: 'GET' } as const;

const FORMATS: readonly Format[] = [JSON_FORMAT, HTML_FORMAT];
const DOCUMENT = { 200: { description: 'STAC document', content: { 'application/json': Type.Object({}) } } };

/** SpatioTemporal Asset Catalog 1.0.0: catalog and collections of everything that is published. */
export function stacOperations({ visible }: SurfaceDeps): Operation[] {
  const operations: Operation[] = [];
  const basics = surfaceBasics({
    ...COMMON,
    path: STAC_PATH,
    title: 'STAC',
    description: 'Catalog of the published data.',
    conformance: STAC_CONFORMANCE,
    apiPaths: [`${STAC_PATH}/openapi.json`],
    formats: FORMATS,
    links: () => [],
    landingPage: pages.landingPage,
    conformancePage: pages.conformancePage,
    api: (x) =>
      openApiDocument({ title: 'Graticule STAC', description: 'STAC API', serverUrl: x.baseUrl }, operations),
  });
  operations.push(
    defineOperation({
      ...COMMON,
      id: 'stac.getCatalog',
      path: STAC_PATH,
      summary: 'Catalog',
      formats: FORMATS,
      responses: DOCUMENT,
      run(x) {
        const document = catalogDocument(x, visible(x.principal).collections);
        return documentReply(x, document, () => pages.documentPage(x, document.title, document));
      },
    }),
    // The landing page of STAC is its catalog.
    ...basics.filter((operation) => operation.id !== 'stac.landing'),
    defineOperation({
      ...COMMON,
      id: 'stac.getCollections',
      path: `${STAC_PATH}/collections`,
      summary: 'Collections',
      formats: FORMATS,
      responses: DOCUMENT,
      run(x) {
        const document = stacCollectionsDocument(x, visible(x.principal).collections);
        return documentReply(x, document, () => pages.documentPage(x, 'STAC collections', document));
      },
    }),
    defineOperation({
      ...COMMON,
      id: 'stac.getCollection',
      path: `${STAC_PATH}/collections/{collectionId}`,
      summary: 'One collection',
      params: { collectionId: pathString('collectionId', 'Identifier of a collection.') },
      formats: FORMATS,
      responses: { ...DOCUMENT, 404: { description: 'No such collection' } },
      run(x) {
        const document = stacCollectionDocument(
          x,
          findCollection(visible(x.principal), x.params.collectionId),
        );
        return documentReply(x, document, () => pages.documentPage(x, document.title, document));
      },
    }),
    ...FUTURE,
  );
  return operations;
}

const FUTURE: Operation[] = (
  [
    ['GET', '/collections/{collectionId}/items', 'getItems', 'Items of a collection'],
    ['GET', '/collections/{collectionId}/items/{itemId}', 'getItem', 'One item'],
    ['GET', '/queryables', 'getQueryables', 'Queryables'],
    [
      'GET',
      '/collections/{collectionId}/queryables',
      'getCollectionQueryables',
      'Queryables of a collection',
    ],
    ['GET', '/search', 'search', 'Item search'],
    ['POST', '/search', 'postSearch', 'Item search'],
  ] as const
).map(([method, path, name, summary]) =>
  notBuilt({ ...COMMON, method, path: `${STAC_PATH}${path}`, id: `stac.${name}`, summary }),
);
