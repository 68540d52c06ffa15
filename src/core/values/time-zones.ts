/** Local times of IANA time zones. A local time is represented as the UTC instant with the same clock reading. */

export const UTC = 'UTC';
/** Milliseconds of the farthest instants that a date can name. */
const MAX_TIME = 8.64e15;
export const isValidInstant = (number: number) => Math.abs(number) <= MAX_TIME;

const MINUTE = 60_000;
const FORMATS = 50;
const formats = new Map<string, Intl.DateTimeFormat>();

/** Throws `RangeError` for an unknown time zone. */
function buildFormat(zone: string): Intl.DateTimeFormat {
  const format =
    formats.get(zone) ?? new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
  // Clients name zones: the first of many is forgotten.
  if (formats.size >= FORMATS && !formats.has(zone)) formats.delete(formats.keys().next().value!);
  formats.set(zone, format);
  return format;
}

export function isTimeZone(zone: string): boolean {
  try {
    buildFormat(zone);
    return true;
  } catch {
    return false;
  }
}

/** Milliseconds that local time is ahead of UTC. */
export function computeZoneOffset(zone: string, instant: number): number {
  if (zone === UTC || !isValidInstant(instant)) return 0;
  const parts = buildFormat(zone).formatToParts(instant);
  const name = parts.find(({ type }) => type === 'timeZoneName')!.value;
  const [, sign, hours, minutes, seconds = '0'] = /([+-])(\d\d):(\d\d)(?::(\d\d))?/.exec(name) ?? [];
  if (sign === undefined) return 0;
  const ahead = Number(hours) * 60 * MINUTE + Number(minutes) * MINUTE + Number(seconds) * 1000;
  return sign === '-' ? -ahead : ahead;
}

/** The instant of a local time; of one that a change of clocks steps over, the instant of the change or after it. */
export function computeInstant(zone: string, local: number): number {
  const before = local - computeZoneOffset(zone, local);
  const offset = computeZoneOffset(zone, before);
  const instant = local - offset;
  return computeZoneOffset(zone, instant) === offset ? instant : Math.max(before, instant);
}

/** `2026-03-01T00:00:00.000-08:00`, of an instant that is not among the farthest. */
export function zonedText(zone: string, instant: number): string {
  const offset = computeZoneOffset(zone, instant);
  const local = new Date(instant + offset).toISOString().slice(0, -1);
  const minutes = Math.abs(Math.round(offset / MINUTE));
  const two = (number: number) => String(number).padStart(2, '0');
  return `${local}${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}
