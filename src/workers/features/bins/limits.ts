import { TaskFailure } from '../../../core/errors/failure.js';
import type {
  BinCut,
  CalendarCut,
  CountCut,
  IntervalCut,
  LimitsCut,
} from '../../../core/features/feature-bins.js';
import { LIMITS } from '../../../core/kit/limits.js';
import {
  type AnyNumber,
  exactInteger,
  exactNumber,
  formatDecimal,
  toDouble,
  toInt64,
} from '../../../core/values/exact-number.js';
import { calendarLimit } from './calendar.js';

/** Minimum and maximum of the values. */
export type ValueRange = readonly [least: AnyNumber, greatest: AnyNumber];

/** Returns ascending limits between which the bins are. Empty if there are no values for bins. */
export function binLimits(cut: BinCut, values: ValueRange | undefined): readonly AnyNumber[] {
  if (cut.kind === 'limits') return cut.limits;
  const from = cut.start ?? values?.[0];
  const to = cut.end ?? values?.[1];
  if (from === undefined || to === undefined || toDouble(from) > toDouble(to)) return [];
  const ends = integerEnds(from, to);
  if (ends && cut.kind !== 'calendar') return integerLimits(cut, ends).map(exactInteger);
  return doubleLimits(cut, toDouble(from), toDouble(to));
}

type Ends = readonly [from: bigint, to: bigint];

/** Returns a range of integers as 64-bit integers if doubles would round them. Undefined otherwise. */
export function integerEnds(from: AnyNumber, to: AnyNumber): Ends | undefined {
  if (Number.isSafeInteger(from) && Number.isSafeInteger(to)) return undefined;
  const ends = [from, to].map((end) =>
    isInteger(end) ? toInt64(exactNumber(formatDecimal(end))) : undefined,
  );
  return ends.every((end) => end !== undefined) ? (ends as unknown as Ends) : undefined;
}

const isInteger = (end: AnyNumber) => typeof end !== 'number' || Number.isInteger(end);

function integerLimits(cut: CountCut | IntervalCut, [from, to]: Ends): bigint[] {
  if (from > to) return [];
  if (cut.kind === 'count') {
    const count = BigInt(cut.count);
    const inner = Array.from(
      { length: cut.count - 1 },
      (_, i) => from + ((to - from) * BigInt(i + 1)) / count,
    );
    return [from, ...inner.filter((limit, i) => limit > (inner[i - 1] ?? from) && limit < to), to];
  }
  const { interval, origin = 0, end } = cut;
  if (!Number.isSafeInteger(interval) || !Number.isSafeInteger(origin))
    throw new TaskFailure(
      'invalid-input',
      `The interval ${interval} is not an integer, as bins of integers beyond 2^53 require.`,
    );
  const [width, base] = [BigInt(interval), BigInt(origin)];
  const rest = (from - base) % width;
  const first = cut.origin === undefined ? from : from - (rest < 0n ? rest + width : rest);
  const isPast = (limit: bigint) =>
    cut.origin === undefined || end !== undefined ? limit >= to : limit > to;
  return limitsUntil((bin) => first + BigInt(bin) * width, isPast);
}

function doubleLimits(cut: Exclude<BinCut, LimitsCut>, from: number, to: number): number[] {
  if (!Number.isFinite(from) || !Number.isFinite(to))
    throw new TaskFailure(
      'invalid-input',
      'The values have no range. Set the start and the end of the bins.',
    );
  switch (cut.kind) {
    case 'count':
      return equalLimits(cut, from, to);
    case 'interval':
      return intervalLimits(cut, from, to);
    case 'calendar':
      return calendarLimits(cut, from, to);
  }
}

function equalLimits({ count }: CountCut, from: number, to: number): number[] {
  // Shares are computed first, because the difference of the ends can exceed the range of numbers.
  const inner = Array.from({ length: count - 1 }, (_, i) => i + 1).map(
    (i) => from * (1 - i / count) + to * (i / count),
  );
  return [from, ...inner.filter((limit, i) => limit > (inner[i - 1] ?? from) && limit < to), to];
}

function intervalLimits({ interval, origin, end }: IntervalCut, from: number, to: number): number[] {
  const first = origin === undefined ? from : origin + Math.floor((from - origin) / interval) * interval;
  // Bins that are counted from the origin include a bin that starts at the maximum: the last bin never contains its
  // upper limit.
  const isPast = (limit: number) => (origin === undefined || end !== undefined ? limit >= to : limit > to);
  return limitsUntil((bin) => first + bin * interval, isPast);
}

function calendarLimits(cut: CalendarCut, from: number, to: number): number[] {
  const { start, end, isWhole } = cut;
  const limits = limitsUntil(calendarLimit(cut, from), (limit) =>
    end === undefined ? limit > to : limit >= to,
  );
  if (isWhole) return limits;
  if (start !== undefined) limits[0] = toDouble(start);
  if (end !== undefined) limits[limits.length - 1] = toDouble(end);
  return limits;
}

/** Returns limits up to the first limit past the end. There are two or more. */
function limitsUntil<T extends number | bigint>(
  limitOf: (bin: number) => T,
  isPast: (limit: T) => boolean,
): T[] {
  const limits = [limitOf(0)];
  do {
    const limit = limitOf(limits.length);
    if (!(limit > limits.at(-1)!))
      throw new TaskFailure('invalid-input', 'The bins are too narrow. Use wider ones.');
    limits.push(limit);
    if (limits.length > LIMITS.bins + 1)
      throw new TaskFailure('too-large', `There are more than ${LIMITS.bins} bins. Use wider ones.`);
  } while (!isPast(limits.at(-1)!));
  return limits;
}
