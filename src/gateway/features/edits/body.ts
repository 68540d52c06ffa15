import Type, { type Static, type TSchema } from 'typebox';
import type { FeatureInput } from '../../../core/edits/edits.js';
import { type ApiError, badMember, badParameter } from '../../../core/errors/errors.js';
import type { Param } from '../../../core/http/operation.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { JsonText } from '../../../core/values/json-text.js';
import { parseCrs } from '../../../native/crs.js';

const Id = Type.Union([Type.String({ maxLength: 256 }), Type.Integer()]);

/** A GeoJSON feature from a client (RFC 7946, 3.2). Other members are ignored. */
export const FeatureBody = Type.Object({
  type: Type.Literal('Feature'),
  id: Type.Optional(Id),
  // Both may be null, but a Feature has them.
  geometry: Type.Unknown(),
  properties: Type.Unknown(),
});

/** A merge patch of a feature (RFC 7396). */
export const PatchBody = Type.Object({
  type: Type.Optional(Type.Literal('Feature')),
  id: Type.Optional(Id),
  geometry: Type.Optional(Type.Unknown()),
  properties: Type.Optional(Type.Unknown()),
});

export type FeatureBody = Static<typeof FeatureBody>;
export type PatchBody = Static<typeof PatchBody>;

const FEATURE_TYPES = ['application/geo+json', 'application/json'] as const;
const PATCH_TYPES = [...FEATURE_TYPES, 'application/merge-patch+json'] as const;

/** Options for reading the bodies of edits. */
const COMMON = {
  required: true,
  form: 'features',
  maxBytes: LIMITS.editBytes,
  bounds: { values: LIMITS.editValues, names: LIMITS.editNames },
} as const;
export const featureBody = { ...COMMON, schema: FeatureBody, mediaTypes: FEATURE_TYPES };
export const patchBody = { ...COMMON, schema: PatchBody, mediaTypes: PATCH_TYPES };
export const batchBody = <S extends TSchema>(schema: S) => ({
  ...COMMON,
  schema,
  mediaTypes: ['application/json'],
});

/** Reads a feature from a body. Throws 400 for invalid members. */
export function featureInput(body: PatchBody): FeatureInput {
  const input: FeatureInput = {};
  // `parseFeatures` has made JSON text of it.
  if (body.geometry !== undefined) input.geometry = (body.geometry as string | null) ?? 'null';
  if (body.properties !== undefined && body.properties !== null) {
    if (typeof body.properties !== 'object' || Array.isArray(body.properties))
      throw wrongMember('/properties', 'must be an object');
    // The same of its members.
    input.values = body.properties as Record<string, JsonText>;
  }
  return input;
}

/** The id that a body names, checked against that of its path. */
export function bodyId(body: PatchBody, path?: string): string | undefined {
  if (body.id === undefined) return undefined;
  const id = String(body.id);
  if (path !== undefined && id !== path)
    throw wrongMember('/id', 'must be the id of the feature in the path');
  return id;
}

export function wrongMember(name: string, detail: string): ApiError {
  return badMember(name, detail);
}

/** CRS of the coordinates in a body (OGC 18-058r1, requirement 16); whether it is offered shows with the collection. */
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
    'Strong entity tags of the feature, as a GET of it gives them: it is changed only while one is true.',
  schema: Type.String(),
  parse: (raw: string | undefined) => raw,
} satisfies Param;
