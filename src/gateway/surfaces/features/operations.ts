import Type from 'typebox';
import { type Format, HTML_FORMAT } from '../../../core/media.js';
import { defineOperation, type Operation } from '../../../core/operation.js';
import {
  bboxParam,
  crsParam,
  datetimeParam,
  limitParam,
  offsetParam,
  pathString,
} from '../../../core/params.js';
import { openApiDocument } from '../../http/openapi.js';
import * as pages from '../../pages/index.js';
import {
  documentReply,
  findCollection,
  LinkSchema,
  META_FORMATS,
  notBuilt,
  type SurfaceDeps,
  surfaceBasics,
} from '../common.js';
import { FEATURES_CONFORMANCE } from './conformance.js';
import { collectionDocument, collectionsDocument, FEATURES_PATH } from './documents.js';
import { type EditDeps, editOperations } from './edits/operations.js';
import {
  asVector,
  featureRows,
  formatNotBuilt,
  geoJsonReply,
  ITEM_FORMATS,
  LINKED_FORMATS,
  readItem,
  readItems,
} from './items.js';

const COMMON = { surface: 'features', protocol: 'OGC-Features', permission: 'public' } as const;

const collectionId = pathString('collectionId', 'Identifier of a collection.');
const featureId = pathString('featureId', 'Identifier of a feature.');
const crs = crsParam('crs', 'CRS of the coordinates in the answer; one that the collection lists.');
const bboxCrs = crsParam('bbox-crs', 'CRS of the numbers in bbox.');
/** The limit as it came: an HTML page shows fewer features unless the client names a number. */
const limitGiven = {
  ...limitParam,
  parse: (raw: string | undefined) => ({ value: limitParam.parse(raw), given: raw !== undefined }),
};

const FeatureSchema = Type.Object({
  type: Type.Literal('Feature'),
  id: Type.Union([Type.String(), Type.Integer()]),
  geometry: Type.Unknown(),
  properties: Type.Record(Type.String(), Type.Unknown()),
});

const FeatureCollectionSchema = Type.Object({
  type: Type.Literal('FeatureCollection'),
  features: Type.Array(FeatureSchema),
  numberMatched: Type.Optional(Type.Integer()),
  numberReturned: Type.Integer(),
  links: Type.Array(LinkSchema),
  timeStamp: Type.String({ format: 'date-time' }),
});

/** Vector features: OGC API Features parts 1 and 2. */
export function featuresOperations(deps: SurfaceDeps & EditDeps): Operation[] {
  const operations: Operation[] = [];
  const basics = surfaceBasics({
    ...COMMON,
    path: FEATURES_PATH,
    landingPath: `${FEATURES_PATH}/`,
    title: 'Features',
    description: 'Vector features by collection, as GeoJSON and HTML.',
    conformance: FEATURES_CONFORMANCE,
    apiPaths: [`${FEATURES_PATH}/api`, `${FEATURES_PATH}/openapi.json`],
    formats: META_FORMATS,
    links: (x) => [
      {
        href: `${x.baseUrl}${FEATURES_PATH}/collections`,
        rel: 'data',
        type: 'application/json',
        title: 'Collections',
      },
    ],
    landingPage: pages.landingPage,
    conformancePage: pages.conformancePage,
    api: (x) =>
      openApiDocument(
        { title: 'Graticule Features', description: 'OGC API Features', serverUrl: x.baseUrl },
        operations,
      ),
  });
  operations.push(
    ...basics,
    ...collectionOperations(deps),
    ...itemOperations(deps),
    ...editOperations(deps),
    ...FUTURE,
  );
  return operations;
}

function collectionOperations({ catalog }: SurfaceDeps): Operation[] {
  return [
    defineOperation({
      ...COMMON,
      id: 'features.getCollections',
      method: 'GET',
      path: `${FEATURES_PATH}/collections`,
      summary: 'Feature collections',
      tag: 'Collections',
      formats: META_FORMATS,
      responses: { 200: { description: 'Collections', content: { 'application/json': Type.Object({}) } } },
      run(x) {
        const document = collectionsDocument(x, catalog().vectors);
        return documentReply(x, document, () => pages.collectionsPage(x, document));
      },
    }),
    defineOperation({
      ...COMMON,
      id: 'features.getCollection',
      method: 'GET',
      path: `${FEATURES_PATH}/collections/{collectionId}`,
      summary: 'One feature collection',
      tag: 'Collections',
      params: { collectionId },
      formats: META_FORMATS,
      responses: {
        200: { description: 'Collection', content: { 'application/json': Type.Object({}) } },
        404: { description: 'No such collection' },
      },
      run(x) {
        const collection = findCollection(catalog(), x.params.collectionId);
        asVector(collection);
        const document = collectionDocument(x, collection);
        return documentReply(x, document, () =>
          pages.collectionPage(x, document, collection, catalog().collections),
        );
      },
    }),
  ];
}

