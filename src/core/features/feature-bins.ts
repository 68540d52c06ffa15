import type { AnyNumber } from '../values/exact-number.js';
import type { GroupStatistic } from './feature-groups.js';
import type { FeatureQuery, FeatureRow } from './features.js';

/** Statistics of features in bins, which follow one another along a field: the task of the workers and its result. */

export const CALENDAR_UNITS = [
  'second',
  'minute',
  'hour',
  'day',
  'week',
  'month',
  'quarter',
  'year',
] as const;
export type CalendarUnit = (typeof CALENDAR_UNITS)[number];

/** The ends of all bins: those of the values where they are absent. Of times milliseconds since 1970, as all limits. */
interface Ends {
  readonly start?: AnyNumber;
  readonly end?: AnyNumber;
}

/** As many bins of one width. */
export interface CountCut extends Ends {
  readonly kind: 'count';
  readonly count: number;
}

/** Bins of one width from the start on. */
export interface IntervalCut extends Ends {
  readonly kind: 'interval';
  readonly interval: number;
  /** Bins begin at a whole number of intervals from here; at the start when absent. */
  readonly origin?: number;
}

export interface LimitsCut {
  readonly kind: 'limits';
  /** Ascending, two at least. */
  readonly limits: readonly AnyNumber[];
}

/** Bins of so many units of a calendar, from the beginning of the unit in which the start lies. */
export interface CalendarCut extends Ends {
  readonly kind: 'calendar';
  readonly unit: CalendarUnit;
  readonly number: number;
  /** An IANA time zone. */
  readonly zone: string;
  /** Milliseconds of local time that bins begin after their unit. */
  readonly offset: number;
  /** 1 is Monday, 7 is Sunday. */
  readonly firstDayOfWeek: number;
  /** Whether the first and the last bin are whole where the ends cut them. */
  readonly isWhole: boolean;
}

export type BinCut = CountCut | IntervalCut | LimitsCut | CalendarCut;

export interface BinsTask extends FeatureQuery {
  /** A field of numbers or times, or the id column. */
  readonly field: string;
  readonly cut: BinCut;
  /** A field each of whose values has bins of its own. */
  readonly splitBy?: string;
  readonly statistics: readonly GroupStatistic[];
}

export interface FeatureBin {
  /** The value that its features share; null also where nothing splits them. */
  readonly split: FeatureRow['values'][number];
  readonly lower: AnyNumber;
  readonly upper: AnyNumber;
  /** Of the statistics; those of no feature where the bin has none. */
  readonly values: FeatureRow['values'];
}

/** Bins of each value in their order, empty ones too. */
export interface BinsResult {
  readonly bins: readonly FeatureBin[];
}
