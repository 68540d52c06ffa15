import { badParameter } from '../../../core/errors/errors.js';
import { STATISTIC_TYPES, type Statistic, type StatisticType } from '../../../core/features/analytics.js';
import { FEATURE_LIMITS } from '../../../core/features/limits.js';
import type { Field } from '../../../core/sources/vector-source.js';
import { parseLenientJson } from '../../geoservices/geometry.js';

/** Members of a body as values. Each throws 400 naming the member that is wrong. */

type Text = string | undefined;

/** A finite number; undefined when the member is missing. */
export function parseFiniteNumber(name: string, value: number | Text): number | undefined {
  if (value === undefined || value === '') return undefined;
  const number = Number(value);
  if (!Number.isFinite(number)) throw badParameter(name, 'must be a number');
  return number;
}

/** A number that must be there and within bounds. */
export function numberWithin(name: string, value: number | Text, low: number, high: number): number {
  const number = parseFiniteNumber(name, value);
  if (number === undefined) throw badParameter(name, 'is required');
  if (number < low || number > high) throw badParameter(name, `must be between ${low} and ${high}`);
  return number;
}

export function integerWithin(name: string, value: number | Text, low: number, high: number): number {
  const number = numberWithin(name, value, low, high);
  if (!Number.isInteger(number)) throw badParameter(name, 'must be an integer');
  return number;
}

export function parseFlag(name: string, value: boolean | Text, fallback: boolean): boolean {
  if (value === undefined || value === '') return fallback;
  const text = String(value).toLowerCase();
  if (text !== 'true' && text !== 'false') throw badParameter(name, 'must be true or false');
  return text === 'true';
}

/** The choice that a word represents. Default: the first choice. */
export function parseChoice<T extends string>(
  name: string,
  value: Text,
  words: Readonly<Record<string, T>>,
): T {
  if (value === undefined || value === '') return Object.values(words)[0]!;
  const word = Object.hasOwn(words, value.toLowerCase()) ? words[value.toLowerCase()] : undefined;
  if (!word) throw badParameter(name, `must be one of ${Object.keys(words).join(', ')}`);
  return word;
}

/** Names of fields, separated by commas, without repeats. */
export function parseFieldNames(name: string, value: Text, fields: readonly Field[]): string[] {
  if (value === undefined || value.trim() === '') return [];
  const names = [...new Set(value.split(',').map((part) => part.trim()))];
  for (const each of names) fieldNamed(name, each, fields);
  return names;
}

export function fieldNamed(name: string, field: string, fields: readonly Field[]): Field {
  const match = fields.find((candidate) => candidate.name === field);
  if (!match) throw badParameter(name, `'${field.slice(0, 60)}' is not a field of the features`);
  return match;
}

export function isNumeric({ type }: Field): boolean {
  return type === 'integer' || type === 'number';
}

/** Types of statistics that need no numbers. */
const OF_ANY: readonly StatisticType[] = ['count', 'min', 'max'];
const NO_ORDER: readonly Field['type'][] = ['json', 'array', 'binary'];

/** `reserved` are properties that the features have anyway. */
export function parseOutStatistics(
  value: unknown,
  fields: readonly Field[],
  reserved: readonly string[],
): Statistic[] {
  const read = typeof value === 'string' && value !== '' ? parseLenientJson('outStatistics', value) : value;
  if (read === undefined || read === '' || read === null) return [];
  const list = Array.isArray(read) ? read : [read];
  if (list.length > FEATURE_LIMITS.statistics)
    throw badParameter('outStatistics', `must have at most ${FEATURE_LIMITS.statistics} entries`);
  const statistics = list.map((entry) => readStatistic(entry, fields));
  const names = [...reserved, ...statistics.map(({ name }) => name)];
  const repeated = names.find((name, i) => names.indexOf(name) !== i);
  if (repeated !== undefined)
    throw badParameter('outStatistics', `has the name '${repeated.slice(0, 60)}' twice`);
  return statistics;
}

function readStatistic(entry: unknown, fields: readonly Field[]): Statistic {
  if (typeof entry !== 'object' || entry === null) throw badParameter('outStatistics', 'must have objects');
  const { statisticType, onStatisticField, outStatisticFieldName } = entry as Record<string, unknown>;
  const type = STATISTIC_TYPES.find((type) => type === String(statisticType).toLowerCase());
  if (!type)
    throw badParameter('outStatistics', `must have a statisticType of ${STATISTIC_TYPES.join(', ')}`);
  const field = fieldNamed('outStatistics', String(onStatisticField), fields);
  if (!isNumeric(field) && !(OF_ANY.includes(type) && !NO_ORDER.includes(field.type)))
    throw badParameter(
      'outStatistics',
      `${type} cannot be computed of ${field.name}, which has the type ${field.type}`,
    );
  const name = outStatisticFieldName ?? `${type}_${field.name}`;
  if (typeof name !== 'string' || name === '' || name.length > 128)
    throw badParameter('outStatistics', 'must have an outStatisticFieldName of 1 to 128 characters');
  return { type, field: field.name, name };
}
