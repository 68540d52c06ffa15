import { plainFields } from '../../../core/access/field-masks.js';
import type { VectorCollection } from '../../../core/catalog/collection.js';
import { badParameter } from '../../../core/errors/errors.js';
import {
  type Grouping,
  type GroupStatistic,
  type GroupStatisticType,
  type GroupsTask,
  groupColumns,
  valueField,
} from '../../../core/features/feature-groups.js';
import type { SortKey } from '../../../core/features/features.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { Field } from '../../../core/sources/vector-source.js';
import { type OutputStatistic, readHaving } from '../../../services/geoservices/having-clause.js';
import { scalarNumber, scalarText } from '../../../services/geoservices/scalar.js';
import { GEOSERVICES_LIMITS } from '../limits.js';
import {
  type Members,
  readChoiceMember,
  readFlagMember,
  readIntegerMember,
  readObjectMember,
  readObjectsMember,
  readTextMember,
  requireObject,
} from '../members.js';
import {
  MAX_FIELDS,
  orderKeys,
  QUERY_FORMATS,
  type QueryFormat,
  readFeatureQuery,
  readRecordLimit,
} from './query-request.js';

/**
 * Query for statistics or distinct values of groups of features. Each reader throws 400 with the name of the
 * parameter.
 */

export interface GroupsRequest {
  readonly format: QueryFormat;
  readonly answer: 'groups' | 'count';
  readonly task: GroupsTask;
  /** Columns of a group, in the order of the response: fields of the layer under their own names, and statistics. */
  readonly columns: readonly GroupColumn[];
}

export interface GroupColumn {
  /** The field, with its name in the response. */
  readonly field: Field;
  /** A count, which clients know as an integer of 32 bits. */
  readonly isCount: boolean;
  /** Its place in the rows of the result. */
  readonly place: number;
}

const MAX_GROUP_FIELDS = 20;

/** Undefined if the query selects features. */
export function groupsRequest(layer: VectorCollection, members: Members): GroupsRequest | undefined {
  const statistics = readOutputStatistics(layer, members);
  const isDistinct = readFlagMember(members, 'returnDistinctValues', false);
  if (statistics === undefined) {
    for (const name of ['groupByFieldsForStatistics', 'having'])
      if (readTextMember(members, name, MAX_FIELDS) !== undefined)
        throw badParameter(name, 'is only for outStatistics');
    if (!isDistinct) return undefined;
  }
  requireNoFeatures(members, statistics ? 'outStatistics' : 'returnDistinctValues');
  const groupBy = statistics
    ? groupFields(
        layer,
        'groupByFieldsForStatistics',
        readTextMember(members, 'groupByFieldsForStatistics', MAX_FIELDS),
      )
    : distinctFields(layer, readTextMember(members, 'outFields', MAX_FIELDS));
  return readRequest(layer, members, groupBy, statistics ?? []);
}

/** Groups have neither geometries nor ids. */
function requireNoFeatures(members: Members, name: string): void {
  if (name === 'returnDistinctValues' && readFlagMember(members, 'returnGeometry', false))
    throw badParameter('returnGeometry', 'must be false with returnDistinctValues');
  for (const flag of ['returnIdsOnly', 'returnExtentOnly'])
    if (readFlagMember(members, flag, false)) throw badParameter(flag, `cannot be true with ${name}`);
}

function readRequest(
  layer: VectorCollection,
  members: Members,
  groupBy: readonly string[],
  outputs: readonly OutputStatistic[],
): GroupsRequest {
  const names = [...groupBy, ...outputs.map(({ name }) => name)];
  requireDifferent(names);
  const query = readFeatureQuery(layer, members);
  const { having, statistics } = readHaving(
    readTextMember(members, 'having', LIMITS.geoServicesWhere),
    { source: query.source, groupBy, outputs },
    (type, name) => requireStatistic(layer, 'having', type, name),
  );
  const grouping: Grouping = { groupBy, statistics };
  const columns = groupColumns(query.source, grouping);
  return {
    format: readChoiceMember(members, 'f', { values: QUERY_FORMATS, fallback: 'json' }),
    answer: readFlagMember(members, 'returnCountOnly', false) ? 'count' : 'groups',
    columns: names.map((name, place) => ({
      field: {
        ...(layer.source.fields.find((field) => field.name === groupBy[place]) ?? columns[place]!),
        name,
      },
      isCount: place >= groupBy.length && outputs[place - groupBy.length]!.statistic.type === 'count',
      place,
    })),
    task: {
      ...query,
      ...grouping,
      ...(having === undefined ? {} : { having }),
      sort: readSort(members, names, columns),
      limit: readRecordLimit(members),
      offset: readIntegerMember(members, 'resultOffset') ?? 0,
    },
  };
}

export function requireDifferent(names: readonly string[]): void {
  const lower = names.map((name) => name.toLowerCase());
  const twice = lower.findIndex((name, i) => lower.indexOf(name) !== i);
  if (twice >= 0) throw badParameter('outStatistics', `has the name '${names[twice]!.slice(0, 60)}' twice`);
}

function readSort(members: Members, names: readonly string[], columns: readonly Field[]): SortKey[] {
  const sortable = new Map(names.map((name, i) => [name.toLowerCase(), columns[i]!.name]));
  return orderKeys(readTextMember(members, 'orderByFields', MAX_FIELDS), sortable);
}