function itemOperations({ catalog, pools }: SurfaceDeps): Operation[] {
  return [
    defineOperation({
      ...COMMON,
      id: 'features.getItems',
      method: 'GET',
      path: `${FEATURES_PATH}/collections/{collectionId}/items`,
      summary: 'Features of a collection',
      tag: 'Features',
      params: {
        collectionId,
        limit: limitGiven,
        offset: offsetParam,
        bbox: bboxParam,
        bboxCrs,
        crs,
        datetime: datetimeParam,
      },
      formats: ITEM_FORMATS,
      responses: {
        200: {
          description: 'Features',
          content: { 'application/geo+json': FeatureCollectionSchema, 'text/html': null },
        },
        400: { description: 'A parameter is wrong' },
        404: { description: 'No such collection' },
      },
      async run(x) {
        refuseUnbuilt(x.format);
        const collection = findCollection(catalog(), x.params.collectionId);
        asVector(collection);
        const { limit, offset, bbox, bboxCrs, crs } = x.params;
        const query = { limit: limit.value, limitGiven: limit.given, offset, bbox, bboxCrs, crs };
        const page = await readItems(x, pools, collection, query);
        if (x.format !== HTML_FORMAT) return geoJsonReply(page, x.format);
        return documentReply(x, undefined, () =>
          pages.itemsPage(x, page, featureRows(page), catalog().collections),
        );
      },
    }),
    defineOperation({
      ...COMMON,
      id: 'features.getItem',
      method: 'GET',
      path: `${FEATURES_PATH}/collections/{collectionId}/items/{featureId}`,
      summary: 'One feature',
      tag: 'Features',
      params: { collectionId, featureId, crs },
      formats: ITEM_FORMATS,
      responses: {
        200: {
          description: 'Feature',
          content: { 'application/geo+json': FeatureSchema, 'text/html': null },
        },
        404: { description: 'No such feature' },
      },
      async run(x) {
        refuseUnbuilt(x.format);
        const collection = findCollection(catalog(), x.params.collectionId);
        asVector(collection);
        const feature = await readItem(x, pools, collection, x.params.featureId, x.params.crs);
        if (x.format === HTML_FORMAT) {
          return documentReply(x, undefined, () =>
            pages.itemPage(x, collection, JSON.parse(feature.text), catalog().collections),
          );
        }
        return {
          status: 200,
          mediaType: x.format.mediaType,
          body: feature.text,
          etag: feature.tag,
          cacheControl: 'no-cache',
          headers: { 'content-crs': `<${feature.crs.uri}>` },
        };
      },
    }),
  ];
}

function refuseUnbuilt(format: Format): void {
  if (!LINKED_FORMATS.includes(format)) throw formatNotBuilt(format.name);
}

/** Operations of the contract that come with later work. */
const FUTURE: Operation[] = (
  [
    [
      'GET',
      `${FEATURES_PATH}/schemas/svc-ogcapi-features.xsd`,
      'getSchema',
      'GML application schema',
      undefined,
    ],
    [
      'GET',
      `${FEATURES_PATH}/collections/{collectionId}/queryables`,
      'getQueryables',
      'Queryables',
      undefined,
    ],
    ['GET', `${FEATURES_PATH}/collections/{collectionId}/h3`, 'getH3', 'H3 aggregation', undefined],
    ['POST', `${FEATURES_PATH}/collections/{collectionId}/clusters`, 'clusters', 'Clusters', undefined],
    [
      'POST',
      `${FEATURES_PATH}/collections/{collectionId}/spatial-join`,
      'spatialJoin',
      'Spatial join',
      undefined,
    ],
    [
      'POST',
      `${FEATURES_PATH}/collections/{collectionId}/buffer-aggregate`,
      'bufferAggregate',
      'Buffer and aggregate',
      undefined,
    ],
    ['POST', `${FEATURES_PATH}/collections/{collectionId}/density`, 'density', 'Density', undefined],
  ] as const
).map(([method, path, name, summary, permission]) =>
  notBuilt({ ...COMMON, method, path, id: `features.${name}`, summary, permission: permission ?? 'public' }),
);
