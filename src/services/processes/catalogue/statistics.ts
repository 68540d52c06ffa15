import Type from 'typebox';
import { STATISTIC_TYPES, type Statistic, type StatisticType } from '../../../core/analytics.js';
import { badParameter } from '../../../core/errors.js';
import type { FeaturesFacts, InputDefinition, InputValues } from '../definition.js';
import { optional } from './parts.js';

/** Statistics over the values of fields, as processes take them. */

const StatisticSchema = Type.Object({
  type: Type.String({ enum: [...STATISTIC_TYPES] }),
  field: Type.String(),
  name: Type.Optional(Type.String({ description: 'Of the attribute; type_field when absent.' })),
});

export function statisticsInput(description: string): InputDefinition {
  return optional({
    title: 'Statistics',
    description,
    schema: Type.Array(StatisticSchema, { maxItems: 50 }),
  });
}

interface StatisticInput {
  type: StatisticType;
  field: string;
  name?: string;
}

/** Those of the input `statistics`, over fields that the features have. Throws 400 naming what does not fit; `others` are attributes beside. */
export function statisticsOf(
  values: InputValues,
  facts: FeaturesFacts,
  others: readonly string[],
): Statistic[] {
  const list = (values['statistics'] as StatisticInput[] | undefined) ?? [];
  const taken = new Set(['fid', 'geom', ...others.map((name) => name.toLowerCase())]);
  return list.map(({ type, field, name = `${type}_${field}` }, i) => {
    const at = `/inputs/statistics/${i}`;
    if (!facts.fields.includes(field))
      throw badParameter(`${at}/field`, `there is no field '${field.slice(0, 60)}'`);
    const sort = facts.source.fields.find((candidate) => candidate.name === field)!.type;
    const isNumber = sort === 'integer' || sort === 'number';
    if (!isNumber && !['count', 'min', 'max'].includes(type))
      throw badParameter(`${at}/type`, `${type} needs numbers, and '${field.slice(0, 60)}' is ${sort}`);
    if (taken.has(name.toLowerCase()))
      throw badParameter(`${at}/name`, `there are two attributes '${name.slice(0, 60)}'`);
    taken.add(name.toLowerCase());
    return { type, field, name };
  });
}
