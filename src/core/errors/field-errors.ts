import { splitPointer } from './json-pointer.js';

/**
 * The one form of errors about a parameter or a member: `name: what is wrong; received 'value'. What is allowed.` Every API,
 * the command line and the configuration write them by these functions.
 */

/** One wrong member of a request: `name` is the parameter or the JSON pointer into the body. */
export interface FieldError {
  name: string;
  /** The problem without the name: a predicate ("must be ..."), or sentences. */
  detail: string;
  /** The violated rule: a keyword of JSON Schema, or an exception code of an OGC service. */
  code?: string;
  /** JSON pointer to the member, where `name` is that of the object that lacks it. */
  path?: string;
  /** The value as `showValue` writes it. */
  received?: string;
}

const MAX_SHOWN = 60;
const MAX_MESSAGE = 1000;
/** Characters at the start of a value by which it is found in a text that names it. */
const RECOGNISED = 20;

/** Names of parameters and members whose values no error repeats. */
const SECRET =
  /token|secret|password|passphrase|passwd|credential|authorization|cookie|assertion|verifier|key$|^code$|^sig|^state$|connectionstring/i;
/** Secrets inside of values: the user part of a URL, and pairs of a connection string or a query. */
const SECRET_PARTS: readonly (readonly [RegExp, string])[] = [
  [/\/\/[^/\s@]*@/g, '//…@'],
  [/\b(password|passwd|pwd|token|secret|sig|signature|\w*api_?key)=[^&;\s]*/gi, '$1=…'],
];
/** A segment of a JSON pointer that needs no quotes. */
const PLAIN_SEGMENT = /^[\w$:@-]+$/;
const CONTROL = /[\p{Cc}\u2028\u2029]/gu;

/** Whether the value of a parameter or member is a secret. */
export function isSecretName(name: string): boolean {
  return name.split(/[/.]/).some((segment) => SECRET.test(segment));
}

/** A value of a request as errors show it: shortened, on one line. Undefined for an absent value. */
export function showValue(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'string') return `'${shorten(value)}'`;
  if (typeof value !== 'object' || value === null) return shorten(String(value));
  if (Array.isArray(value))
    return value.length === 0 ? 'an empty array' : `an array of ${count(value.length)}`;
  // A number that keeps its digits is a String object.
  return value instanceof String ? shorten(value.toString()) : 'an object';
}

const count = (items: number) => (items === 1 ? '1 item' : `${items} items`);

/** A text on one line, without secrets in URLs, of at most 60 characters. */
export function shorten(text: string, max = MAX_SHOWN): string {
  const safe = SECRET_PARTS.reduce(
    (part, [from, to]) => part.replace(from, to),
    text.slice(0, 4 * max + 200),
  );
  const characters = [...safe];
  const start = characters.length > max ? `${characters.slice(0, max).join('')}…` : safe;
  return start.replace(CONTROL, escapeControl);
}

function escapeControl(character: string): string {
  const short: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };
  return short[character] ?? `\\u${character.codePointAt(0)!.toString(16).padStart(4, '0')}`;
}

/** The error with the value that was received, unless it has one or the value is a secret. */
export function withReceived(error: FieldError, value: unknown): FieldError {
  if (error.received !== undefined || isSecretName(error.path ?? error.name)) return error;
  const received = showValue(value);
  return received === undefined ? error : { ...error, received };
}

/** The error of a value that is a member of another, which has the JSON pointer `at`. */
export function prefixField(at: string, error: FieldError): FieldError {
  const { name, path } = error;
  return {
    ...error,
    name: `${at}${name === '/' ? '' : name}`,
    ...(path === undefined ? {} : { path: `${at}${path === '/' ? '' : path}` }),
  };
}

/** `inputs.unit` for the JSON pointer `/inputs/unit`, `body` for the whole body; other names are unchanged. */
export function describeName(name: string): string {
  if (name === '/') return 'body';
  if (!name.startsWith('/')) return name;
  const segments = splitPointer(name);
  if (!segments.every((segment) => PLAIN_SEGMENT.test(segment))) return name;
  return segments.reduce((path, segment) => {
    if (/^\d+$/.test(segment)) return `${path}[${segment}]`;
    return path === '' ? segment : `${path}.${segment}`;
  }, '');
}

/** `must be an integer from 1 to 10; received '0'.` */
export function formatDetail({ detail, received }: Pick<FieldError, 'detail' | 'received'>): string {
  const text = detail.trim();
  const sentences = /[.!?]['")]?$/.test(text) ? text : `${text}.`;
  if (received === undefined || namesValue(text, received)) return sentences;
  const end = firstEnd(sentences);
  return `${sentences.slice(0, end)}; received ${received}${sentences.slice(end)}`;
}

/** `limit: must be an integer from 1 to 10; received '0'.` */
export function formatFieldError(error: FieldError): string {
  const { name, path, code } = error;
  const subject = code === 'required' && path !== undefined ? path : name;
  // Errors of a whole request or row have no name, and are sentences.
  if (subject === '' && /^\P{Ll}/u.test(error.detail)) return formatDetail(error);
  return `${describeName(subject || '/')}: ${formatDetail(error)}`;
}

/** All errors, a sentence each, up to about 1,000 characters. */
export function formatFieldErrors(errors: readonly FieldError[]): string {
  const sentences: string[] = [];
  let length = 0;
  for (const error of errors) {
    const sentence = formatFieldError(error);
    if (sentences.length > 0 && length + sentence.length > MAX_MESSAGE) break;
    sentences.push(sentence);
    length += sentence.length + 1;
  }
  const others = errors.length - sentences.length;
  if (others > 0) sentences.push(`${others} more ${others === 1 ? 'error follows' : 'errors follow'}.`);
  return sentences.join(' ');
}

function namesValue(text: string, received: string): boolean {
  if (/\breceived\b/.test(text)) return true;
  if (!received.startsWith("'")) return false;
  const value = received.slice(1, -1).replace(/…$/, '');
  return value.length > RECOGNISED
    ? text.includes(`'${value.slice(0, RECOGNISED)}`)
    : text.includes(`'${value}`);
}

/**
 * End of the first sentence: a full stop outside quotes before white space and a capital letter, or the end of the
 * text.
 */
function firstEnd(sentences: string): number {
  for (const { index } of sentences.matchAll(/[.!?](?=\s+["'(]?\p{Lu})/gu)) {
    const quotes = sentences.slice(0, index).match(/(?<![\p{L}\d])'|'(?![\p{L}\d])/gu) ?? [];
    if (quotes.length % 2 === 0) return index;
  }
  return sentences.length - 1;
}
