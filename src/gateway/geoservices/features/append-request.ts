import type { VectorCollection } from '../../../core/catalog/collection.js';
import { badParameter } from '../../../core/errors/errors.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { type AnyNumber, formatDecimal, isExactNumber } from '../../../core/values/exact-number.js';
import { idLiteral, readObjectId } from '../../../core/values/object-id.js';
import { GEOSERVICES_LIMITS } from '../limits.js';
import {
  type Members,
  readChoiceMember,
  readFlagMember,
  readListMember,
  readObjectMember,
  readObjectsMember,
  readTextMember,
  requireObject,
} from '../members.js';

/** Parameters of `append`. Each reader throws 400 with the name of the parameter. */

/** Features of the source, and what its layer is called. */
export interface AppendSourceLayer {
  readonly name: string | undefined;
  readonly id: unknown;
  readonly features: readonly Members[];
}

/** The field that identifies the target feature of a source feature. */
export interface MatchingField {
  readonly name: string;
  readonly isWhole: boolean;
}

export interface AppendOptions {
  /** Without it each feature is a new one. */
  readonly key: MatchingField | undefined;
  readonly inserts: boolean;
  readonly updates: boolean;
  readonly geometries: boolean;
  readonly atomic: boolean;
  readonly results: boolean;
}

const MAX_TEXT = 8000;
const MAX_LAYERS = 100;

/** Ways to send a source that need a store of uploads and items. */
const OTHER_SOURCES = ['appendUploadId', 'appendItemId', 'appendSourceInfo', 'sourceFilter'];

/** Layers of a feature collection, or the one of a feature set or of a list of features. */
export function sourceLayers(members: Members): AppendSourceLayer[] {
  const other = OTHER_SOURCES.find((name) => members[name]);
  if (other !== undefined) throw badParameter(other, 'is not supported. Send the features in edits');
  readChoiceMember(members, 'appendUploadFormat', {
    values: ['featureCollection'],
    fallback: 'featureCollection',
  });
  const { edits } = members;
  if (edits === undefined || edits === null || edits === '') throw badParameter('edits', 'is required');
  if (Array.isArray(edits) || (typeof edits === 'string' && /^\s*\[/.test(edits)))
    return [{ name: undefined, id: undefined, features: readFeatures(members, 'edits') }];
  const collection = readObjectMember(members, 'edits')!;
  if (collection['layers'] === undefined) return [sourceLayer({ featureSet: collection })];
  return readObjectsMember(collection, 'layers', MAX_LAYERS)!.map(sourceLayer);
}

function sourceLayer(one: Members): AppendSourceLayer {
  const definition = requireObject('edits', one['layerDefinition'] ?? {});
  const set = requireObject('edits', one['featureSet'] ?? {});
  const features = readFeatures(set, 'features');
  const { spatialReference } = set;
  return {
    name: readTextMember(definition, 'name', MAX_TEXT),
    id: definition['id'],
    features:
      spatialReference === undefined || spatialReference === null
        ? features
        : features.map((feature) => located(feature, spatialReference)),
  };
}

function readFeatures(members: Members, name: string): Members[] {
  return readObjectsMember(members, name, LIMITS.batchOperations) ?? [];
}

/** Geometries that name no spatial reference have that of their set. */
function located(feature: Members, spatialReference: unknown): Members {
  const { geometry } = feature;
  if (typeof geometry !== 'object' || geometry === null) return feature;
  const own = (geometry as Members)['spatialReference'];
  return { ...feature, geometry: { ...geometry, spatialReference: own ?? spatialReference } };
}

export function appendOptions(layer: VectorCollection, members: Members): AppendOptions {
  const upsert = readFlagMember(members, 'upsert', false);
  return {
    key: upsert ? buildKey(layer, readTextMember(members, 'upsertMatchingField', MAX_TEXT)) : undefined,
    inserts: !readFlagMember(members, 'skipInserts', false),
    updates: !readFlagMember(members, 'skipUpdates', false),
    geometries: readFlagMember(members, 'updateGeometry', true),
    atomic: readFlagMember(members, 'rollbackOnFailure', false),
    results: readFlagMember(members, 'returnEditResults', false),
  };
}

function buildKey({ source }: VectorCollection, name: string | undefined): MatchingField {
  const { idColumn, fields } = source;
  if (name === undefined || name.toLowerCase() === idColumn.toLowerCase())
    return { name: idColumn, isWhole: true };
  const field = fields.find((one) => one.name.toLowerCase() === name.toLowerCase());
  if (!field || field.isMasked || !['integer', 'string'].includes(field.type))
    throw badParameter(
      'upsertMatchingField',
      'must be the object id field, or a field of integers or strings',
    );
  return { name: field.name, isWhole: field.type === 'integer' };
}

/** A key as the field has it; undefined where it cannot be one. */
export function keyValue(value: unknown, { isWhole }: MatchingField): AppendKey | undefined {
  if (isWhole) {
    const id = readObjectId(value);
    return id === undefined ? undefined : idLiteral(id);
  }
  if (isExactNumber(value)) return String(value);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

/** A text, or an integer of 64 bits. */
export type AppendKey = string | AnyNumber;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * A common form of keys that a database treats as equal: UUIDs in any letter case, and fixed-length texts with
 * trailing spaces.
 */
export function canonicalKey(key: AppendKey): string {
  const text = (typeof key === 'string' ? key : formatDecimal(key)).trimEnd();
  return UUID.test(text) ? text.toLowerCase() : text;
}

/** Maps an attribute name of the source to one of the layer; undefined for omitted attributes. */
export type FieldMapping = (name: string) => string | undefined;

/**
 * Mapping of source attributes to fields: from `fieldMappings`, or by equal names in any letter case. `appendFields`
 * limits the fields; the key is always included.
 */
export function fieldMapping(
  { source }: VectorCollection,
  members: Members,
  key: string | undefined,
): FieldMapping {
  const names = new Map(source.fields.map(({ name }) => [name.toLowerCase(), name]));
  names.set(source.idColumn.toLowerCase(), source.idColumn);
  const target = (name: string) => names.get(name.toLowerCase());
  const chosen = readListMember(members, 'appendFields', GEOSERVICES_LIMITS.replicaEdits)?.map((name) =>
    required('appendFields', target, name),
  );
  const mappings = readObjectsMember(members, 'fieldMappings', GEOSERVICES_LIMITS.replicaEdits)?.map(
    (one) =>
      [
        readTextMember(one, 'source', MAX_TEXT) ?? readTextMember(one, 'sourceName', MAX_TEXT) ?? '',
        required('fieldMappings', target, one['name']),
      ] as const,
  );
  const sources = mappings && new Map(mappings);
  return (name) => {
    const own = sources ? sources.get(name) : target(name);
    return own === undefined || own === key || (chosen?.includes(own) ?? true) ? own : undefined;
  };
}

function required(parameter: string, target: (name: string) => string | undefined, name: unknown): string {
  const own = typeof name === 'string' ? target(name) : undefined;
  if (own === undefined)
    throw badParameter(parameter, `'${String(name).slice(0, 60)}' is not a field of the layer`);
  return own;
}
