import type { VectorCollection } from '../../../core/catalog/collection.js';
import { badParameter } from '../../../core/errors/errors.js';
import type { ClassBreaksTask, ClassMethod } from '../../../core/features/class-breaks.js';
import { type GroupsTask, valueField } from '../../../core/features/feature-groups.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { type PaletteName, paletteColors } from '../../../core/styles/suggest/palettes.js';
import { readFeatureQuery } from '../features/query-request.js';
import { listComparableFields } from '../features/statistics-request.js';
import { GEOSERVICES_LIMITS } from '../limits.js';
import { type Members, readObjectMember } from '../members.js';
import { baseSymbolIn, type Rgba, rampColors, rampIn } from './color-ramp.js';

/** Parameters of a renderer. Each reader throws 400 with the name `classificationDef`. */

interface Look {
  /** A symbol for each of so many classes. */
  symbols(count: number): Members[];
}

export interface BreaksRequest extends Look {
  readonly type: 'classBreaks';
  readonly methodName: string;
  readonly task: ClassBreaksTask;
}

export interface ValuesRequest extends Look {
  readonly type: 'uniqueValue';
  readonly delimiter: string;
  readonly task: GroupsTask & { readonly groupBy: readonly string[] };
}

const PARAMETER = 'classificationDef';
const bad = (text: string) => badParameter(PARAMETER, text);
const NUMBERS = ['integer', 'number'];
const DEFAULT_CLASSES = 5;

const METHODS: Readonly<Record<string, ClassMethod>> = {
  esriClassifyNaturalBreaks: 'natural-breaks',
  esriClassifyEqualInterval: 'equal-interval',
  esriClassifyQuantile: 'quantile',
  esriClassifyStandardDeviation: 'standard-deviation',
  esriClassifyGeometricalInterval: 'geometrical-interval',
  esriClassifyDefinedInterval: 'defined-interval',
};
/** Class widths in standard deviations: 1, 1/2, 1/3 and 1/4. */
const DEVIATIONS = [1, 2, 3, 4].map((part) => 1 / part);

export function rendererRequest(layer: VectorCollection, members: Members): BreaksRequest | ValuesRequest {
  const definition = readObjectMember(members, PARAMETER);
  if (!definition) throw bad('is missing');
  switch (definition['type']) {
    case 'classBreaksDef':
      return breaksRequest(layer, members, definition);
    case 'uniqueValueDef':
      return valuesRequest(layer, members, definition);
    default:
      throw bad('type must be classBreaksDef or uniqueValueDef');
  }
}

function breaksRequest(layer: VectorCollection, members: Members, definition: Members): BreaksRequest {
  const normalization = definition['normalizationType'];
  if (normalization && normalization !== 'esriNormalizeNone') throw bad('normalizationType is not supported');
  const field = chooseField(layer, definition['classificationField']);
  if (!NUMBERS.includes(valueField(layer.source, field).type)) throw bad(`'${field}' holds no numbers`);
  const methodName = definition['classificationMethod'] ?? 'esriClassifyNaturalBreaks';
  if (typeof methodName !== 'string' || !Object.hasOwn(METHODS, methodName))
    throw bad(`classificationMethod must be ${Object.keys(METHODS).join(' or ')}`);
  const method = METHODS[methodName]!;
  const count = Number(definition['breakCount'] ?? DEFAULT_CLASSES);
  if (!Number.isInteger(count) || count < 1 || count > LIMITS.classes)
    throw bad(`breakCount must be a whole number from 1 to ${LIMITS.classes}`);
  return {
    type: 'classBreaks',
    methodName,
    symbols: listSymbols(layer, definition, 'Viridis'),
    task: {
      ...readFeatureQuery(layer, members),
      field,
      method,
      count,
      interval: readInterval(definition, method),
    },
  };
}

function readInterval(definition: Members, method: ClassMethod): number {
  if (method === 'defined-interval') {
    const interval = Number(definition['definedInterval']);
    if (!(interval > 0 && interval < Number.POSITIVE_INFINITY)) throw bad('definedInterval must be above 0');
    return interval;
  }
  const share = Number(definition['standardDeviationInterval'] ?? 1);
  const interval = DEVIATIONS.find((one) => Math.abs(one - share) < 0.01);
  if (interval === undefined) throw bad('standardDeviationInterval must be 1, 0.5, 0.33 or 0.25');
  return interval;
}

const MAX_VALUE_FIELDS = 3;
const MAX_DELIMITER = 10;

function valuesRequest(layer: VectorCollection, members: Members, definition: Members): ValuesRequest {
  const names = definition['uniqueValueFields'];
  if (!Array.isArray(names) || names.length === 0 || names.length > MAX_VALUE_FIELDS)
    throw bad(`uniqueValueFields must be one to ${MAX_VALUE_FIELDS} names`);
  const groupBy = names.map((name) => chooseField(layer, name));
  if (new Set(groupBy).size < groupBy.length) throw bad('uniqueValueFields names a field twice');
  const delimiter = definition['fieldDelimiter'] ?? ',';
  if (typeof delimiter !== 'string' || delimiter.length > MAX_DELIMITER)
    throw bad(`fieldDelimiter must be text of ${MAX_DELIMITER} characters at most`);
  return {
    type: 'uniqueValue',
    delimiter,
    symbols: listSymbols(layer, definition, 'CartoBold'),
    task: {
      ...readFeatureQuery(layer, members),
      groupBy,
      statistics: [{ type: 'count', field: layer.source.idColumn }],
      sort: [],
      limit: GEOSERVICES_LIMITS.geoServicesRecords,
      offset: 0,
    },
  };
}

function chooseField(layer: VectorCollection, value: unknown): string {
  const field =
    typeof value === 'string' ? listComparableFields(layer).get(value.trim().toLowerCase()) : undefined;
  if (field === undefined) throw bad('must name a field that can be compared');
  return field;
}

function listSymbols(layer: VectorCollection, definition: Members, palette: PaletteName): Look['symbols'] {
  const symbol = baseSymbolIn(definition, defaultSymbol(layer));
  const ramp = rampIn(definition);
  // Errors in a ramp are reported before anything is computed.
  if (ramp) rampColors(ramp, 1);
  return (count) => {
    const colors = ramp ? rampColors(ramp, count) : paletteColors(palette, count).map(parseRgba);
    return colors.map((color) => ({ ...symbol, color }));
  };
}

const parseRgba = (hex: string): Rgba => {
  const [red, green, blue] = [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
  return [red!, green!, blue!, 255];
};

function defaultSymbol({ source: { geometryType } }: VectorCollection): Members {
  if (geometryType.endsWith('Point')) return { type: 'esriSMS', style: 'esriSMSCircle', size: 6 };
  if (geometryType.endsWith('LineString')) return { type: 'esriSLS', style: 'esriSLSSolid', width: 1.5 };
  const outline = { type: 'esriSLS', style: 'esriSLSSolid', color: [255, 255, 255, 255], width: 0.5 };
  return { type: 'esriSFS', style: 'esriSFSSolid', outline };
}
