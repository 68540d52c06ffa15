import { TaskFailure } from '../../../core/errors/failure.js';
import type { ClassBreaksResult, ClassBreaksTask } from '../../../core/features/class-breaks.js';
import type { Grouping, GroupStatistic } from '../../../core/features/feature-groups.js';
import type { FeatureRow } from '../../../core/features/features.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { computeBreaks } from '../../../core/styles/suggest/breaks.js';
import {
  type AnyNumber,
  exactInteger,
  exactNumber,
  readNumber,
  toDouble,
  toInt64,
} from '../../../core/values/exact-number.js';
import { compareNumbers } from '../../../core/values/sortable-digits.js';
import type { FeatureStore } from '../../providers/feature-store.js';
import type { Cancellation } from '../../threads/cancellation.js';
import { bins } from './bins.js';

type Groups = NonNullable<FeatureStore['groups']>;

/** Statistics of all values, as the store computes them. */
interface Spread {
  readonly least: AnyNumber;
  readonly most: AnyNumber;
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
  const spread = await findSpread(task, ask);
  if (!spread) return { least: null, maxima: [] };
  const { least, most } = spread;
  const inner =
    task.method === 'quantile'
      ? await quantiles(task, ask)
      : task.method === 'natural-breaks'
        ? await naturalBreaks(task, groups, least, ask, cancellation)
        : computed(task, spread);
  const exact = bigEnds(spread) ? inner.map(exactLimit) : inner;
  const inside = exact.filter(
    (limit) => compareNumbers(limit, least) >= 0 && compareNumbers(limit, most) < 0,
  );
  const sorted = inside.sort(compareNumbers);
  const tidy = sorted.filter((limit, i) => i === 0 || compareNumbers(limit, sorted[i - 1]!) > 0);
  return { least, maxima: [...tidy, most] };
}

/**
 * Converts a number of a store. Integers beyond 2^53 are `bigint`s, and decimals that a double cannot represent are
 * text.
 */
function toNumber(value: FeatureRow['values'][number]): AnyNumber {
  if (typeof value === 'number') return value;
  return readNumber(String(value)) ?? exactNumber(String(value));
}

type Ask = (grouping: Grouping, limit: number) => ReturnType<Groups>;

async function findSpread({ field }: ClassBreaksTask, ask: Ask): Promise<Spread | undefined> {
  const types = ['min', 'max', 'avg', 'stddev'] as const;
  const { rows } = await ask({ groupBy: [], statistics: types.map((type) => ({ type, field })) }, 1);
  if (rows[0] === undefined || rows[0][0] === null) return undefined;
  const [least, most, mean, deviation] = rows[0].map(Number) as [number, number, number, number];
  if (!Number.isFinite(least) || !Number.isFinite(most))
    throw new TaskFailure('invalid-input', `'${field}' has values that are not finite.`);
  return { least: toNumber(rows[0][0]!), most: toNumber(rows[0][1]!), mean, deviation };
}

/**
 * Returns a limit among large integers: the exact integer of the double, and not the integer of its shortest digits.
 */
const exactLimit = (limit: AnyNumber): AnyNumber =>
  typeof limit === 'number' && Number.isInteger(limit) ? exactInteger(BigInt(limit)) : limit;

/** The ends of integers that doubles round. */
function bigEnds({ least, most }: Spread): [least: bigint, most: bigint] | undefined {
  if (typeof least === 'number' && typeof most === 'number') return undefined;
  const [first, last] = [toInt64(least), toInt64(most)];
  return first === undefined || last === undefined ? undefined : [first, last];
}

function computed(task: ClassBreaksTask, spread: Spread): AnyNumber[] {
  const big = bigEnds(spread);
  return (big && computedExactly(task, big)) ?? computedRoughly(task, spread);
}

/** Limits of methods that integers suffice for. */
function computedExactly(
  { method, count, interval }: ClassBreaksTask,
  [least, most]: [bigint, bigint],
): AnyNumber[] | undefined {
  if (method === 'equal-interval')
    return innerPlaces(count).map((i) => exactInteger(least + ((most - least) * BigInt(i)) / BigInt(count)));
  if (method !== 'defined-interval' || !Number.isSafeInteger(interval)) return undefined;
  const width = BigInt(interval);
  const first = floorQuotient(least, width) + 1n;
  const number = -floorQuotient(-most, width) - first;
  if (number >= LIMITS.classes) throw tooManyClasses();
  return Array.from({ length: Math.max(0, Number(number)) }, (_, i) =>
    exactInteger((first + BigInt(i)) * width),
  );
}

