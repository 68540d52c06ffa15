import { compactJson, type JsonText } from '../../core/json-text.js';
import type { Field } from '../../core/vector-source.js';

const NUMBER = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;
const INTEGER = /^[+-]?\d+$/;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/**
 * The JSON text of a value of a file as edits take it for a field: formats have types of their own, and some only texts.
 * Nothing is lost; what is no value of the field stays as it is, to be refused.
 */
export function asFieldValue(json: JsonText, field: Field): JsonText {
  if (!json.startsWith('"')) return fromOther(json, field);
  if (field.type === 'string' || field.type === 'binary') return json;
  const text = (JSON.parse(json) as string).trim();
  return text === '' ? 'null' : fromText(text, json, field);
}

function fromOther(json: JsonText, { type }: Field): JsonText {
  const isScalar = /^[-\dtf]/.test(json);
  if (type === 'string' && isScalar) return `"${json}"`;
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
    case 'date-time':
      return JSON.stringify(DAY.test(text) ? `${text}T00:00:00Z` : text);
    case 'json':
    case 'array':
      return fromJson(text, json);
    default:
      return JSON.stringify(text);
  }
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

/** A text is what it is, unless it is an object or array as JSON. */
function fromJson(text: string, json: JsonText): JsonText {
  if (!/^[[{]/.test(text)) return json;
  try {
    JSON.parse(text);
    return compactJson(text);
  } catch {
    return json;
  }
}
