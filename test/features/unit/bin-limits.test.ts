import { expect, it } from 'vitest';
import type { CalendarCut } from '../../../src/core/features/feature-bins.js';
import { computeBreaks } from '../../../src/core/styles/suggest/breaks.js';
import { binLimits } from '../../../src/workers/features/bins/limits.js';

const DAY = 86_400_000;
const DAYS = {
  ...{ kind: 'calendar', unit: 'day', number: 1, zone: 'UTC', offset: 0 },
  ...{ firstDayOfWeek: 0, isWhole: true },
} as CalendarCut;

it('a greatest value at the beginning of a day has a bin of its own', () => {
  expect(binLimits(DAYS, [DAY / 2, 2 * DAY])).toEqual([0, DAY, 2 * DAY, 3 * DAY]);
  expect(binLimits({ ...DAYS, end: 2 * DAY }, [DAY / 2, DAY])).toEqual([0, DAY, 2 * DAY]);
});

it('values that are there often draw natural breaks to them', () => {
  const values = [1, 2, 3, 10, 11];
  expect(computeBreaks('NaturalBreaks', values, 2, [1, 1, 1, 1, 1])).toEqual([10]);
  expect(computeBreaks('NaturalBreaks', values, 2, [1000, 1, 1000, 1, 1])).toEqual([3]);
});
