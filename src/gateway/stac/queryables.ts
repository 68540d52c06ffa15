import Type from 'typebox';
import { findCollection } from '../../core/catalog/find.js';
import { SCHEMA_FORMAT } from '../../core/http/media.js';
import { defineOperation, type Exchange, type Operation } from '../../core/http/operation.js';
import type { Field, FieldType } from '../../core/sources/vector-source.js';
import { GEOMETRY_COLUMN } from '../../core/stac/stac.js';
import { documentReply } from '../surface/common.js';
import { readsWhole, STAC_OPERATION, STAC_PATH, type StacDeps, stacCollectionParam } from './params.js';
import { listItemFields } from './search.js';

const QUERYABLES = {
  ...STAC_OPERATION,
  method: 'GET',
  tag: 'Queryables',
  formats: [SCHEMA_FORMAT],
  responses: {
    200: {
      description: 'JSON Schema of the queryables',
      content: { 'application/schema+json': Type.Object({}) },
    },
  },
} as const;

/** Properties that filters may use (OGC 19-079r2, 6.2; Filter extension of STAC API). */
export function queryablesOperations(deps: StacDeps): Operation[] {
  const fields = async (ids: readonly string[]) => listItemFields(await deps.stac.of(deps.catalog()), ids);
  return [
    defineOperation({
      ...QUERYABLES,
      id: 'stac.getQueryables',
      path: `${STAC_PATH}/queryables`,
      summary: 'Queryables',
      async run(x) {
        const ids = deps
          .visible(x.principal)
          .collections.filter(readsWhole)
          .map(({ id }) => id);
        return documentReply(
          x,
          queryablesDocument(x, 'Queryables of all items', await fields(ids)),
          () => '',
        );
      },
    }),
    defineOperation({
      ...QUERYABLES,
      id: 'stac.getCollectionQueryables',
      path: `${STAC_PATH}/collections/{collectionId}/queryables`,
      summary: 'Queryables of a collection',
      params: { collectionId: stacCollectionParam },
      responses: { ...QUERYABLES.responses, 404: { description: 'No such collection' } },
      async run(x) {
        const collection = findCollection(deps.visible(x.principal), x.params.collectionId);
        const properties = await fields(readsWhole(collection) ? [collection.id] : []);
        return documentReply(
          x,
          queryablesDocument(x, `Queryables of ${collection.title}`, properties),
          () => '',
        );
      },
    }),
  ];
}

const TYPES: Partial<Record<FieldType, object>> = {
  integer: { type: 'integer' },
  number: { type: 'number' },
  boolean: { type: 'boolean' },
  'date-time': { type: 'string', format: 'date-time' },
  json: { type: 'array' },
};

function queryablesDocument(x: Exchange, title: string, fields: readonly Field[]) {
  const properties = fields.map(({ name, title: named, type }) => [
    name,
    { title: named ?? name, ...(TYPES[type] ?? { type: 'string' }) },
  ]);
  return {
    $schema: 'https://json-schema.org/draft/2019-09/schema',
    $id: `${x.baseUrl}${x.path}`,
    type: 'object',
    title,
    properties: {
      [GEOMETRY_COLUMN]: { title: 'Footprint', $ref: 'https://geojson.org/schema/Geometry.json' },
      ...Object.fromEntries(properties),
    },
    additionalProperties: false,
  };
}
