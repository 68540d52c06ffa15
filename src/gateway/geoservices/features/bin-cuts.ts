import { badParameter } from '../../../core/errors/errors.js';
import {
  type BinCut,
  CALENDAR_UNITS,
  type CalendarCut,
  type CalendarUnit,
} from '../../../core/features/feature-bins.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { Field } from '../../../core/sources/vector-source.js';
import { type AnyNumber, readNumber, toDouble } from '../../../core/values/exact-number.js';
import { compareNumbers } from '../../../core/values/sortable-digits.js';
import { isTimeZone } from '../../../core/values/time-zones.js';
import { scalarText } from '../../../services/geoservices/scalar.js';
import { type Members, naming, readChoiceMember, readFlagMember, readObjectMember } from '../members.js';

/** Bin boundaries from the JSON of a client. Each reader throws 400 with the name `bin`. */

export const TIMES: ReadonlySet<Field['type']> = new Set(['date', 'date-time']);
const DAY = 86_400_000;
const LENGTHS: Partial<Record<CalendarUnit, number>> = {
  second: 1000,
  minute: 60_000,
  hour: 3_600_000,
  day: DAY,
  week: 7 * DAY,
};
/** Milliseconds of the end of the year 9999. */
const MAX_TIME = 253_402_300_800_000;
const SUNDAY = 7;

const bad = (text: string) => badParameter('bin', text);

/** `parameters` of a bin of `queryBins`. */
export function readBinCut(bin: Members, isTime: boolean, zone: string): BinCut {
  const parameters = readObjectMember(bin, 'parameters') ?? {};
  const ends = readEnds(parameters, isTime);
  switch (binType(bin)) {
    case 'autoIntervalBin':
      return { kind: 'count', count: readBinCount(parameters, 'numberOfBins'), ...ends };
    case 'fixedIntervalBin':
      return { kind: 'interval', interval: readPositive(parameters, 'interval'), ...ends };
    case 'fixedBoundariesBin':
      return { kind: 'limits', limits: readBoundaries(parameters, isTime) };
    case 'dateBin':
      if (!isTime) throw bad('of the type dateBin takes a field of dates');
      return { ...readCalendarCut(parameters, zone), ...ends, ...calendarMembers(bin, parameters) };
  }
}

const TYPES = ['autoIntervalBin', 'fixedIntervalBin', 'fixedBoundariesBin', 'dateBin'] as const;

function binType(bin: Members): (typeof TYPES)[number] {
  const type = TYPES.find((one) => one === bin['type']);
  if (type === undefined) throw bad(`type must be ${TYPES.join(' or ')}`);
  return type;
}

function calendarMembers(bin: Members, parameters: Members): Pick<CalendarCut, 'firstDayOfWeek' | 'isWhole'> {
  if (parameters['snapToData'] || parameters['snap']) throw bad('snapToData is not supported');
  const firstDayOfWeek = Number(bin['firstDayOfWeek'] ?? SUNDAY);
  if (!Number.isInteger(firstDayOfWeek) || firstDayOfWeek < 1 || firstDayOfWeek > SUNDAY)
    throw bad('firstDayOfWeek must be 1 (Monday) to 7 (Sunday)');
  return {
    firstDayOfWeek,
    isWhole: naming('bin', () => readFlagMember(parameters, 'returnFullIntervalBin', false)),
  };
}

/** So many units of the calendar of a zone. */
export function readCalendarCut(members: Members, zone: string): CalendarCut {
  const unit = formatUnit(members['unit']);
  const number = members['number'] === undefined ? 1 : readBinCount(members, 'number');
  return {
    kind: 'calendar',
    unit,
    number,
    zone,
    offset: readBinShift(members),
    firstDayOfWeek: SUNDAY,
    isWhole: true,
  };
}

