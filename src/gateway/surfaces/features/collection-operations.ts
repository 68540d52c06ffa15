import Type from 'typebox';
import type { VectorCollection } from '../../../core/collection.js';
import { HTML_FORMAT, SCHEMA_FORMAT } from '../../../core/media.js';
import { defineOperation, type Exchange, type Operation } from '../../../core/operation.js';
import { contentTag } from '../../http/content-tag.js';
import * as pages from '../../pages/index.js';
import { documentReply, META_FORMATS, otherTypes, type SurfaceDeps } from '../common.js';
import { collectionDocument, collectionsDocument, FEATURES_PATH } from './documents.js';
import { DOCUMENT_FORMATS } from './formats.js';
import { functionsDocument } from './functions.js';
import { gmlSchema, SCHEMA_PATH } from './gml.js';
import { collectionId } from './params.js';
import { queryablesDocument, schemaDocument } from './schema.js';
import { type View, viewOf } from './view.js';
import { collectionsXml, collectionXml } from './xml.js';

const COMMON = {
  surface: 'features',
  protocol: 'OGC-Features',
  permission: 'public',
  method: 'GET',
  tag: 'Collections',
} as const;

const JSON_DOCUMENT = { 'application/json': Type.Object({}) };
const DOCUMENT = { ...JSON_DOCUMENT, ...otherTypes(DOCUMENT_FORMATS) };
const JSON_SCHEMA = { 'application/schema+json': Type.Object({}), 'text/html': null };
const ABSENT = { description: 'No such collection' };

/** What is published and what it is made of. */
export function collectionOperations(deps: SurfaceDeps): Operation[] {
  const readable = (x: Exchange): VectorCollection[] => deps.visible(x.principal).vectors;
  return [
    defineOperation({
      ...COMMON,
      id: 'features.getCollections',
      path: `${FEATURES_PATH}/collections`,
      summary: 'Feature collections',
      formats: DOCUMENT_FORMATS,
      responses: { 200: { description: 'Collections', content: DOCUMENT } },
      run(x) {
        const document = collectionsDocument(x, readable(x));
        const page = () => pages.collectionsPage(x, document);
        return documentReply(x, document, page, () => collectionsXml(document));
      },
    }),
    defineOperation({
      ...COMMON,
      id: 'features.getCollection',
      path: `${FEATURES_PATH}/collections/{collectionId}`,
      summary: 'One feature collection',
      params: { collectionId },
      formats: DOCUMENT_FORMATS,
      responses: { 200: { description: 'Collection', content: DOCUMENT }, 404: ABSENT },
      run(x) {
        const { visible: collection } = viewOf(deps, x.principal, x.params.collectionId);
        const document = collectionDocument(x, collection);
        const page = () =>
          pages.collectionPage(x, document, collection, deps.visible(x.principal).collections);
        return documentReply(x, document, page, () => collectionXml(document));
      },
    }),
    schemaOperation(
      deps,
      'queryables',
      'getQueryables',
      'Properties that filters may name',
      queryablesDocument,
    ),
    schemaOperation(deps, 'schema', 'getSchema', 'Schema of the features', schemaDocument),
    defineOperation({
      ...COMMON,
      id: 'features.getFunctions',
      path: `${FEATURES_PATH}/functions`,
      summary: 'Functions that filters may call',
      formats: META_FORMATS,
      responses: { 200: { description: 'Functions', content: JSON_DOCUMENT } },
      run(x) {
        const document = functionsDocument(x);
        return documentReply(x, document, () => pages.documentPage(x, 'Functions', document));
      },
    }),
    defineOperation({
      ...COMMON,
      id: 'features.getGmlSchema',
      path: SCHEMA_PATH,
      summary: 'GML application schema of all collections',
      responses: { 200: { description: 'XML Schema', content: { 'application/xml': null } } },
      run(x) {
        const views = readable(x).map(({ id }) => viewOf(deps, x.principal, id));
        const body = gmlSchema(views);
        return {
          status: 200,
          mediaType: 'application/xml; charset=utf-8',
          body,
          etag: contentTag(body),
          cacheControl: 'no-cache',
        };
      },
    }),
  ];
}

function schemaOperation(
  deps: SurfaceDeps,
  name: string,
  id: string,
  summary: string,
  document: (x: Exchange, view: View) => { title: string },
): Operation {
  return defineOperation({
    ...COMMON,
    id: `features.${id}`,
    path: `${FEATURES_PATH}/collections/{collectionId}/${name}`,
    summary,
    params: { collectionId },
    formats: [SCHEMA_FORMAT, HTML_FORMAT],
    responses: { 200: { description: 'JSON Schema', content: JSON_SCHEMA }, 404: ABSENT },
    run(x) {
      const schema = document(x, viewOf(deps, x.principal, x.params.collectionId));
      return documentReply(x, schema, () => pages.documentPage(x, `${schema.title}: ${name}`, schema));
    },
  });
}
