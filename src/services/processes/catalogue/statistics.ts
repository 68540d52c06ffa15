import Type from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import { STATISTIC_TYPES, type Statistic, type StatisticType } from '../../../core/features/analytics.js';
import type { Percentile } from '../../../core/processes/feature-processes.js';
import type { FeaturesFacts, InputDefinition, InputValues } from '../definition.js';
import { makeOptional } from './parts.js';

/** Statistics over the values of fields, as processes take them. */

const NAME = Type.Optional(Type.String({ description: 'Name of the attribute. Default: type_field.' }));

const StatisticSchema = Type.Object({
  type: Type.String({ enum: [...STATISTIC_TYPES] }),
  field: Type.String(),
  name: NAME,
});

const SummaryStatisticSchema = Type.Object({
  type: Type.String({ enum: [...STATISTIC_TYPES, 'median', 'percentile'] }),
  field: Type.String(),
  percentile: Type.Optional(
    Type.Number({ minimum: 0, maximum: 100, description: 'Percentage of the values, for percentile.' }),
  ),
  name: NAME,
});

const MOST = { maxItems: 50 };

export function statisticsInput(description: string): InputDefinition {
  return makeOptional({ title: 'Statistics', description, schema: Type.Array(StatisticSchema, MOST) });
}

export function summaryStatisticsInput(description: string): InputDefinition {
  return makeOptional({ title: 'Statistics', description, schema: Type.Array(SummaryStatisticSchema, MOST) });
}

interface StatisticInput<T extends string> {
  type: T;
  field: string;
  percentile?: number;
  name?: string;
}

/** Statistics for ordered values of any type. Other statistics need numbers. */
const OF_ANY: readonly string[] = ['count', 'min', 'max'];

/**
 * The items of the input `statistics` with the names of their attributes. Throws 400 with the wrong item: unknown
 * fields, values that are not numbers, names that are repeated or in `others`.
 */
function namedStatistics<T extends string>(
  values: InputValues,
  { source, fields }: FeaturesFacts,
  others: readonly string[],
): (StatisticInput<T> & { name: string })[] {
  const list = (values['statistics'] as StatisticInput<T>[] | undefined) ?? [];
  const taken = new Set(['fid', 'geom', ...others.map((name) => name.toLowerCase())]);
  return list.map((statistic, i) => {
    const { type, field, percentile } = statistic;
    const { name = [type, ...(percentile === undefined ? [] : [percentile]), field].join('_') } = statistic;
    const at = `/inputs/statistics/${i}`;
    if (!fields.includes(field))
      throw badParameter(`${at}/field`, `'${field.slice(0, 60)}' is not a field of the features`);
    const sort = source.fields.find((candidate) => candidate.name === field)!.type;
    const isNumber = sort === 'integer' || sort === 'number';
    if (sort === 'binary' && type !== 'count')
      throw badParameter(
        `${at}/type`,
        `${type} needs values that can be sorted, but '${field.slice(0, 60)}' is binary`,
      );
    if (!isNumber && !OF_ANY.includes(type))
      throw badParameter(
        `${at}/type`,
        `${type} needs numbers, but '${field.slice(0, 60)}' has the type ${sort}`,
      );
    if (taken.has(name.toLowerCase()))
      throw badParameter(`${at}/name`, `the attribute '${name.slice(0, 60)}' is given twice`);
    taken.add(name.toLowerCase());
    return { ...statistic, name };
  });
}

/**
 * Statistics of the input `statistics`. `others` are further attributes of the output. Throws 400 with the wrong
 * item.
 */
export function parseStatistics(
  values: InputValues,
  facts: FeaturesFacts,
  others: readonly string[],
): Statistic[] {
  const list = namedStatistics<StatisticType>(values, facts, others);
  return list.map(({ type, field, name }) => ({ type, field, name }));
}

/** Like `parseStatistics`, for statistics that include medians and percentiles. */
export function parseSummary(
  values: InputValues,
  facts: FeaturesFacts,
  others: readonly string[],
): { statistics: Statistic[]; percentiles: Percentile[] } {
  const statistics: Statistic[] = [];
  const percentiles: Percentile[] = [];
  const list = namedStatistics<StatisticType | 'median' | 'percentile'>(values, facts, others);
  for (const [i, { type, field, name, percentile }] of list.entries()) {
    if ((type === 'percentile') !== (percentile !== undefined))
      throw badParameter(
        `/inputs/statistics/${i}/percentile`,
        'is required for the type percentile, and only for it',
      );
    if (type === 'percentile' || type === 'median')
      percentiles.push({ share: (percentile ?? 50) / 100, field, name });
    else statistics.push({ type, field, name });
  }
  return { statistics, percentiles };
}
