import type { Operation } from '../../core/http/operation.js';
import { FEATURES_PATH } from '../../core/http/paths.js';
import type { EditDeps } from '../../services/edits/target.js';
import { openApiDocument } from '../http/openapi.js';
import * as pages from '../pages/index.js';
import { datasetLinks, surfaceBasics } from '../surface/common.js';
import { analyticsOperations } from './analytics/operations.js';
import { collectionOperations } from './collection-operations.js';
import { FEATURES_CONFORMANCE } from './conformance.js';
import { countOperation } from './count.js';

import { createEditOperations } from './edits/operations.js';
import { exportJobOperations, type ReaderExportsDeps } from './exports/jobs.js';
import { streamOperation } from './exports/stream.js';
import { DOCUMENT_FORMATS } from './formats.js';
import { createItemOperations, type ItemDeps } from './item-operations.js';
import { statisticsOperation } from './statistics.js';
import { conformanceXml, landingXml } from './xml.js';

const COMMON = { surface: 'features', protocol: 'OGC-Features', permission: 'public' } as const;

/** Vector features: OGC API Features. */
export function featuresOperations(deps: ItemDeps & EditDeps & ReaderExportsDeps): Operation[] {
  const operations: Operation[] = [];
  const basics = surfaceBasics({
    ...COMMON,
    path: FEATURES_PATH,
    landingPath: `${FEATURES_PATH}/`,
    title: 'Features',
    description: 'Vector features by collection: GeoJSON, GML, CSV and HTML, filtered by CQL2, in any CRS.',
    conformance: FEATURES_CONFORMANCE,
    apiPaths: [`${FEATURES_PATH}/api`, `${FEATURES_PATH}/openapi.json`],
    formats: DOCUMENT_FORMATS,
    links: (x) => [
      {
        href: `${x.baseUrl}${FEATURES_PATH}/collections`,
        rel: 'data',
        type: 'application/json',
        title: 'Collections',
      },
      {
        href: `${x.baseUrl}${FEATURES_PATH}/functions`,
        rel: 'http://www.opengis.net/def/rel/ogc/1.0/functions',
        type: 'application/json',
        title: 'Functions of filters',
      },
      ...datasetLinks(x),
    ],
    landingPage: pages.buildLandingPage,
    conformancePage: pages.buildConformancePage,
    landingXml,
    conformanceXml,
    api: (x) =>
      openApiDocument(
        { title: 'Graticule Features', description: 'OGC API Features', serverUrl: x.baseUrl },
        operations,
      ),
  });
  operations.push(
    ...basics,
    ...collectionOperations(deps),
    ...createItemOperations(deps),
    ...createEditOperations(deps),
    statisticsOperation(deps),
    countOperation(deps),
    streamOperation(deps),
    ...exportJobOperations(deps),
    ...analyticsOperations(deps),
  );
  return operations;
}
