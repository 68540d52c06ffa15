import type { CalendarCut, CalendarUnit } from '../../../core/features/feature-bins.js';
import { computeInstant, computeZoneOffset } from '../../../core/values/time-zones.js';

/**
 * Limits of bins that follow a calendar. Days and longer units are in local time; shorter units have a fixed length.
 */

const MILLISECONDS: Partial<Record<CalendarUnit, number>> = { second: 1000, minute: 60_000, hour: 3_600_000 };
const DAY = 86_400_000;

/** Returns the instant at which a bin starts, counted from the bin that contains `from`. */
export function calendarLimit(cut: CalendarCut, from: number): (bin: number) => number {
  const { unit, number, zone, offset } = cut;
  const local = from + computeZoneOffset(zone, from) - offset;
  const length = MILLISECONDS[unit];
  if (length !== undefined) {
    const first = from - (local - Math.floor(local / length) * length);
    return (bin) => first + bin * number * length;
  }
  const first = beginning(cut, local);
  return (bin) => computeInstant(zone, added(unit, first, bin * number) + offset);
}

/** Returns the start of the unit that contains a local time. */
function beginning({ unit, firstDayOfWeek }: CalendarCut, local: number): number {
  const day = Math.floor(local / DAY) * DAY;
  const date = new Date(day);
  switch (unit) {
    case 'week':
      return day - ((date.getUTCDay() - firstDayOfWeek + 7) % 7) * DAY;
    case 'month':
      return date.setUTCDate(1);
    case 'quarter':
      return date.setUTCMonth(Math.floor(date.getUTCMonth() / 3) * 3, 1);
    case 'year':
      return date.setUTCMonth(0, 1);
    default:
      return day;
  }
}

const MONTHS: Partial<Record<CalendarUnit, number>> = { month: 1, quarter: 3, year: 12 };

function added(unit: CalendarUnit, local: number, number: number): number {
  const months = MONTHS[unit];
  if (months === undefined) return local + number * (unit === 'week' ? 7 : 1) * DAY;
  const date = new Date(local);
  return date.setUTCMonth(date.getUTCMonth() + number * months);
}
