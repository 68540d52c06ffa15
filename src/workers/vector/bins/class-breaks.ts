import type { ClassBreaksResult, ClassBreaksTask } from '../../../core/class-breaks.js';
import { TaskFailure } from '../../../core/failure.js';
import type { Grouping, GroupStatistic } from '../../../core/feature-groups.js';
import { LIMITS } from '../../../core/limits.js';
import { breaksOf } from '../../../core/style/suggest/breaks.js';
import type { Cancellation } from '../../cancellation.js';
import type { FeatureStore } from '../../providers/feature-store.js';
import { bins } from './bins.js';

type Groups = NonNullable<FeatureStore['groups']>;

/** What the store computes of all values. */
interface Spread {
  readonly least: number;
  readonly most: number;
  readonly mean: number;
  readonly deviation: number;
}

/** Classes of the numbers of a field, of all features that pass. */
export async function classBreaks(
  task: ClassBreaksTask,
  groups: Groups,
  cancellation?: Cancellation,
): Promise<ClassBreaksResult> {
  const ask = async (grouping: Grouping, limit: number) => {
    const { source, filter } = task;
    const query = { source, filter };
    return groups({ ...query, ...grouping, sort: [], limit, offset: 0 }, cancellation);
  };
  const spread = await spreadOf(task, ask);
  if (!spread) return { least: null, maxima: [] };
  const { least, most } = spread;
  const inner =
    task.method === 'quantile'
      ? await quantiles(task, ask)
      : task.method === 'natural-breaks'
        ? await naturalBreaks(task, groups, ask, cancellation)
        : computed(task, spread);
  const tidy = [...new Set(inner)].filter((limit) => limit >= least && limit < most);
  return { least, maxima: [...tidy.sort((a, b) => a - b), most] };
}

type Ask = (grouping: Grouping, limit: number) => ReturnType<Groups>;

async function spreadOf({ field }: ClassBreaksTask, ask: Ask): Promise<Spread | undefined> {
  const types = ['min', 'max', 'avg', 'stddev'] as const;
  const { rows } = await ask({ groupBy: [], statistics: types.map((type) => ({ type, field })) }, 1);
  if (rows[0] === undefined || rows[0][0] === null) return undefined;
  const [least, most, mean, deviation] = rows[0].map(Number) as [number, number, number, number];
  if (!Number.isFinite(least) || !Number.isFinite(most))
    throw new TaskFailure('invalid-input', `'${field}' has values that are not finite.`);
  return { least, most, mean, deviation };
}

function computed({ method, count, interval }: ClassBreaksTask, spread: Spread): number[] {
  const { least, most, mean, deviation } = spread;
  const inner = innerPlaces(count);
  switch (method) {
    case 'geometrical-interval':
      if (least <= 0)
        throw new TaskFailure('invalid-input', 'Geometrical intervals take values above 0 alone.');
      return inner.map((i) => least * (most / least) ** (i / count));
    case 'standard-deviation':
      return deviationSteps(interval).map((step) => mean + step * deviation);
    case 'defined-interval':
      return intervals(interval, least, most);
    default:
      // Shares first: the difference of the ends may be beyond all numbers.
      return inner.map((i) => least * (1 - i / count) + most * (i / count));
  }
}

const innerPlaces = (count: number) => Array.from({ length: count - 1 }, (_, i) => i + 1);

/** Beyond as many deviations from the mean there is one class. */
const MOST_DEVIATIONS = 3;

function deviationSteps(interval: number): number[] {
  const most = Math.floor(MOST_DEVIATIONS / interval);
  return Array.from({ length: 2 * most + 1 }, (_, i) => (i - most) * interval);
}

/** Whole numbers of the interval. */
function intervals(interval: number, least: number, most: number): number[] {
  const first = Math.floor(least / interval) + 1;
  const number = Math.ceil(most / interval) - first;
  if (!(number < LIMITS.classes))
    throw new TaskFailure(
      'too-large',
      `There are more than ${LIMITS.classes} classes: choose a wider interval.`,
    );
  return Array.from({ length: Math.max(0, number) }, (_, i) => (first + i) * interval);
}

async function quantiles({ field, count }: ClassBreaksTask, ask: Ask): Promise<number[]> {
  const statistics = innerPlaces(count).map(
    (i): GroupStatistic => ({
      ...{ type: 'percentile_cont', field },
      percentile: { fraction: i / count, descending: false },
    }),
  );
  if (statistics.length === 0) return [];
  const { rows } = await ask({ groupBy: [], statistics }, 1);
  return rows[0]!.map(Number);
}

/** Values that count as one: how many they are, their mean and the greatest of them. */
interface Cluster {
  readonly mean: number;
  readonly count: number;
  readonly most: number;
}

async function naturalBreaks(
  task: ClassBreaksTask,
  groups: Groups,
  ask: Ask,
  cancellation?: Cancellation,
): Promise<number[]> {
  const clusters = (await valuesOf(task, ask)) ?? (await clustersOf(task, groups, cancellation));
  const means = clusters.map(({ mean }) => mean);
  const starts = breaksOf(
    'NaturalBreaks',
    means,
    task.count,
    clusters.map(({ count }) => count),
  );
  return starts.map((start) => clusters[means.indexOf(start) - 1]!.most);
}

/** Each value; undefined where there are too many of them. */
async function valuesOf({ field }: ClassBreaksTask, ask: Ask): Promise<Cluster[] | undefined> {
  const { rows, more } = await ask({ groupBy: [field], statistics: [{ type: 'count', field }] }, LIMITS.bins);
  if (more) return undefined;
  return rows
    .filter(([value]) => value !== null)
    .map(([value, count]) => ({ mean: Number(value), count: Number(count), most: Number(value) }));
}

/** Values that lie in one of many bins, as one. */
async function clustersOf(
  task: ClassBreaksTask,
  groups: Groups,
  cancellation?: Cancellation,
): Promise<Cluster[]> {
  const { field } = task;
  const statistics = (['avg', 'count', 'max'] as const).map((type) => ({ type, field }));
  const cut = { kind: 'count' as const, count: LIMITS.bins };
  const { bins: all } = await bins({ ...task, cut, statistics }, groups, cancellation);
  const rows = all.map(({ values }) => values.map(Number) as [number, number, number]);
  return rows.filter(([, count]) => count > 0).map(([mean, count, most]) => ({ mean, count, most }));
}