const WORDS: Readonly<Record<string, GroupStatisticType>> = {
  count: 'count',
  sum: 'sum',
  min: 'min',
  max: 'max',
  avg: 'avg',
  stddev: 'stddev',
  var: 'var',
  percentile_cont: 'percentile_cont',
  percentile_disc: 'percentile_disc',
};

/** Allowed names from clients: they are returned in the response, and never become part of SQL. */
export const NAME_PATTERN = /^[\p{L}_][\p{L}\p{N}_$#.: -]{0,127}$/u;

export function readOutputStatistics(
  layer: VectorCollection,
  members: Members,
): OutputStatistic[] | undefined {
  const objects = readObjectsMember(members, 'outStatistics', GEOSERVICES_LIMITS.geoServicesStatistics);
  if (objects === undefined) return undefined;
  if (objects.length === 0) throw badParameter('outStatistics', 'must have at least one statistic');
  return objects.map((object) => outputStatistic(layer, object));
}

function outputStatistic(layer: VectorCollection, object: Members): OutputStatistic {
  const word = scalarText('outStatistics', object['statisticType'] ?? '').toLowerCase();
  const type = Object.hasOwn(WORDS, word) ? WORDS[word]! : undefined;
  if (type === undefined)
    throw badParameter('outStatistics', `must have a statisticType of ${Object.keys(WORDS).join(', ')}`);
  const field = object['onStatisticField'];
  if (typeof field !== 'string')
    throw badParameter('outStatistics', 'must have a field name as onStatisticField');
  const statistic = requireStatistic(layer, 'outStatistics', type, field);
  const name = object['outStatisticFieldName'] || `${type.toUpperCase()}_${statistic.field}`;
  if (typeof name !== 'string' || !NAME_PATTERN.test(name))
    throw badParameter(
      'outStatistics',
      'must have an outStatisticFieldName of letters, digits and underscores',
    );
  if (!type.startsWith('percentile')) return { name, statistic };
  return { name, statistic: { ...statistic, percentile: readPercentile(object) } };
}

function readPercentile(object: Members): GroupStatistic['percentile'] {
  const parameters = readObjectMember(object, 'statisticParameters');
  const { value, orderBy = 'ASC' } = requireObject('outStatistics', parameters ?? null);
  const fraction = scalarNumber('outStatistics', value ?? '');
  if (!['number', 'string'].includes(typeof value) || value === '' || !(fraction >= 0 && fraction <= 1))
    throw badParameter('outStatistics', 'must have a value of statisticParameters from 0 to 1');
  if (!/^(asc|desc)$/i.test(scalarText('outStatistics', orderBy)))
    throw badParameter('outStatistics', 'must have ASC or DESC as orderBy of statisticParameters');
  return { fraction, descending: /^desc$/i.test(scalarText('outStatistics', orderBy)) };
}

/** Values of these cannot be compared. */
const WITHOUT_ORDER: ReadonlySet<Field['type']> = new Set(['json', 'array', 'binary']);
const NUMBERS: ReadonlySet<Field['type']> = new Set(['integer', 'number', 'boolean']);

/** Fields allowed in calculations, by their names in lower case: masked fields are excluded. */
export function listComparableFields({ source }: VectorCollection): Map<string, string> {
  const fields = plainFields(source.fields).filter(({ type }) => !WITHOUT_ORDER.has(type));
  const names = [...fields.map(({ name }) => name), source.idColumn];
  return new Map(names.map((name) => [name.toLowerCase(), name]));
}

export function requireStatistic(
  layer: VectorCollection,
  parameter: string,
  type: GroupStatisticType,
  name: string,
): GroupStatistic {
  const isAll = type === 'count' && name.trim() === '*';
  const field = isAll ? layer.source.idColumn : listComparableFields(layer).get(plainName(name));
  if (field === undefined) throw badParameter(parameter, `cannot use the field '${name.slice(0, 60)}'`);
  const { type: fieldType } = valueField(layer.source, field);
  if (!['count', 'min', 'max'].includes(type) && !NUMBERS.has(fieldType))
    throw badParameter(
      parameter,
      `must name a number field for ${type}; the values of '${field}' are not numbers`,
    );
  return { type, field };
}

const plainName = (text: string) =>
  text
    .trim()
    .replace(/^"(.*)"$/, '$1')
    .toLowerCase();

export function groupFields(layer: VectorCollection, parameter: string, text: string | undefined): string[] {
  if (text === undefined || text.trim() === '') return [];
  const fields = listComparableFields(layer);
  const names = text.split(',').map((part) => {
    const name = fields.get(plainName(part));
    if (name === undefined)
      throw badParameter(parameter, `'${part.trim().slice(0, 60)}' is not a field that can be grouped`);
    return name;
  });
  const distinct = [...new Set(names)];
  if (distinct.length > MAX_GROUP_FIELDS)
    throw badParameter(parameter, `must name at most ${MAX_GROUP_FIELDS} fields`);
  return distinct;
}

/**
 * All fields except the key, which would make every feature distinct. The key is used only if the request names it.
 */
function distinctFields(layer: VectorCollection, text: string | undefined): string[] {
  if (text === undefined || text.trim() === '') throw badParameter('outFields', 'is required');
  if (text.trim() !== '*') return groupFields(layer, 'outFields', text);
  const names = [...listComparableFields(layer).values()].filter((name) => name !== layer.source.idColumn);
  if (names.length === 0) throw badParameter('outFields', 'must name a field with distinct values');
  if (names.length > MAX_GROUP_FIELDS)
    throw badParameter('outFields', `must name at most ${MAX_GROUP_FIELDS} fields`);
  return names;
}
