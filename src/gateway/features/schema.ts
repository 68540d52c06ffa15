import type { Exchange } from '../../core/http/operation.js';
import {
  type Field,
  type FieldType,
  type GeometryType,
  hasIntegerIds,
  type VectorSource,
} from '../../core/sources/vector-source.js';
import type { CollectionView } from '../../services/features/view.js';

/** JSON Schemas for the features of a collection, from the columns of the store. */

const DRAFT = 'https://json-schema.org/draft/2020-12/schema';

const TYPES: Record<FieldType, object> = {
  integer: { type: 'integer' },
  number: { type: 'number' },
  string: { type: 'string' },
  boolean: { type: 'boolean' },
  date: { type: 'string', format: 'date' },
  'date-time': { type: 'string', format: 'date-time' },
  binary: { type: 'string', contentEncoding: 'base64' },
  json: {},
  array: { type: 'array' },
};

/**
 * Properties that filters may use (OGC 19-079r2, 6.2): the geometry, the id, and every attribute with comparable
 * values.
 */
export function queryablesDocument(x: Exchange, view: CollectionView) {
  const { collection, queryables } = view;
  const { source } = collection;
  const comparable = queryables.filter((field) => field.type !== 'binary');
  return {
    $schema: DRAFT,
    $id: `${x.baseUrl}${x.path}`,
    type: 'object',
    title: collection.title,
    description: collection.description || undefined,
    properties: {
      [source.geometryColumn]: geometrySchema(source.geometryType),
      [source.idColumn]: idSchema(source),
      ...Object.fromEntries(comparable.map((field) => [field.name, fieldSchema(field)])),
    },
    additionalProperties: false,
  };
}

/** Properties of a feature (OGC 23-058r1, returnables and receivables), in order and with their roles. */
export function schemaDocument(x: Exchange, view: CollectionView) {
  const { collection, fields } = view;
  const { source } = collection;
  const members: [string, object][] = [
    [source.idColumn, { ...idSchema(source), readOnly: source.idGenerated }],
    [source.geometryColumn, geometrySchema(source.geometryType)],
    ...fields.map((field): [string, object] => [
      field.name,
      { ...fieldSchema(field), ...(field.generated || field.isMasked ? { readOnly: true } : {}) },
    ]),
  ];
  return {
    $schema: DRAFT,
    $id: `${x.baseUrl}${x.path}`,
    type: 'object',
    title: collection.title,
    description: collection.description || undefined,
    required: fields.filter((field) => !field.nullable && !field.generated).map(({ name }) => name),
    properties: Object.fromEntries(
      members.map(([name, schema], i) => [name, { ...schema, 'x-ogc-propertySeq': i + 1 }]),
    ),
    additionalProperties: false,
  };
}

function idSchema(source: VectorSource): object {
  const type = hasIntegerIds(source) ? 'integer' : 'string';
  const format = source.idType === 'uuid' ? { format: 'uuid' } : {};
  return { title: source.idColumn, type, ...format, 'x-ogc-role': 'id' };
}

function geometrySchema(type: GeometryType): object {
  const format = type === 'Geometry' ? 'geometry-any' : `geometry-${type.toLowerCase()}`;
  return { title: 'Geometry', format, 'x-ogc-role': 'primary-geometry' };
}

function fieldSchema(field: Field): object {
  const { range, enumeration, codedValues, maxLength } = field;
  return {
    title: field.title ?? field.name,
    ...(field.description ? { description: field.description } : {}),
    ...TYPES[field.type],
    ...(field.type === 'array' && field.items ? { items: TYPES[field.items] } : {}),
    ...(field.sqlType === 'uuid' ? { format: 'uuid' } : {}),
    ...(enumeration ? { enum: enumeration } : {}),
    ...(codedValues ? { oneOf: codedValues.map(({ code, name }) => ({ const: code, title: name })) } : {}),
    ...(range && range[0] !== null ? { minimum: range[0] } : {}),
    ...(range && range[1] !== null ? { maximum: range[1] } : {}),
    ...(maxLength === undefined ? {} : { maxLength }),
  };
}
