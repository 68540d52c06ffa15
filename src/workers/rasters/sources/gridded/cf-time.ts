/** Time axes of the CF conventions (section 4.4): numbers since an instant, in one of several calendars. */

import { TaskFailure } from '../../../../core/errors/failure.js';

const UNIT_MS: readonly [RegExp, number][] = [
  [/^(milliseconds?|millisec|msecs?|ms)$/, 1],
  [/^(seconds?|secs?|s)$/, 1000],
  [/^(minutes?|mins?)$/, 60_000],
  [/^(hours?|hrs?|hr|h)$/, 3_600_000],
  [/^(days?|d)$/, 86_400_000],
];
const DAY_MS = 86_400_000;
const SINCE =
  /^(\w+)\s+since\s+(-?\d{1,4})-(\d{1,2})-(\d{1,2})(?:[T\s]+(\d{1,2}):(\d{1,2})(?::(\d{1,2}(?:\.\d*)?))?)?\s*(Z|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?)?$/i;

/** Year, month and day. */
type DateParts = [number, number, number];

/** Counts days. */
interface Calendar {
  dayOf(date: DateParts): number;
  dateOf(day: number): DateParts;
}

export function isTimeUnit(units: string): boolean {
  return /^\w+\s+since\s/i.test(units);
}

/**
 * The instants of an axis in RFC 3339, in its order. Fails with `source-unreadable` where a calendar has dates that
 * no instant names, such as 30 February.
 */
export function parseTimeAxis(values: ArrayLike<number>, units: string, calendar: string): string[] {
  const parts = SINCE.exec(units.trim());
  const unit = UNIT_MS.find(([names]) => names.test(parts?.[1]?.toLowerCase() ?? ''))?.[1];
  if (!parts || unit === undefined) throw unreadableAxis(`the unit "${units}" is not understood`);
  const days = buildCalendar(calendar);
  const [, , year, month, day, hour = '0', minute = '0', second = '0', zone = 'Z'] = parts;
  const start = days.dayOf([Number(year), Number(month), Number(day)]);
  const startMs = ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1000 - zoneMs(zone);
  return Array.from(values, (value) => {
    const ms = Math.round(value * unit + startMs);
    if (!Number.isSafeInteger(ms)) throw unreadableAxis('it holds a value that is no time');
    const whole = Math.floor(ms / DAY_MS);
    return instant(days.dateOf(start + whole), ms - whole * DAY_MS, calendar);
  });
}

function instant([year, month, day]: DateParts, ms: number, calendar: string): string {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const exists = date.getUTCMonth() === month - 1 && date.getUTCDate() === day && year >= 1 && year <= 9999;
  if (!exists)
    throw unreadableAxis(`its calendar (${calendar}) has ${year}-${month}-${day}, which no instant names`);
  date.setTime(date.getTime() + ms);
  return date.toISOString().replace('.000Z', 'Z');
}

function zoneMs(zone: string): number {
  const [, sign, hours, minutes = '0'] = /^([+-])(\d{1,2}):?(\d{2})?$/.exec(zone) ?? [];
  if (sign === undefined) return 0;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}

function buildCalendar(name: string): Calendar {
  switch (name.trim().toLowerCase()) {
    case '':
    case 'standard':
    case 'gregorian':
      return STANDARD;
    case 'proleptic_gregorian':
      return GREGORIAN;
    case 'julian':
      return JULIAN;
    case 'noleap':
    case '365_day':
      return buildYears([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]);
    case 'all_leap':
    case '366_day':
      return buildYears([31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]);
    case '360_day':
      return buildYears(new Array<number>(12).fill(30));
    default:
      throw unreadableAxis(`the calendar "${name}" is not understood`);
  }
}

/** A calendar whose years are all alike. */
function buildYears(months: readonly number[]): Calendar {
  const year = months.reduce((sum, days) => sum + days, 0);
  return {
    dayOf: ([y, m, d]) => y * year + months.slice(0, m - 1).reduce((sum, days) => sum + days, 0) + d - 1,
    dateOf: (day) => {
      const y = Math.floor(day / year);
      let left = day - y * year;
      let m = 0;
      while (left >= months[m]!) left -= months[m++]!;
      return [y, m + 1, left + 1];
    },
  };
}

/**
 * Calendar with leap years. Days are Julian day numbers. Years start in March, so that the leap day is the last day.
 * `shift` is the offset of a year's first day from a calendar with a leap day every fourth year.
 */
function leapCalendar(shift: (year: number) => number): Calendar {
  const firstOfMarch = (year: number) => 365 * year + Math.floor(year / 4) + shift(year);
  return {
    dayOf: ([y, m, d]) => {
      const year = m > 2 ? y : y - 1;
      return firstOfMarch(year) + Math.floor((153 * ((m + 9) % 12) + 2) / 5) + d - 1;
    },
    dateOf: (day) => {
      let year = Math.floor((day - 1721118) / 365.25);
      while (firstOfMarch(year) > day) year -= 1;
      while (firstOfMarch(year + 1) <= day) year += 1;
      const left = day - firstOfMarch(year);
      const month = Math.floor((5 * left + 2) / 153);
      const d = left - Math.floor((153 * month + 2) / 5) + 1;
      return month < 10 ? [year, month + 3, d] : [year + 1, month - 9, d];
    },
  };
}

const GREGORIAN = leapCalendar((year) => 1721120 - Math.floor(year / 100) + Math.floor(year / 400));
const JULIAN = leapCalendar(() => 1721118);

/** Julian day number of 15 October 1582, the first Gregorian day. */
const FIRST_GREGORIAN = 2299161;

/** The mixed calendar, CF's default. */
const STANDARD: Calendar = {
  dayOf: (date) => {
    const day = GREGORIAN.dayOf(date);
    return day >= FIRST_GREGORIAN ? day : JULIAN.dayOf(date);
  },
  dateOf: (day) => (day >= FIRST_GREGORIAN ? GREGORIAN : JULIAN).dateOf(day),
};

function unreadableAxis(reason: string): TaskFailure {
  return new TaskFailure('source-unreadable', `The time axis cannot be used: ${reason}.`);
}
