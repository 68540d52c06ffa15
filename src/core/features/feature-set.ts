/** GeoServices feature sets with fields derived from their values. */

import type { Geometry } from 'geojson';
import { createEsriGeometry, esriGeometryType } from '../geometry/geoservices-geometry.js';
import type { AnalyticsResult, FeatureSetResult } from './analytics.js';

export interface SentAttributes {
  readonly attributes?: Readonly<Record<string, unknown>>;
}

export interface ValueField {
  readonly name: string;
  readonly type: string;
  readonly alias: string;
}

const WGS84 = 4326;

interface Feature {
  readonly geometry: Geometry | null;
  readonly properties: Readonly<Record<string, unknown>>;
}

/**
 * Converts an analytics result, GeoJSON in WGS 84, to a feature set. Attributes of features are flattened; lists and
 * objects are JSON text.
 */
export function createFeatureSet(result: AnalyticsResult): FeatureSetResult {
  const read = JSON.parse(`[${Buffer.from(result.features).toString()}]`) as Feature[];
  const features = read.map(({ geometry, properties: { attributes, ...own } }) => ({
    attributes: Object.fromEntries(
      Object.entries({ ...(attributes as object | undefined), ...own }).map(([name, value]) => [
        name,
        typeof value === 'object' && value !== null ? JSON.stringify(value) : value,
      ]),
    ),
    ...(geometry ? { geometry: createEsriGeometry(geometry, WGS84) } : {}),
  }));
  const type = read.find(({ geometry }) => geometry)?.geometry?.type;
  const geometryType = type === undefined ? undefined : esriGeometryType(type);
  return {
    ...result,
    features: Buffer.from(features.map((one) => JSON.stringify(one)).join(',')),
    fields: createValueFields(features),
    ...(geometryType ? { geometryType } : {}),
  };
}

const TEXT = 'esriFieldTypeString';
const DOUBLE = 'esriFieldTypeDouble';
const INTEGER = 'esriFieldTypeInteger';

/** Fields that can represent all values. Mixed types become strings. */
export function createValueFields(features: readonly SentAttributes[]): ValueField[] {
  const types = new Map<string, string>();
  for (const { attributes } of features)
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (value === null) continue;
      const [before, type] = [types.get(name), chooseType(value)];
      types.set(name, before === undefined || before === type ? type : widest(before, type));
    }
  return [...types].map(([name, type]) => ({ name, type, alias: name }));
}

const widest = (a: string, b: string) => (a === TEXT || b === TEXT ? TEXT : DOUBLE);

function chooseType(value: unknown): string {
  if (typeof value !== 'number') return TEXT;
  return Number.isInteger(value) && Math.abs(value) < 2 ** 31 ? INTEGER : DOUBLE;
}
