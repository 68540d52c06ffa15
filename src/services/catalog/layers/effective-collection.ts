import { createHash } from 'node:crypto';
import { hasCoverage, hasFeatures } from '../../../core/catalog/abilities.js';
import type { Collection, RasterCollection, VectorCollection } from '../../../core/catalog/collection.js';
import type {
  FieldSettings,
  LayerSettings,
  MergeStrategy,
  PermanentFilter,
  ServiceSettings,
  TimeInfo,
} from '../../../core/catalog/layer-settings.js';
import { findMosaicSource, withMerge, withOldestOnTop } from '../../../core/catalog/raster-sources.js';
import {
  ALL_FEATURES,
  Cql2Error,
  check,
  type Expression,
  NO_FEATURES,
  parseJson,
  parseText,
} from '../../../core/cql2/index.js';
import { ApiError } from '../../../core/errors/errors.js';
import { CRS84 } from '../../../core/geometry/crs.js';
import type { Field } from '../../../core/sources/vector-source.js';
import { parseJsonExactly } from '../../../core/values/json.js';
import { geoServicesFilter } from '../../geoservices/filter.js';
import { narrowed } from '../visible-catalog.js';
import type { Measurements } from '../visible-facts.js';

/** A collection with the settings of its layer and of its service applied. */
export function settled(
  collection: Collection,
  settings: LayerSettings,
  service: ServiceSettings,
  measurements: Measurements,
): Collection {
  const { title, description, about, service: serviceName, enabled } = settings;
  const { protocols, mapServer } = service;
  const told = {
    ...collection,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(about === undefined ? {} : { about: { ...collection.about, ...about } }),
    ...(serviceName === undefined ? {} : { service: serviceName }),
    ...(enabled === false ? { isDisabled: true as const } : {}),
    ...(protocols === undefined ? {} : { protocols }),
    ...(mapServer === undefined ? {} : { maps: mapServer }),
  };
  if (hasCoverage(told)) return mosaicBy(told, settings.mergeStrategy);
  if (!hasFeatures(told)) return told;
  const { fields = [], filter, timeInfo = service.timeInfo, relationships } = settings;
  const hidden = new Set(fields.filter((field) => field.hidden).map(({ name }) => name));
  const described = withTime(withFields(told, fields), timeInfo);
  const names = described.source.fields.map(({ name }) => name);
  return narrowed(
    relationships ? { ...described, relationships } : described,
    {
      ...(filter ? { filter: buildRows(filter, described) } : {}),
      ...(hidden.size > 0 ? { fields: names.filter((name) => !hidden.has(name)) } : {}),
    },
    measurements,
    'everybody',
  );
}

/**
 * A raster collection with a merge strategy. Mosaics are drawn in the order of their members, the newest last.
 * Rasters that merge values in their own way remain unchanged.
 */
function mosaicBy(collection: RasterCollection, strategy: MergeStrategy | undefined): RasterCollection {
  const { raster, version, origin } = collection;
  const source = findMosaicSource(raster.source);
  if (!source || source.merge || strategy === undefined || strategy === 'newest') return collection;
  return {
    ...collection,
    raster: {
      ...raster,
      source: strategy === 'oldest' ? withOldestOnTop(source) : withMerge(source, strategy),
    },
    version: `${version}-${strategy}`,
    origin: `${origin}-${strategy}`,
  };
}

function withFields(collection: VectorCollection, settings: readonly FieldSettings[]): VectorCollection {
  if (settings.length === 0) return collection;
  const byName = new Map(settings.map((one) => [one.name, one]));
  const { source } = collection;
  const computePlace = ({ name }: Field) => byName.get(name)?.order ?? Number.POSITIVE_INFINITY;
  const fields = source.fields.map((one) => buildField(one, byName));
  if (settings.some(({ order }) => order !== undefined))
    fields.sort((a, b) => compare(computePlace(a), computePlace(b)));
  return { ...collection, source: { ...source, fields } };
}

/** Comparison without subtraction, because infinity minus infinity is NaN. */
const compare = (a: number, b: number) => (a === b ? 0 : a - b);

function buildField(field: Field, settings: ReadonlyMap<string, FieldSettings>): Field {
  const { alias, domain, editable = true } = settings.get(field.name) ?? {};
  if (alias === undefined && domain === undefined && editable) return field;
  return {
    ...field,
    ...(editable ? {} : { generated: true }),
    ...(alias === undefined ? {} : { title: alias }),
    ...(domain ? buildValues(domain) : {}),
  };
}

/** Values that the domain of a field allows. */
function buildValues(
  domain: NonNullable<FieldSettings['domain']>,
): Pick<Field, 'enumeration' | 'codedValues' | 'range'> {
  if (domain.type === 'range') return { range: [...domain.range] };
  const { codedValues } = domain;
  return { enumeration: codedValues.map(({ code }) => code), codedValues };
}

/** A collection with other time fields. They change the result of `datetime`, so they also change the version. */
function withTime(collection: VectorCollection, time: TimeInfo | undefined): VectorCollection {
  if (!time || (time.startTimeField === null && time.endTimeField === null)) return collection;
  const { source, version, origin } = collection;
  const bounds = new Map([
    [time.endTimeField, 'end' as const],
    [time.startTimeField, 'start' as const],
  ]);
  const fields = source.fields.map((field) => {
    const bound = isTimeField(field) ? bounds.get(field.name) : undefined;
    return bound ? { ...field, bound } : field;
  });
  if (fields.every((field, i) => field === source.fields[i])) return collection;
  const hash = createHash('sha1').update(JSON.stringify(time)).digest('hex').slice(0, 8);
  return {
    ...collection,
    source: { ...source, fields },
    version: `${version}-${hash}`,
    origin: `${origin}-${hash}`,
  };
}

export function isTimeField({ type }: Field): boolean {
  return type === 'date' || type === 'date-time';
}

/** `NO_FEATURES` when the filter no longer fits the data: a layer never opens. */
function buildRows(filter: PermanentFilter, collection: VectorCollection): Expression {
  try {
    return permanentRows(filter, collection);
  } catch (error) {
    if (error instanceof Cql2Error || error instanceof ApiError) return NO_FEATURES;
    throw error;
  }
}

/** Throws `Cql2Error` or 400 for a filter that is not one of this collection. */
export function permanentRows(
  { expression, language }: PermanentFilter,
  { source, storageCrs }: VectorCollection,
): Expression {
  const schema = { ...source, filterCrs: CRS84 };
  if (language === 'arcgis-sql')
    return geoServicesFilter({ where: expression }, schema, storageCrs) ?? ALL_FEATURES;
  const tree = language === 'cql2-text' ? parseText(expression) : parseJson(getJson(expression));
  return check(tree, schema);
}

function getJson(text: string): unknown {
  try {
    return parseJsonExactly(text, 'all');
  } catch (error) {
    throw new Cql2Error(`is not JSON: ${(error as Error).message.slice(0, 120)}`);
  }
}
