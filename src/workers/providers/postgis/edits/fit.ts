import type { FieldValue } from '../../../../core/features/feature-values.js';
import type { Field } from '../../../../core/sources/vector-source.js';
import { canonicalDigits } from '../../../../core/values/exact-number.js';
import { elementsIn, type JsonText, membersIn } from '../../../../core/values/json-text.js';
import { isPgError, type PgValue, type PostgresConnection } from '../../../../native/postgres.js';
import { EditRefusal } from '../../../edits/session.js';
import { CANCELED, UNAVAILABLE } from '../connections/failure.js';
import { SqlParams } from '../connections/params.js';
import { unlimitedType, writeValueSql } from '../queries/values.js';

/**
 * Checks values of types that the database changes without an error, and of types whose values only the database can
 * read. `core/column-capacity.ts` checks all other types.
 */

/** Characters of a value in an error text. */
const MAX_QUOTED = 60;

/** Types whose values are checked before, with the limits of their columns. */
const PLAIN = /^(text|citext|uuid|character varying|character)(\(\d+\))?$/;
const PLAIN_MEMBERS = /^(text|citext|uuid|character varying)(\[\])+$/;
/** Types that cut text to their length. */
const CUT = /^(name|"char")(?=(\[\])*$)/;
const PADDED = /^character(\(\d+\))?(\[\])*$/;
const MONEY = /^money(\[\])*$/;
const BYTES = /^bytea(\[\])+$/;
const JSON_TYPE = /^jsonb?$/;
const HSTORE = /(^|\.)hstore$/;

const AMOUNT = /^\(?[-+]?\p{Sc}?[-+]?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d{1,2})?\)?$/u;
const HEXADECIMAL = /^\\x(?:[\da-f]{2})*$/i;

/** Throws `EditRefusal` for a value that its column would cut, round or shift, or that is not one of its type. */
export async function requireFit(
  connection: PostgresConnection,
  values: ReadonlyMap<string, FieldValue>,
  fields: ReadonlyMap<string, Field>,
): Promise<void> {
  for (const [name, value] of values) {
    const field = fields.get(name)!;
    if (value === null || !isByDatabase(field)) continue;
    const misfit = textMisfit(value, field) ?? (await storedMisfit(connection, value, field));
    if (misfit === undefined) continue;
    const type = field.sqlType ?? 'text';
    throw EditRefusal.member(
      `/properties/${name.slice(0, 100)}`,
      `${misfit} (type ${type}); received ${String(value).slice(0, MAX_QUOTED)}`,
    );
  }
}

/** Whether the database must check values of a column. */
function isByDatabase({ type, items, sqlType = 'text', enumeration }: Field): boolean {
  if (type === 'string') return !enumeration && !PLAIN.test(sqlType);
  if (type === 'array') return items === 'string' && !PLAIN_MEMBERS.test(sqlType);
  return type === 'json' && !JSON_TYPE.test(sqlType);
}

function textMisfit(value: FieldValue, { type, sqlType = 'text' }: Field): string | undefined {
  const texts = type === 'array' ? textsIn(value as JsonText) : [String(value)];
  if (MONEY.test(sqlType) && !texts.every((text) => AMOUNT.test(text)))
    return 'must be an amount with at most 2 decimal places, for example 1234.50';
  if (BYTES.test(sqlType) && !texts.every((text) => HEXADECIMAL.test(text)))
    return 'must have bytes in hexadecimal digits as members, as \\x00ff';
  if (HSTORE.test(sqlType) && !String(value).startsWith('{')) return 'must be a JSON object';
  return undefined;
}

/** The strings of an array of any depth. */
function textsIn(array: JsonText): string[] {
  return elementsIn(array)!.flatMap((json) => {
    if (json.startsWith('[')) return textsIn(json);
    return json === 'null' ? [] : [json.startsWith('"') ? (JSON.parse(json) as string) : json];
  });
}

async function storedMisfit(
  connection: PostgresConnection,
  value: FieldValue,
  field: Field,
): Promise<string | undefined> {
  const { type, sqlType = 'text' } = field;
  const params = new SqlParams();
  try {
    if (type === 'json') {
      if (HSTORE.test(sqlType)) return undefined;
      const sql = `SELECT to_jsonb(${writeValueSql(value, field, params)})::text`;
      const [row] = await connection.query(sql, params.values);
      const isKept = isStored(value as JsonText, String(row![0]));
      return isKept ? undefined : 'has members or digits that its column cannot store';
    }
    const sent = writeValueSql(value, { ...field, sqlType: sentType(sqlType) }, params);
    // Blanks at the end of `character(n)` are not a difference, but they would be in the text of an array.
    const form = PADDED.test(sqlType) ? '' : '::text';
    const sql = `SELECT (${sent})::${sqlType}${form} IS DISTINCT FROM (${sent})${form}`;
    const [[differs]] = (await connection.query(sql, params.values)) as [[PgValue]];
    return differs === true ? 'would be cut, rounded or filled up by its column' : undefined;
  } catch (error) {
    if (!isPgError(error) || !error.alive || error.code === CANCELED || UNAVAILABLE.test(error.code))
      throw error;
    return 'is not a value of its column';
  }
}

/** The type that keeps all of a value: text for types that cut it when they read it. */
const sentType = (sqlType: string): string => unlimitedType(sqlType).replace(CUT, 'text');

/** Whether all that was sent is in the stored value. Times may be written in another way. */
function isStored(sent: JsonText, stored: JsonText): boolean {
  if (sent === 'null') return stored === 'null';
  if (sent.startsWith('{')) {
    const members = membersIn(stored);
    return (
      members !== undefined &&
      [...membersIn(sent)!].every(([name, json]) => isStored(json, members.get(name) ?? 'absent'))
    );
  }
  if (sent.startsWith('[')) {
    const elements = stored.startsWith('[') ? elementsIn(stored)! : [];
    const all = elementsIn(sent)!;
    return elements.length === all.length && all.every((json, i) => isStored(json, elements[i]!));
  }
  if (stored === 'absent' || stored === 'null') return false;
  if (sent.startsWith('"') && stored.startsWith('"'))
    return !isCut(JSON.parse(sent) as string, JSON.parse(stored) as string);
  if (sent.startsWith('"') || stored.startsWith('"')) return true;
  return sent === stored || isSameNumber(sent, stored);
}

const isCut = (sent: string, stored: string) =>
  sent !== stored && sent.startsWith(stored) && !/^(Z|[+-]00:?00)?$/i.test(sent.slice(stored.length).trim());

/** Numbers may be rounded to binary floating point. */
function isSameNumber(sent: JsonText, stored: JsonText): boolean {
  const digits = canonicalDigits(stored);
  return canonicalDigits(sent) === digits || canonicalDigits(String(Number(sent))) === digits;
}
