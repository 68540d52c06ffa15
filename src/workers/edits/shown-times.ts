import type { FieldType } from '../../core/sources/vector-source.js';
import type { JsonText } from '../../core/values/json-text.js';

/** Milliseconds of the farthest instants that a date can name. */
const MAX_TIME = 8.64e15;

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const INSTANT = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d)(?::?(\d\d))?)?$/;

/**
 * Whether a date or an instant from a GeoServices client is the stored one in the form of the server: milliseconds
 * since 1970. Numbers in such a GeoPackage column are shown unchanged, and are read as milliseconds when they are
 * returned. Days and seconds that do not exist, such as 30 February, are shown as later ones.
 */
export function isShownTime(now: JsonText, was: JsonText, type: FieldType | undefined): boolean {
  if (type !== 'date-time' && type !== 'date') return false;
  const shown = shownMilliseconds(JSON.parse(was));
  if (shown === undefined || Math.abs(shown) > MAX_TIME) return false;
  const sent: unknown = JSON.parse(now);
  if (typeof sent !== 'string') return false;
  const text = new Date(shown).toISOString();
  return type === 'date' ? sent === text.split('T')[0] : Date.parse(sent) === Date.parse(text);
}

function shownMilliseconds(stored: unknown): number | undefined {
  if (typeof stored === 'number') return stored;
  if (typeof stored !== 'string') return undefined;
  const milliseconds = parseDay(stored) ?? parseInstant(stored) ?? Date.parse(stored);
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}

function parseDay(text: string): number | undefined {
  const [, year, month, day] = DATE.exec(text) ?? [];
  if (year === undefined) return undefined;
  // `Date.UTC` interprets years below 100 as years of the twentieth century.
  return new Date(0).setUTCFullYear(Number(year), Number(month) - 1, Number(day));
}

function parseInstant(text: string): number | undefined {
  const [, day, hours, minutes, seconds, fraction = '', sign, ...zone] = INSTANT.exec(text) ?? [];
  if (day === undefined) return undefined;
  const [zoneHours = 0, zoneMinutes = 0] = zone.map((part) => Number(part ?? 0));
  const ahead = (zoneHours * 60 + zoneMinutes) * (sign === '-' ? -1 : 1);
  const time = (Number(hours) * 60 + Number(minutes) - ahead) * 60 + Number(seconds);
  return parseDay(day)! + time * 1000 + Number(fraction.slice(0, 3).padEnd(3, '0'));
}
