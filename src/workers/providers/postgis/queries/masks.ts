import { HASH_DIGITS, truncatedLength } from '../../../../core/access/field-masks.js';
import type { Field, Mask } from '../../../../core/sources/vector-source.js';
import type { SqlParams } from '../connections/params.js';
import { column } from '../schema/names.js';

/** The database computes masked values and never sends the stored ones. */

/** SQL for the masked value of a field, equal to the result of `maskedValue`. */
export function maskedSql(field: Field, mask: Mask, params: SqlParams): string {
  if (mask.treatment === 'null') return 'NULL::text';
  const text = formatText(field);
  if (mask.treatment === 'truncate') return `left(${text}, ${truncatedLength(mask.length, field.type)})`;
  const message = `convert_to(${text}, 'UTF8')`;
  return `left(encode(${hmac(message, mask.key, params)}, 'hex'), ${HASH_DIGITS})`;
}

/** HMAC-SHA-256 (RFC 2104) of functions that every server has; pgcrypto is an extension. */
function hmac(message: string, key: string, params: SqlParams): string {
  const [inner, outer] = [0x36, 0x5c].map((pad) => params.add(padded(key, pad), 'bytea'));
  return `sha256(${outer} || sha256(${inner} || ${message}))`;
}

const BLOCK_BYTES = 64;

function padded(key: string, pad: number): Uint8Array {
  const block = new Uint8Array(BLOCK_BYTES).fill(pad);
  Buffer.from(key, 'hex').forEach((byte, i) => {
    block[i] = byte ^ pad;
  });
  return block;
}

/** Values of columns of numbers that are not numbers. */
const NO_NUMBERS = "'NaN', 'Infinity', '-Infinity'";

function formatText({ name, type, sqlType = 'text' }: Field): string {
  const value = column(name);
  if (type === 'number')
    return `CASE WHEN ${value}::text IN (${NO_NUMBERS}) THEN ${value}::text ELSE trim_scale(${value}::text::numeric)::text END`;
  if (type === 'date') return finite(value, `to_char(${value}, 'YYYY-MM-DD')`);
  if (type !== 'date-time') return `${value}::text`;
  const utc = sqlType.includes('with time zone') ? `(${value} AT TIME ZONE 'UTC')` : value;
  return finite(value, `to_char(${utc}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`);
}

/** Infinite instants are null in responses. */
const finite = (value: string, text: string) => `CASE WHEN isfinite(${value}) THEN ${text} END`;
