import Type from 'typebox';
import { findCollection } from '../../core/catalog/find.js';
import { type Format, HTML_FORMAT, JSON_FORMAT } from '../../core/http/media.js';
import { defineOperation, type Operation } from '../../core/http/operation.js';
import { openApiDocument } from '../http/openapi.js';
import * as pages from '../pages/index.js';
import { documentReply, surfaceBasics } from '../surface/common.js';
import { assetOperation } from './asset.js';
import { STAC_CONFORMANCE } from './conformance.js';
import { catalogDocument, stacCollectionDocument, stacCollectionsDocument } from './documents.js';
import { createStacItemOperations } from './item-operations.js';
import { STAC_OPERATION, STAC_PATH, type StacDeps, stacCollectionParam } from './params.js';
import { queryablesOperations } from './queryables.js';

export type { StacDeps } from './params.js';

const FORMATS: readonly Format[] = [JSON_FORMAT, HTML_FORMAT];
const DOCUMENT = { 200: { description: 'STAC document', content: { 'application/json': Type.Object({}) } } };

/** SpatioTemporal Asset Catalog 1.0.0: catalog, collections and items of everything that is published. */
export function stacOperations(deps: StacDeps): Operation[] {
  const { visible } = deps;
  const operations: Operation[] = [];
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
      run(x) {
        const document = catalogDocument(x, visible(x.principal).collections);
        return documentReply(x, document, () => pages.buildDocumentPage(x, document.title, document));
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
      run(x) {
        const document = stacCollectionsDocument(x, visible(x.principal).collections);
        return documentReply(x, document, () => pages.buildDocumentPage(x, 'STAC collections', document));
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
      run(x) {
        const document = stacCollectionDocument(
          x,
          findCollection(visible(x.principal), x.params.collectionId),
        );
        return documentReply(x, document, () => pages.buildDocumentPage(x, document.title, document));
      },
    }),
    ...createStacItemOperations(deps),
    ...queryablesOperations(deps),
    assetOperation(deps),
  );
  return operations;
}
