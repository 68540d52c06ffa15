import type { FieldValue } from '../../../../core/features/feature-values.js';
import type { Field, PostgisSource } from '../../../../core/sources/vector-source.js';
import { elementsIn, type JsonText } from '../../../../core/values/json-text.js';
import type { SqlParams } from '../connections/params.js';

/**
 * The SQL of a value for its column, as a parameter. Its type has no length, precision or scale: PostgreSQL refuses text and
 * bits that are too long when they are assigned to a column, but cuts them in a cast.
 */
export function writeValueSql(value: FieldValue, field: Field, params: SqlParams): string {
  const type = unlimitedType(field.sqlType ?? 'text');
  if (value === null) return params.add(null, type);
  if (field.type === 'array') return params.add(arrayLiteral(value as JsonText, field.items), type);
  if (field.type === 'json') return json(value as string, type, params);
  if ((field.type === 'date' || field.type === 'date-time') && typeof value === 'string')
    return params.add(inPostgresCalendar(value), type);
  return params.add(value, type);
}

const LENGTH = /\([\d,\s-]+\)(?=[^"]*$)/;
/** Types whose bare name implies a length of 1, and intervals with restricted fields. */
const UNLIMITED: readonly [RegExp, string][] = [
  [/^character(?=(\[\])*$)/, 'bpchar'],
  [/^bit(?=(\[\])*$)/, 'bit varying'],
  [/^interval [a-z ]+/, 'interval'],
];

/** A type as `format_type` writes it, without its length, precision or scale. */
export function unlimitedType(sqlType: string): string {
  const name = sqlType.replace(LENGTH, '');
  const found = UNLIMITED.find(([pattern]) => pattern.test(name));
  return found ? name.replace(found[0], found[1]) : name;
}

/**
 * Date or timestamp in a form that PostgreSQL reads. Years outside 1 to 9999 are written as digits without a sign, or
 * counted BC.
 */
export function inPostgresCalendar(text: string): string {
  const [, year, rest] = /^(0000|[+-]\d{6})(-.*)$/.exec(text) ?? [];
  if (year === undefined) return text;
  const number = Number(year);
  return number > 0 ? `${number}${rest}` : `${String(1 - number).padStart(4, '0')}${rest} BC`;
}

/** JSON for a column of JSON, hstore or a composite type. */
function json(text: string, type: string, params: SqlParams): string {
  if (/^jsonb?$/.test(type)) return params.add(text, type);
  const param = params.add(text, 'jsonb');
  if (!/(^|\.)hstore$/.test(type)) return `jsonb_populate_record(NULL::${type}, ${param})`;
  return `(SELECT coalesce(hstore(array_agg(key), array_agg(value)), ''::hstore) FROM jsonb_each_text(${param}))`;
}

/** A JSON array as PostgreSQL writes arrays; members of arrays of JSON are JSON text, numbers have all their digits. */
function arrayLiteral(array: JsonText, items: Field['items']): string {
  const members = elementsIn(array)!.map((json) => {
    if (json === 'null') return 'NULL';
    if (json.startsWith('[') && items !== 'json') return arrayLiteral(json, items);
    const text = json.startsWith('"') && items !== 'json' ? (JSON.parse(json) as string) : json;
    const isTime = items === 'date' || items === 'date-time';
    return `"${(isTime ? inPostgresCalendar(text) : text).replace(/["\\]/g, '\\$&')}"`;
  });
  return `{${members.join(',')}}`;
}

/** The SQL of a geometry (WKB in the CRS of the source) for the geometry column. */
export function writtenGeometry(
  wkb: Uint8Array | null,
  { srid, geography, curved }: PostgisSource,
  params: SqlParams,
): string {
  if (wkb === null) return 'NULL';
  const geometry = `ST_GeomFromWKB(${params.add(wkb, 'bytea')}, ${Math.trunc(srid)})`;
  if (geography) return `${geometry}::geography`;
  // Columns that are declared with curve types do not accept polygons and line strings.
  return curved ? `ST_ForceCurve(${geometry})` : geometry;
}
