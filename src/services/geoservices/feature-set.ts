import { badParameter } from '../../core/errors/errors.js';
import { createValueFields, type SentAttributes } from '../../core/features/feature-set.js';
import { stringifyExactly } from '../../core/values/json.js';
import { spatialReference } from './geometry.js';

/** Feature sets of GeoServices in the form that OGR reads. */

interface SentSet {
  readonly geometryType?: unknown;
  readonly spatialReference?: unknown;
  readonly features?: unknown;
}

interface SentFeature extends SentAttributes {
  readonly geometry?: Readonly<Record<string, unknown>>;
}

/** Geometry types by the member that identifies them. */
const TYPES: Readonly<Record<string, string>> = {
  x: 'esriGeometryPoint',
  points: 'esriGeometryMultipoint',
  paths: 'esriGeometryPolyline',
  rings: 'esriGeometryPolygon',
  xmin: 'esriGeometryEnvelope',
};

const WGS84 = { wkid: 4326 };

/**
 * JSON of a feature set. Fields, geometry type and spatial reference are derived if the client omitted them.
 * `parameter` is the name of the request parameter, for errors. Null attributes and geometries are valid.
 */
export function formatFeatureSet(parameter: string, sent: SentSet): string {
  const features = sent.features as readonly unknown[];
  if (!features.every(isFeature))
    throw badParameter(parameter, 'must be features with attributes or a geometry');
  const first = features.find(({ geometry }) => geometry)?.geometry ?? {};
  const geometryMember = Object.keys(TYPES).find((member) => member in first);
  const geometryType =
    sent.geometryType ?? (geometryMember === undefined ? undefined : TYPES[geometryMember]);
  // OGR does not know all the codes that clients have for one reference.
  const { epsg: wkid } = spatialReference(
    parameter,
    sent.spatialReference ?? first['spatialReference'] ?? WGS84,
  );
  return stringifyExactly({
    ...(geometryType === undefined ? {} : { geometryType }),
    spatialReference: { wkid },
    fields: createValueFields(features),
    features: features.map(({ attributes = {}, geometry }) => ({
      attributes,
      ...(geometry ? { geometry } : {}),
    })),
  });
}

function isFeature(value: unknown): value is SentFeature {
  if (typeof value !== 'object' || value === null) return false;
  const { attributes, geometry } = value as SentFeature;
  return [attributes, geometry].every((one) => one === undefined || typeof one === 'object');
}
