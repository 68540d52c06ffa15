import Type from 'typebox';
import type { VectorCollection } from '../../core/catalog/collection.js';
import { contentTag } from '../../core/http/content-tag.js';
import { type Format, HTML_FORMAT, SCHEMA_FORMAT, XML_FORMAT } from '../../core/http/media.js';
import { defineOperation, type Exchange, type Operation, type Reply } from '../../core/http/operation.js';
import { FEATURES_PATH } from '../../core/http/paths.js';
import { type FeatureSizes, featureSizes } from '../../services/features/feature-sizes.js';
import { findView } from '../../services/features/view.js';
import * as pages from '../pages/index.js';
import { documentReply, META_FORMATS, otherTypes, type SurfaceDeps } from '../surface/common.js';
import { collectionsReply, finderParams } from '../surface/finder.js';
import { MemberTexts } from '../surface/member-texts.js';
import { collectionDocument, listLinks } from './documents.js';
import { DOCUMENT_FORMATS } from './formats.js';
import { functionsDocument } from './functions.js';
import { gmlSchema, SCHEMA_PATH } from './gml.js';
import { featuresCollectionParam } from './params.js';
import { queryablesDocument, schemaDocument } from './schema.js';
import { schemaXsd } from './schema-xsd.js';
import { collectionsXml, collectionXml } from './xml.js';

const COMMON = {
  surface: 'features',
  protocol: 'OGC-Features',
  permission: 'public',
  method: 'GET',
  tag: 'Collections',
} as const;

const XSD_FORMAT: Format = { ...XML_FORMAT, name: 'xsd' };
const JSON_DOCUMENT = { 'application/json': Type.Object({}) };
const DOCUMENT = { ...JSON_DOCUMENT, ...otherTypes(DOCUMENT_FORMATS) };
const JSON_SCHEMA = { 'application/schema+json': Type.Object({}), 'text/html': null };
const ABSENT = { description: 'No such collection' };

/** Operations that list collections and describe them. */
export function collectionOperations(deps: SurfaceDeps): Operation[] {
  const texts = new MemberTexts();
  const readable = (x: Exchange): VectorCollection[] => deps.visible(x.principal).vectors;
  return [
    defineOperation({
      ...COMMON,
      id: 'features.getCollections',
      path: `${FEATURES_PATH}/collections`,
      summary: 'Feature collections',
      params: finderParams,
      formats: DOCUMENT_FORMATS,
      responses: { 200: { description: 'Collections', content: DOCUMENT } },
      run(x) {
        return collectionsReply(x, deps.places, readable(x), {
          texts,
          links: listLinks(x),
          describe: (collection) => collectionDocument(x, collection),
          xml: collectionsXml,
        });
      },
    }),
    defineOperation({
      ...COMMON,
      id: 'features.getCollection',
      path: `${FEATURES_PATH}/collections/{collectionId}`,
      summary: 'One feature collection',
      params: { collectionId: featuresCollectionParam },
      formats: DOCUMENT_FORMATS,
      responses: { 200: { description: 'Collection', content: DOCUMENT }, 404: ABSENT },
      run(x) {
        const { visible: collection } = findView(deps, x.principal, x.params.collectionId);
        const document = collectionDocument(x, collection);
        const reply = (sizes?: FeatureSizes) => {
          const page = () => pages.buildCollectionPage(x, document, collection, { sizes });
          return documentReply(x, document, page, () => collectionXml(document));
        };
        return x.format === HTML_FORMAT ? featureSizes(deps.pools, collection).then(reply) : reply();
      },
    }),
    queryablesOperation(deps),
    schemaOperation(deps),
    defineOperation({
      ...COMMON,
      id: 'features.getFunctions',
      path: `${FEATURES_PATH}/functions`,
      summary: 'Functions that filters may call',
      formats: META_FORMATS,
      responses: { 200: { description: 'Functions', content: JSON_DOCUMENT } },
      run(x) {
        const document = functionsDocument(x);
        return documentReply(x, document, () => pages.buildDocumentPage(x, 'Functions', document));
      },
    }),
    defineOperation({
      ...COMMON,
      id: 'features.getGmlSchema',
      path: SCHEMA_PATH,
      summary: 'GML application schema of all collections',
      responses: { 200: { description: 'XML Schema', content: { 'application/xml': null } } },
      run(x) {
        const views = readable(x).map(({ id }) => findView(deps, x.principal, id));
        return xsdReply(gmlSchema(views));
      },
    }),
  ];
}

function queryablesOperation(deps: SurfaceDeps): Operation {
  return defineOperation({
    ...COMMON,
    id: 'features.getQueryables',
    path: `${FEATURES_PATH}/collections/{collectionId}/queryables`,
    summary: 'Properties that filters may name',
    params: { collectionId: featuresCollectionParam },
    formats: [SCHEMA_FORMAT, HTML_FORMAT],
    responses: { 200: { description: 'JSON Schema', content: JSON_SCHEMA }, 404: ABSENT },
    run(x) {
      const queryables = queryablesDocument(x, findView(deps, x.principal, x.params.collectionId));
      return documentReply(x, queryables, () =>
        pages.buildDocumentPage(x, `${queryables.title}: queryables`, queryables),
      );
    },
  });
}

function schemaOperation(deps: SurfaceDeps): Operation {
  return defineOperation({
    ...COMMON,
    id: 'features.getSchema',
    path: `${FEATURES_PATH}/collections/{collectionId}/schema`,
    summary: 'Schema of the features',
    params: { collectionId: featuresCollectionParam },
    formats: [SCHEMA_FORMAT, HTML_FORMAT, XSD_FORMAT],
    responses: {
      200: { description: 'JSON Schema or XML Schema', content: { ...JSON_SCHEMA, 'application/xml': null } },
      404: ABSENT,
    },
    run(x) {
      const view = findView(deps, x.principal, x.params.collectionId);
      if (x.format === XSD_FORMAT) return xsdReply(schemaXsd(view));
      const schema = schemaDocument(x, view);
      return documentReply(x, schema, () => pages.buildDocumentPage(x, `${schema.title}: schema`, schema));
    },
  });
}

function xsdReply(body: string): Reply {
  return {
    status: 200,
    mediaType: 'application/xml; charset=utf-8',
    body,
    etag: contentTag(body),
    cacheControl: 'no-cache',
  };
}
