import { isCall, isProperty, type Operand } from '../../core/cql2/ast.js';
import { type Expression, mapOperands } from '../../core/cql2/index.js';
import { badParameter } from '../../core/errors/errors.js';
import {
  type GroupStatistic,
  type GroupStatisticType,
  groupColumns,
  groupTable,
} from '../../core/features/feature-groups.js';
import { CRS84 } from '../../core/geometry/crs.js';
import type { VectorSource } from '../../core/sources/vector-source.js';
import { parseCondition } from './where.js';

/** A statistic under the name that a client gave it. */
export interface OutputStatistic {
  readonly name: string;
  readonly statistic: GroupStatistic;
}

/** Names available to a condition on groups. */
export interface HavingScope {
  readonly source: VectorSource;
  readonly groupBy: readonly string[];
  readonly outputs: readonly OutputStatistic[];
}

/**
 * The condition, in which columns have the names that `groupColumns` gives them, and all statistics that it needs, starting with those of the
 * response.
 */
export interface HavingClause {
  readonly having: Expression | undefined;
  readonly statistics: readonly GroupStatistic[];
}

const AGGREGATES: ReadonlySet<string> = new Set(['count', 'sum', 'min', 'max', 'avg', 'stddev', 'var']);

const MAX_STATISTICS = 20;

/**
 * Parses `having`: an SQL condition over aggregates such as `SUM(pop)`, group fields, and names of statistics.
 * `statisticOf` returns the statistic of a function over a field, and throws 400 for an invalid one.
 */
export function readHaving(
  text: string | undefined,
  { source, groupBy, outputs }: HavingScope,
  statisticOf: (type: GroupStatisticType, field: string) => GroupStatistic,
): HavingClause {
  const statistics = outputs.map(({ statistic }) => statistic);
  if (text === undefined || text.trim() === '') return { having: undefined, statistics };
  const names = [...groupBy, ...outputs.map(({ name }) => name)];
  const schema = () => {
    const columns = groupColumns(source, { groupBy, statistics });
    return columns.map((column, i) => ({ ...column, name: names[i]! }));
  };
  const fields = schema();
  const aggregate = (operand: Operand): Operand => {
    const name = nameAggregate(operand, statisticOf, (statistic) => {
      const place = statistics.findIndex((one) => isSame(one, statistic));
      if (place >= 0) return names[groupBy.length + place]!;
      if (statistics.length >= outputs.length + MAX_STATISTICS)
        throw badParameter('having', `must use at most ${MAX_STATISTICS} statistics`);
      statistics.push(statistic);
      // Names in responses contain no parentheses, so this name is unique.
      names.push(`${statistic.type}(${statistic.field})`);
      fields.push(schema().at(-1)!);
      return names.at(-1)!;
    });
    return name === undefined ? operand : { property: name };
  };
  const table = { ...groupTable(source, fields), filterCrs: CRS84 };
  const condition = parseCondition('having', quoteCountStar(text), table, { change: aggregate });
  const columns = groupColumns(source, { groupBy, statistics });
  const having = mapOperands(condition, (operand) => {
    if (typeof operand !== 'object' || !isProperty(operand)) return operand;
    const column = columns[names.indexOf(operand.property)];
    if (!column) throw badParameter('having', 'must use only grouped fields and statistics');
    return { property: column.name };
  }) as Expression;
  return { having, statistics };
}

function nameAggregate(
  operand: Operand,
  statisticOf: (type: GroupStatisticType, field: string) => GroupStatistic,
  nameOf: (statistic: GroupStatistic) => string,
): string | undefined {
  if (typeof operand !== 'object' || !isCall(operand)) return undefined;
  const type = operand.op.toLowerCase();
  const [field, ...more] = operand.args;
  if (!AGGREGATES.has(type)) return undefined;
  if (more.length > 0 || typeof field !== 'object' || !isProperty(field))
    throw badParameter('having', `${type.toUpperCase()} needs the name of a field`);
  return nameOf(statisticOf(type as GroupStatisticType, field.property));
}

const isSame = (a: GroupStatistic, b: GroupStatistic) =>
  a.type === b.type && a.field === b.field && a.percentile === b.percentile;

/** Writes `COUNT(*)` as `COUNT("*")`, which the parser can read. Quoted text is unchanged. */
function quoteCountStar(text: string): string {
  return text.replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"|\bcount\s*\(\s*\*\s*\)/gi, (token) =>
    /^count/i.test(token) ? 'COUNT("*")' : token,
  );
}
