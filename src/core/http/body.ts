import {
  findExactMembers,
  markExactNumbers,
  mayHoldExactNumbers,
  parseJsonExactly,
  parseMarked,
  utf8,
} from '../values/json.js';
import {
  type BodyReadOptions,
  type JsonBounds,
  JsonBoundsError,
  parseBounded,
  requireBounds,
} from '../values/json-bounds.js';
import { findRoundedInteger } from '../values/rounded-integers.js';
import { parseFeatures } from './feature-body.js';
import { HTTP_LIMITS } from './limits.js';
import { multipartFields } from './multipart-fields.js';

/** Conversion of request bodies from bytes to values, on the event loop or in a worker. */

/** A body that cannot be read. The message may be shown. */
export class BodyError extends Error {
  constructor(
    message: string,
    readonly tooLarge: boolean,
    /** JSON pointer of the member that is wrong. */
    readonly pointer?: string,
  ) {
    super(message);
  }
}

/** Reads a body. Throws a `BodyError`. */
export function readBody(bytes: Uint8Array, reading: BodyReadOptions): unknown {
  try {
    return valueIn(bytes, reading);
  } catch (error) {
    if (error instanceof BodyError) throw error;
    const { message } = error as Error;
    if (error instanceof JsonBoundsError)
      throw new BodyError(`The request body is too complex: ${message}.`, error.tooLarge);
    throw new BodyError(`The request body is not JSON: ${message.slice(0, 200)}.`, false);
  }
}

function valueIn(bytes: Uint8Array, reading: BodyReadOptions): unknown {
  const { form, boundary, bounds, jsonMembers } = reading;
  switch (form) {
    case 'bytes':
      return bytes;
    case 'form':
      requireFewFields(bytes);
      return withJson(formFields(listPairs(utf8(bytes)), bounds, jsonMembers ?? []), reading);
    case 'multipart':
      return withJson(formFields(readParts(bytes, boundary), bounds, jsonMembers ?? []), reading);
    case 'features':
      requireBounds(bytes, bounds);
      return parseFeatures(bytes);
    case 'json':
      requireBounds(bytes, bounds);
      return withJson(jsonIn(utf8(bytes), reading), reading);
  }
}

function jsonIn(text: string, { exactMembers = [], refusesRounding }: BodyReadOptions): unknown {
  if (!refusesRounding || !mayHoldExactNumbers(text)) return parseJsonExactly(text, exactMembers);
  // Says what is wrong with a text that is not JSON.
  JSON.parse(text);
  const marked = markExactNumbers(text, exactMembers, true);
  const integer = findRoundedInteger(marked);
  if (!integer) return parseMarked(marked);
  const { pointer, written, rounded } = integer;
  throw new BodyError(
    `${pointer}: the server would round ${written.slice(0, 60)} to ${rounded}. Send integers from -9007199254740991 to 9007199254740991.`,
    false,
    pointer,
  );
}

/** Fields of a form, each once. Those that may be JSON are bounded as such, and may be lists of numbers. */
function formFields(
  pairs: Iterable<[name: string, text: string]>,
  bounds: JsonBounds,
  jsonMembers: readonly string[],
): Record<string, string> {
  const fields = new Map<string, string>();
  for (const [name, text] of pairs) {
    if (fields.size >= HTTP_LIMITS.formFields) throw tooManyFields();
    if (fields.has(name))
      throw new BodyError(`${name.slice(0, 60)}: the form has this field twice. Send it once.`, false);
    if (text.length > bounds.string && !(jsonMembers.includes(name) && (isJson(text) || isNumbers(text))))
      throw new BodyError(`${name.slice(0, 60)}: must have at most ${bounds.string} characters.`, true);
    fields.set(name, text);
  }
  return Object.fromEntries(fields);
}

function requireFewFields(bytes: Uint8Array): void {
  let fields = 1;
  for (let at = bytes.indexOf(0x26); at >= 0; at = bytes.indexOf(0x26, at + 1))
    if (++fields > HTTP_LIMITS.formFields) throw tooManyFields();
}

const tooManyFields = () =>
  new BodyError(`The form has more than ${HTTP_LIMITS.formFields} fields. Send fewer.`, true);

function* readParts(
  bytes: Uint8Array,
  boundary: string | undefined,
): Generator<[name: string, text: string]> {
  if (boundary === undefined)
    throw new BodyError(
      'Content-Type: the multipart form has no boundary. Send multipart/form-data; boundary=….',
      false,
    );
  try {
    yield* multipartFields(bytes, boundary);
  } catch (error) {
    throw new BodyError((error as Error).message, false);
  }
}

/** Names and values as URLSearchParams has them (WHATWG URL, 5.1), in a third of its time. */
function* listPairs(text: string): Generator<[name: string, value: string]> {
  for (const part of text.split('&')) {
    if (part === '') continue;
    const at = part.indexOf('=');
    const [name, value] = at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)];
    yield [decoded(name), decoded(value)];
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    // Handles isolated percent signs and invalid UTF-8.
    return new URLSearchParams(`v=${text}`).get('v')!;
  }
}

/** List of integers, which needs no further validation. */
const isNumbers = (text: string) => /^[-\d,\s]*$/.test(text);

const isJson = (text: string) => /^\s*[[{]/.test(text);

function withJson(body: unknown, reading: BodyReadOptions): unknown {
  const { jsonMembers: names = [] } = reading;
  if (names.length === 0 || typeof body !== 'object' || body === null) return body;
  const members = body as Record<string, unknown>;
  for (const name of names) {
    const text = Object.hasOwn(members, name) ? members[name] : undefined;
    if (typeof text === 'string' && isJson(text)) members[name] = parseMember(name, text, reading);
  }
  return members;
}

function parseMember(name: string, text: string, { bounds, exactMembers = [] }: BodyReadOptions): unknown {
  try {
    return parseBounded(text, bounds, findExactMembers(name, exactMembers));
  } catch (error) {
    if (error instanceof JsonBoundsError)
      throw new BodyError(`${name}: is too complex: ${error.message}.`, error.tooLarge);
    throw new BodyError(`${name}: must be JSON.`, false);
  }
}
