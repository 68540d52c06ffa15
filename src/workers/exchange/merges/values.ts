import type { FileForm } from '../../../core/edits/merges.js';
import type { Field } from '../../../core/sources/vector-source.js';
import { compactJson, type JsonText, readJsonText } from '../../../core/values/json-text.js';
import { carryTime } from '../ogr/staged-times.js';

const NUMBER = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;
const INTEGER = /^[+-]?\d+$/;
/** Dates and times, also as GDAL reads them: with slashes, without seconds, with a shorter offset. */
const MOMENT =
  /^(\d{4}|[+-]\d{6})[-/](\d\d)[-/](\d\d)(?:[Tt ](\d\d:\d\d)(?::(\d\d)(\.\d+)?)? ?([Zz]|[+-]\d\d(?::?\d\d)?)?)?$/;
const MIDNIGHT = /T00:00:00(?:\.0+)?(?:Z|\+00:00)?$/;
/** Types of columns in which an empty text is a value. */
const PLAIN_TEXT = /^(?:text|character|bpchar|name|citext)/;

/**
 * Converts the JSON text of a file's value to the form that edits accept for a field. Formats have other types, and
 * some only have strings. The conversion loses no data. A value that does not fit the field remains unchanged and is
 * refused later.
 */
export function asFieldValue(json: JsonText, field: Field, form: FileForm): JsonText {
  if (!json.startsWith('"')) return fromOther(json, field);
  const { type, sqlType = 'text' } = field;
  if (isBlank(json) && form === 'text' && (type === 'binary' || !PLAIN_TEXT.test(sqlType))) return 'null';
  if (type === 'string' || type === 'binary' || (type === 'json' && form === 'json')) return json;
  const text = (JSON.parse(json) as string).trim();
  return text === '' ? 'null' : fromText(text, json, field);
}

/** Whether a value is an empty string, which text formats also write for null. */
export const isBlank = (json: JsonText): boolean => json === '""';

function fromOther(json: JsonText, { type }: Field): JsonText {
  if (type === 'string' && json !== 'null') return JSON.stringify(compactJson(json));
  if (type === 'boolean' && (json === '0' || json === '1')) return String(json === '1');
  if (type === 'integer' && /^[tf]/.test(json)) return json === 'true' ? '1' : '0';
  return json;
}

function fromText(text: string, json: JsonText, { type }: Field): JsonText {
  switch (type) {
    case 'integer':
      return INTEGER.test(text) ? jsonNumber(text)! : json;
    case 'number':
      return jsonNumber(text) ?? json;
    case 'boolean':
      return /^(true|false)$/i.test(text) ? text.toLowerCase() : json;
    case 'date':
      return JSON.stringify(parseMoment(text)?.replace(MIDNIGHT, '') ?? text);
    case 'date-time':
      return JSON.stringify(parseMoment(text) ?? text);
    case 'json':
      return readJsonText(text) ?? json;
    case 'array':
      return text.startsWith('[') ? (readJsonText(text) ?? json) : json;
    default:
      return JSON.stringify(text);
  }
}

/** A time of RFC 3339 with all its digits; undefined for other texts. */
function parseMoment(text: string): string | undefined {
  const [, year, month, day, clock = '00:00', seconds = '00', fraction = '', zone = 'Z'] =
    MOMENT.exec(text) ?? [];
  if (year === undefined) return undefined;
  const digits = zone.slice(1).replace(':', '').padEnd(4, '0');
  const offset = /^z$/i.test(zone) ? 'Z' : `${zone[0]}${digits.slice(0, 2)}:${digits.slice(2)}`;
  return carryTime(`${year}-${month}-${day}T${clock}:${seconds}${fraction}${offset}`);
}

/** A decimal number as JSON writes it, with all its digits; undefined for other texts. */
function jsonNumber(text: string): JsonText | undefined {
  const [, sign, whole = '', fraction = '', exponent] = NUMBER.exec(text) ?? [];
  if (`${whole}${fraction}` === '') return undefined;
  const integer = whole.replace(/^0+(?=\d)/, '') || '0';
  return [
    sign === '-' ? '-' : '',
    integer,
    fraction === '' ? '' : `.${fraction}`,
    exponent === undefined ? '' : `e${exponent}`,
  ].join('');
}
