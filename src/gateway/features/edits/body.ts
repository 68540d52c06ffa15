import Type, { type Static, type TSchema } from 'typebox';
import type { FeatureInput } from '../../../core/edits/edits.js';
import { badMember, badParameter } from '../../../core/errors/errors.js';
import type { Param } from '../../../core/http/operation.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { JsonText } from '../../../core/values/json-text.js';
import { parseCrs } from '../../../native/crs.js';

const Id = Type.Union([Type.String({ maxLength: 256 }), Type.Integer()]);

/** A GeoJSON feature from a client (RFC 7946, 3.2). Other members are ignored. */
export const FeatureSchema = Type.Object({
  type: Type.Literal('Feature'),
  id: Type.Optional(Id),
  // Both may be null, but a Feature has them.
  geometry: Type.Unknown(),
  properties: Type.Unknown(),
});

/** A merge patch of a feature (RFC 7396). */
const PatchSchema = Type.Object({
  type: Type.Optional(Type.Literal('Feature')),
  id: Type.Optional(Id),
  geometry: Type.Optional(Type.Unknown()),
  properties: Type.Optional(Type.Unknown()),
});

export type FeatureBody = Static<typeof FeatureSchema>;
export type PatchBody = Static<typeof PatchSchema>;

const FEATURE_TYPES = ['application/geo+json', 'application/json'] as const;
const PATCH_TYPES = [...FEATURE_TYPES, 'application/merge-patch+json'] as const;

/** Options for reading the bodies of edits. `bounds` limits the number of JSON values and of member names. */
const COMMON = {
  required: true,
  form: 'features',
  maxBytes: LIMITS.editBytes,
  bounds: { values: LIMITS.editValues, names: LIMITS.editNames },
} as const;
export const featureBodySpec = { ...COMMON, schema: FeatureSchema, mediaTypes: FEATURE_TYPES };
export const patchBodySpec = { ...COMMON, schema: PatchSchema, mediaTypes: PATCH_TYPES };
/** Options for reading a body with several operations. */
export const createBatchBodySpec = <S extends TSchema>(schema: S) => ({
  ...COMMON,
  schema,
  mediaTypes: ['application/json'],
});

/** Reads a feature from a body. Throws 400 for invalid members. */
export function readFeature(body: PatchBody): FeatureInput {
  const input: FeatureInput = {};
  // With `form: 'features'`, the body reader leaves the geometry and the property values as JSON text.
  if (body.geometry !== undefined) input.geometry = (body.geometry as string | null) ?? 'null';
  if (body.properties !== undefined && body.properties !== null) {
    if (typeof body.properties !== 'object' || Array.isArray(body.properties))
      throw badMember('/properties', 'must be an object or null');
    input.values = body.properties as Record<string, JsonText>;
  }
  return input;
}

/** Reads the id in a body. Throws 400 if it differs from the id in the path. */
export function readBodyId(body: PatchBody, path?: string): string | undefined {
  if (body.id === undefined) return undefined;
  const id = String(body.id);
  if (path !== undefined && id !== path)
    throw badMember('/id', `must be the id of the feature in the path, '${path}'`);
  return id;
}

/** CRS of the coordinates in a body (OGC 18-058r1, requirement 16). The handler checks whether the collection supports it. */
export const contentCrs = {
  name: 'Content-Crs',
  in: 'header',
  description: 'CRS of the coordinates in the body, from the list of the collection. Default: CRS84.',
  schema: Type.String({ format: 'uri' }),
  parse(raw) {
    if (raw === undefined) return undefined;
    const crs = parseCrs(raw);
    if (!crs)
      throw badParameter(
        'Content-Crs',
        `'${raw.slice(0, 120)}' is not a known coordinate reference system. Use for example EPSG:4326 or http://www.opengis.net/def/crs/EPSG/0/3857`,
      );
    return crs;
  },
} satisfies Param;

export const ifMatchParam = {
  name: 'If-Match',
  in: 'header',
  description:
    'Strong entity tags from a GET of the feature. The edit is refused if none of them matches the feature.',
  schema: Type.String(),
  parse: (raw: string | undefined) => raw,
} satisfies Param;