function floorQuotient(a: bigint, b: bigint): bigint {
  const quotient = a / b;
  return a % b < 0n ? quotient - 1n : quotient;
}

function computedRoughly({ method, count, interval }: ClassBreaksTask, spread: Spread): number[] {
  const { mean, deviation } = spread;
  const [least, most] = [toDouble(spread.least), toDouble(spread.most)];
  const inner = innerPlaces(count);
  switch (method) {
    case 'geometrical-interval':
      if (least <= 0) throw new TaskFailure('invalid-input', 'Geometrical intervals need values above 0.');
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
const MAX_DEVIATIONS = 3;

function deviationSteps(interval: number): number[] {
  const most = Math.floor(MAX_DEVIATIONS / interval);
  return Array.from({ length: 2 * most + 1 }, (_, i) => (i - most) * interval);
}

/** Class limits at integer multiples of the interval. */
function intervals(interval: number, least: number, most: number): number[] {
  const first = Math.floor(least / interval) + 1;
  const number = Math.ceil(most / interval) - first;
  if (!(number < LIMITS.classes)) throw tooManyClasses();
  return Array.from({ length: Math.max(0, number) }, (_, i) => (first + i) * interval);
}

const tooManyClasses = () =>
  new TaskFailure('too-large', `There are more than ${LIMITS.classes} classes. Use a wider interval.`);

async function quantiles({ field, count }: ClassBreaksTask, ask: Ask): Promise<number[]> {
  const statistics = innerPlaces(count).map(
    (i): GroupStatistic => ({
      type: 'percentile_cont',
      field,
      percentile: { fraction: i / count, descending: false },
    }),
  );
  if (statistics.length === 0) return [];
  const { rows } = await ask({ groupBy: [], statistics }, 1);
  return rows[0]!.map(Number);
}

/**
 * Values that count as one, with their number, their maximum and their mean. The mean of large integers is relative
 * to the minimum.
 */
interface Cluster {
  readonly mean: number;
  readonly count: number;
  readonly most: AnyNumber;
}

async function naturalBreaks(
  task: ClassBreaksTask,
  groups: Groups,
  least: AnyNumber,
  ask: Ask,
  cancellation?: Cancellation,
): Promise<AnyNumber[]> {
  const clusters = (await listValues(task, least, ask)) ?? (await listClusters(task, groups, cancellation));
  const means = clusters.map(({ mean }) => mean);
  const starts = computeBreaks(
    'NaturalBreaks',
    means,
    task.count,
    clusters.map(({ count }) => count),
  );
  return starts.map((start) => clusters[means.indexOf(start) - 1]!.most);
}

/** Each value; undefined where there are too many of them. */
async function listValues(
  { field }: ClassBreaksTask,
  least: AnyNumber,
  ask: Ask,
): Promise<Cluster[] | undefined> {
  const { rows, more } = await ask({ groupBy: [field], statistics: [{ type: 'count', field }] }, LIMITS.bins);
  if (more) return undefined;
  const distance = distanceFrom(least);
  return rows
    .filter(([value]) => value !== null)
    .map(([value, count]) => {
      const most = toNumber(value!);
      return { mean: distance(most), count: Number(count), most };
    });
}

/** Returns the distance from the minimum, which distinguishes integers that doubles round. */
function distanceFrom(least: AnyNumber): (value: AnyNumber) => number {
  const first = typeof least === 'number' ? undefined : toInt64(least);
  if (first === undefined) return toDouble;
  return (value) => {
    const integer = toInt64(value);
    return integer === undefined ? toDouble(value) - Number(first) : Number(integer - first);
  };
}

/** Returns the values of each of many bins as one cluster. */
async function listClusters(
  task: ClassBreaksTask,
  groups: Groups,
  cancellation?: Cancellation,
): Promise<Cluster[]> {
  const { field } = task;
  const statistics = (['avg', 'count', 'max'] as const).map((type) => ({ type, field }));
  const cut = { kind: 'count' as const, count: LIMITS.bins };
  const { bins: all } = await bins({ ...task, cut, statistics }, groups, cancellation);
  return all
    .map(({ values: [mean, count, most] }) => ({ mean: Number(mean), count: Number(count), most: most! }))
    .filter(({ count }) => count > 0)
    .map((cluster) => ({ ...cluster, most: toNumber(cluster.most) }));
}
