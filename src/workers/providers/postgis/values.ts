import type { FieldValue } from '../../../core/feature-values.js';
import type { Field, PostgisSource } from '../../../core/vector-source.js';
import type { SqlParams } from './params.js';

/** The SQL of a value for its column, as a parameter. */
export function valueSql(value: FieldValue, field: Field, params: SqlParams): string {
  const type = field.sqlType ?? 'text';
  if (value === null) return params.add(null, type);
  if (field.type === 'array') return params.add(arrayLiteral(JSON.parse(value as string)), type);
  if (field.type === 'json') return json(value as string, type, params);
  return params.add(value, type);
}

/** JSON for a column of JSON, hstore or a composite type. */
function json(text: string, type: string, params: SqlParams): string {
  if (/^jsonb?$/.test(type)) return params.add(text, type);
  const param = params.add(text, 'jsonb');
  if (!/(^|\.)hstore$/.test(type)) return `jsonb_populate_record(NULL::${type}, ${param})`;
  return `(SELECT coalesce(hstore(array_agg(key), array_agg(value)), ''::hstore) FROM jsonb_each_text(${param}))`;
}

/** A JSON array as PostgreSQL writes arrays; members of arrays of JSON are JSON text. */
function arrayLiteral(members: readonly unknown[]): string {
  const texts = members.map((member) => {
    if (member === null) return 'NULL';
    if (Array.isArray(member)) return arrayLiteral(member);
    const text = typeof member === 'object' ? JSON.stringify(member) : String(member);
    return `"${text.replace(/["\\]/g, '\\$&')}"`;
  });
  return `{${texts.join(',')}}`;
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
  // Columns that are declared to hold curves take no polygons and line strings.
  return curved ? `ST_ForceCurve(${geometry})` : geometry;
}