/** Clients also write units in the plural. */
function formatUnit(value: unknown): CalendarUnit {
  const word = typeof value === 'string' ? value.toLowerCase().replace(/s$/, '') : '';
  const unit = CALENDAR_UNITS.find((one) => one === word);
  if (unit === undefined) throw bad(`unit must be ${CALENDAR_UNITS.join(' or ')}`);
  return unit;
}

/** Milliseconds of `offset`, which may be below 0. */
export function readBinShift(members: Members): number {
  const offset = naming('bin', () => readObjectMember(members, 'offset'));
  if (offset === undefined) return 0;
  const number = Number(offset['number']);
  if (!Number.isSafeInteger(number) || Math.abs(number) > LIMITS.bins)
    throw bad('number of offset must be a whole number');
  return number * parseUnitLength(offset['unit'], 'offset');
}

/** Milliseconds of a unit that is always as long. */
export function parseUnitLength(value: unknown, what: string): number {
  const length = LENGTHS[formatUnit(value)];
  if (length === undefined) throw bad(`unit of ${what} must be ${Object.keys(LENGTHS).join(' or ')}`);
  return length;
}

export function requireTimeZone(parameter: string, value: unknown): string {
  if (typeof value !== 'string' || value.length > 100 || !isTimeZone(value))
    throw badParameter(parameter, 'must be an IANA time zone, for example Europe/Zurich');
  return value;
}

function readEnds(parameters: Members, isTime: boolean): { start?: AnyNumber; end?: AnyNumber } {
  const [start, end] = ['start', 'end'].map((name) => {
    const value = parameters[name];
    return value === undefined || value === null || value === '' ? undefined : buildEnd(name, value, isTime);
  });
  if (start !== undefined && end !== undefined && compareNumbers(start, end) >= 0)
    throw bad('start must be before end');
  return { ...(start === undefined ? {} : { start }), ...(end === undefined ? {} : { end }) };
}

/** A number, or a time: milliseconds since 1970, or a text of ISO 8601, which without a zone is in UTC. */
function buildEnd(name: string, value: unknown, isTime: boolean): AnyNumber {
  const isText = isTime && typeof value === 'string' && /^\d{4}-\d\d-\d\d/.test(value);
  const number = isText ? parseTime(value) : readNumber(naming('bin', () => scalarText('bin', value)).trim());
  if (
    number === undefined ||
    !Number.isFinite(toDouble(number)) ||
    (isTime && Math.abs(toDouble(number)) > MAX_TIME)
  )
    throw bad(`${name} must be a ${isTime ? 'time' : 'number'}`);
  return number;
}

const parseTime = (text: string) =>
  Date.parse(/T.*(Z|[+-]\d\d:?\d\d)$|^[^T]*$/i.test(text) ? text : `${text}Z`);

function readBoundaries(parameters: Members, isTime: boolean): AnyNumber[] {
  const list = parameters['boundaries'];
  if (!Array.isArray(list) || list.length < 2) throw bad('boundaries must be two or more numbers');
  if (list.length > LIMITS.bins) throw bad(`boundaries must not be more than ${LIMITS.bins}`);
  const limits = list.map((value) => buildEnd('each of boundaries', value, isTime));
  if (limits.some((limit, i) => i > 0 && compareNumbers(limit, limits[i - 1]!) <= 0))
    throw bad('boundaries must be ascending');
  return limits;
}

export function readBinCount(members: Members, name: string): number {
  const number = readPositive(members, name);
  if (!Number.isInteger(number) || number > LIMITS.bins)
    throw bad(`must have an integer from 1 to ${LIMITS.bins} as ${name}`);
  return number;
}

function readPositive(members: Members, name: string): number {
  const value = members[name];
  const number =
    typeof value === 'number' || (typeof value === 'string' && value !== '') ? Number(value) : Number.NaN;
  if (!(number > 0 && number < Number.POSITIVE_INFINITY)) throw bad(`${name} must be a number above 0`);
  return number;
}

export const isDescending = (members: Members) =>
  readChoiceMember(members, 'binOrder', { values: ['ASC', 'DESC'], fallback: 'ASC' }) === 'DESC';
