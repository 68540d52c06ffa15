import { TaskFailure } from '../../../core/errors/failure.js';
import { type FeatureRow, findField } from '../../../core/features/features.js';
import type { FeatureProcess } from '../../../core/processes/feature-processes.js';
import { PROCESS_LIMITS } from '../../../core/processes/limits.js';
import type { VectorSource } from '../../../core/sources/vector-source.js';
import { StatisticsGroup } from '../../features/analytics/statistics.js';
import type { ProcessRun } from '../run.js';
import { type Attribute, distinct, FeatureTable, type TableValue } from '../table.js';
import { ValueGroups } from './groups.js';
import { statisticAttributes } from './statistics.js';

type Summarize = Extract<FeatureProcess, { kind: 'summarize' }>;

interface Summary {
  values: FeatureRow['values'];
  statistics: StatisticsGroup;
  /** The numbers of each percentile's field. */
  numbers: number[][];
}

/** A feature without geometry for each group of equal values, in the order of their first features. */
export async function summarizeFeatures(run: ProcessRun, process: Summarize): Promise<number> {
  const { source } = run.task.input;
  const groups = await loadGroups(run, process);
  const table = FeatureTable.create(
    run.task.output,
    source.crs,
    distinct(summaryAttributes(source, process)),
  );
  try {
    for (const summary of groups.all()) table.add(null, buildRow(summary, process));
    return table.finish();
  } finally {
    table.abandon();
  }
}

export function summaryAttributes(source: VectorSource, process: Summarize): Attribute[] {
  return [
    ...process.by.map((name) => ({ name, type: findField(source, name)!.type })),
    { name: 'featureCount', type: 'integer' as const },
    ...statisticAttributes(source, process.statistics),
    ...process.percentiles.map(({ name }) => ({ name, type: 'number' as const })),
  ];
}

async function loadGroups(
  run: ProcessRun,
  { by, statistics, percentiles }: Summarize,
): Promise<ValueGroups<Summary>> {
  const { input } = run.task;
  const place = new Map(input.fields.map((name, i) => [name, i]));
  const groups = new ValueGroups<Summary>(statistics.length + percentiles.length);
  let size = 0;
  for await (const rows of run.rows(input, false)) {
    for (const { values } of rows) {
      const own = by.map((name) => values[place.get(name)!]!);
      const group = groups.of(own, () => ({
        values: own,
        statistics: new StatisticsGroup(statistics),
        numbers: percentiles.map(() => []),
      }));
      group.statistics.add((field) => values[place.get(field)!]!);
      for (const [i, { field }] of percentiles.entries()) {
        const value = values[place.get(field)!]!;
        if (value === null) continue;
        group.numbers[i]!.push(Number(value));
        size++;
      }
    }
    if (size > PROCESS_LIMITS.processValues)
      throw new TaskFailure(
        'too-large',
        `Percentiles can be computed of at most ${PROCESS_LIMITS.processValues} numbers.`,
      );
  }
  return groups;
}

function buildRow({ values, statistics, numbers }: Summary, process: Summarize): TableValue[] {
  const properties = statistics.properties();
  return [
    ...values,
    statistics.count,
    ...process.statistics.map(({ name }) => properties[name]),
    ...process.percentiles.map(({ share }, i) => percentile(numbers[i]!, share)),
  ];
}

/** Same as PERCENTILE_CONT in SQL: interpolates between the two numbers next to the share. */
function percentile(numbers: number[], share: number): number | null {
  if (numbers.length === 0) return null;
  const ascending = Float64Array.from(numbers).sort();
  const at = share * (ascending.length - 1);
  const [low, high] = [ascending[Math.floor(at)]!, ascending[Math.ceil(at)]!];
  return low + (high - low) * (at - Math.floor(at));
}
