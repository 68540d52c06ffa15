import Type from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import type { Measure } from '../../../core/processes/feature-processes.js';
import type {
  FeaturesFacts,
  InputDefinition,
  InputValues,
  OutputDefinition,
  ProcessWork,
} from '../definition.js';

/** Inputs and outputs that many processes have. */

const GeoJson = Type.Object(
  { type: Type.String({ description: 'FeatureCollection, Feature, or a geometry type (RFC 7946).' }) },
  { description: 'GeoJSON in WGS 84, by value.' },
);
const Link = Type.Object(
  {
    href: Type.String({
      description:
        'URL of job results or a collection of this server, or of a file on a host in remote.allow.',
    }),
    type: Type.Optional(Type.String()),
  },
  { description: 'GeoJSON by reference.' },
);
const Collection = Type.Object(
  {
    collection: Type.String({ description: 'Id or URL of a collection of this server.' }),
    filter: Type.Optional(Type.Any({ description: 'CQL2 text, or CQL2 JSON.' })),
    'filter-lang': Type.Optional(Type.String({ enum: ['cql2-text', 'cql2-json'] })),
  },
  { description: 'Features of a collection, optionally filtered.' },
);
const Text = Type.String({ description: 'GeoJSON as a string.' });

const FEATURES_SCHEMA = Type.Union([GeoJson, Link, Collection, Text]);

export function featuresInput(title: string, description: string): InputDefinition {
  return { title, description, schema: FEATURES_SCHEMA, isFeatures: true };
}

export const FEATURES_OUTPUT: OutputDefinition = {
  title: 'Features',
  description: 'GeoJSON in WGS 84, or a GeoPackage in the CRS of the input.',
  schema: Type.Object(
    { type: Type.Literal('FeatureCollection'), features: Type.Array(Type.Object({})) },
    { contentMediaType: 'application/geo+json' },
  ),
  isFeatures: true,
};

/** Output that is a file, sent unchanged. */
export function fileOutput(title: string, description: string): OutputDefinition {
  const schema = Type.String({ contentEncoding: 'binary', contentMediaType: 'application/octet-stream' });
  return { title, description, schema, isFile: true };
}

/** Features become features; those of the input `overlay` are laid over them. */
export function featuresWork(
  plan: Extract<ProcessWork, { kind: 'features' }>['plan'],
  overlay?: string,
): ProcessWork {
  return {
    kind: 'features',
    input: 'features',
    ...(overlay === undefined ? {} : { overlay }),
    output: 'features',
    plan,
  };
}

export function makeOptional(input: InputDefinition): InputDefinition {
  return { ...input, isOptional: true };
}

/** Metres of a unit of length. */
const METRES = {
  metre: 1,
  kilometre: 1000,
  foot: 0.3048,
  mile: 1609.344,
  'nautical-mile': 1852,
} as const;

type Unit = keyof typeof METRES | 'crs';

export const unitInput: InputDefinition = makeOptional({
  title: 'Unit',
  description: 'Unit of lengths. crs is the unit of the coordinates.',
  schema: Type.String({ enum: [...Object.keys(METRES), 'crs'], default: 'metre' }),
});

export function lengthInput(title: string, description: string, least = 0): InputDefinition {
  return { title, description, schema: Type.Number({ minimum: least }) };
}

export const invalidInput: InputDefinition = makeOptional({
  title: 'Invalid geometries',
  description: 'Treatment of invalid geometries (OGC 06-103r4): repair, skip or fail.',
  schema: Type.String({ enum: ['repair', 'skip', 'fail'], default: 'repair' }),
});

/** Whether invalid geometries are not repaired. */
export const isStrict = ({ invalidGeometries }: InputValues) =>
  invalidGeometries === 'skip' || invalidGeometries === 'fail';

export function getNumberInput(values: InputValues, name: string, fallback = 0): number {
  return (values[name] as number | undefined) ?? fallback;
}

/** A length in the units of the coordinates. In a geographic CRS metres are taken along the equator. */
export function lengthInCrs(values: InputValues, name: string, { crs }: FeaturesFacts): number {
  const unit = (values['unit'] as Unit | undefined) ?? 'metre';
  const length = getNumberInput(values, name);
  return unit === 'crs' ? length : (length * METRES[unit]) / crs.metresPerUnit;
}

/** A length in metres over the ground; undefined where the coordinates are taken for a plane. */
export function metresOnGround(
  values: InputValues,
  name: string,
  { crs }: FeaturesFacts,
): number | undefined {
  const unit = (values['unit'] as Unit | undefined) ?? 'metre';
  return unit === 'crs' || !crs.isGeographic ? undefined : getNumberInput(values, name) * METRES[unit];
}

/** Measure of lengths: over the ground for a unit of length in a geographic CRS, otherwise in the plane. */
export const getLengthMeasure = (values: InputValues, facts: FeaturesFacts): Measure =>
  measureIn(METRES, (values['unit'] as Unit | undefined) ?? 'metre', facts);

function measureIn<U extends string>(
  metres: Readonly<Record<U, number>>,
  unit: U | 'crs',
  { crs }: FeaturesFacts,
): Measure {
  if (unit === 'crs') return { ground: false, perUnit: 1 };
  return crs.isGeographic
    ? { ground: true, perUnit: metres[unit] }
    : { ground: false, perUnit: metres[unit] / crs.metresPerUnit };
}

/** Side of a square of each area unit, in metres. */
const SIDES = {
  'square-metre': 1,
  hectare: 100,
  'square-kilometre': 1000,
  'square-foot': METRES.foot,
  acre: Math.sqrt(4046.8564224),
  'square-mile': METRES.mile,
} as const;

export const areaUnitInput: InputDefinition = makeOptional({
  title: 'Unit',
  description: 'Unit of areas. crs is the squared unit of the coordinates.',
  schema: Type.String({ enum: [...Object.keys(SIDES), 'crs'], default: 'square-metre' }),
});

/** Measure of areas, by the same rules as for lengths. `perUnit` is the length of a unit's side. */
export const getAreaMeasure = (values: InputValues, facts: FeaturesFacts): Measure =>
  measureIn(SIDES, (values['unit'] as keyof typeof SIDES | 'crs' | undefined) ?? 'square-metre', facts);

export const groupByInput = makeOptional({
  title: 'Group by',
  description: 'Fields whose values form groups. Default: one group of all features.',
  schema: Type.Array(Type.String(), { maxItems: 20 }),
});

/** A length over the ground, in metres, or in units of the plane. */
export function measuredLength(values: InputValues, name: string, { perUnit }: Measure): number {
  return getNumberInput(values, name) * perUnit;
}

/** A field of numbers. Throws 400 naming the input. */
export function numberField(values: InputValues, name: string, { source, fields }: FeaturesFacts): string {
  const field = String(values[name]);
  const type = source.fields.find((candidate) => candidate.name === field)?.type;
  if (!fields.includes(field)) throw noField(name, field);
  if (type !== 'integer' && type !== 'number')
    throw badParameter(
      `/inputs/${name}`,
      `must name a field of numbers, but '${field.slice(0, 60)}' has the type ${type}`,
    );
  return field;
}

const noField = (name: string, field: string) =>
  badParameter(`/inputs/${name}`, `'${field.slice(0, 60)}' is not a field of the features`);

/** Names of fields that the features have. Throws 400 naming the input. */
export function requireFieldNames(values: InputValues, name: string, { fields }: FeaturesFacts): string[] {
  const names = (values[name] as string[] | undefined) ?? [];
  const missing = names.find((field) => !fields.includes(field));
  if (missing !== undefined) throw noField(name, missing);
  return names;
}
