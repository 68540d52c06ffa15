import type { Field } from '../../core/vector-source.js';

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const INTEGER = /^[+-]?\d+$/;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/**
 * A value of a file as edits take it for a field: formats have types of their own, and some only texts. Nothing is lost;
 * what is no value of the field stays as it is, to be refused.
 */
export function asFieldValue(value: unknown, field: Field): unknown {
  if (typeof value !== 'string') return fromOther(value, field);
  if (field.type === 'string' || field.type === 'binary') return value;
  const text = value.trim();
  return text === '' ? null : fromText(text, value, field);
}

function fromOther(value: unknown, { type }: Field): unknown {
  if (type === 'string' && (typeof value === 'number' || typeof value === 'boolean')) return String(value);
  if (type === 'boolean' && (value === 0 || value === 1)) return value === 1;
  if (type === 'integer' && typeof value === 'boolean') return Number(value);
  return value;
}

function fromText(text: string, value: string, { type }: Field): unknown {
  switch (type) {
    case 'integer':
      return INTEGER.test(text) ? wholeNumber(text) : value;
    case 'number':
      return NUMBER.test(text) ? Number(text) : value;
    case 'boolean':
      return /^(true|false)$/i.test(text) ? text.toLowerCase() === 'true' : value;
    case 'date-time':
      return DAY.test(text) ? `${text}T00:00:00Z` : text;
    case 'json':
    case 'array':
      return fromJson(text, value);
    default:
      return text;
  }
}

/** Beyond 2^53 the digits stay text, as edits take them. */
function wholeNumber(text: string): unknown {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : text.replace(/^\+/, '');
}

/** A text is what it is, unless it is an object or array as JSON. */
function fromJson(text: string, value: string): unknown {
  if (!/^[[{]/.test(text)) return value;
  try {
    return JSON.parse(text);
  } catch {
    return value;
  }
}
