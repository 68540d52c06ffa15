/** Instants in the notation of CQL2 and in checked trees. */

/** Years outside 0 to 9999 take a sign and six digits (ISO 8601, expanded representation), as features show them. */
const DATE = /^(\d{4}|[+-](?!000000)\d{6})-(\d{2})-(\d{2})$/;
const TIMESTAMP =
  /^((?:\d{4}|[+-]\d{6})-\d{2}-\d{2})T([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d+))?(?:Z|([+-])(\d{2}):([0-5]\d))$/i;

/** Returns a valid calendar date unchanged, otherwise undefined. */
export function readDate(text: string): string | undefined {
  const [, year, month, day] = DATE.exec(text)?.map(Number) ?? [];
  if (year === undefined || !month || !day) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? text : undefined;
}

/** An RFC 3339 timestamp in UTC with at most six decimals (`2020-02-29T12:00:00.5Z`), else undefined. */
export function readTimestamp(text: string): string | undefined {
  const match = TIMESTAMP.exec(text);
  if (!match || !readDate(match[1]!)) return undefined;
  const [, date, hour, minute, second, fraction = '', sign, zoneHours = 0, zoneMinutes = 0] = match;
  const offset = (sign === '-' ? -1 : 1) * (Number(zoneHours) * 60 + Number(zoneMinutes));
  const instant = new Date(`${date}T${hour}:${minute}:${second}Z`).getTime() - offset * 60_000;
  if (Number.isNaN(instant)) return undefined;
  const seconds = new Date(instant).toISOString().slice(0, -'.000Z'.length);
  const decimals = fraction.slice(0, 6).replace(/0+$/, '');
  return `${seconds}${decimals && `.${decimals}`}Z`;
}
