import { LIMITS } from '../kit/limits.js';
import { type ExactMembers, parseJsonExactly } from './json.js';
import { VALUE_LIMITS } from './limits.js';

/** Limits of a JSON text, checked before it is parsed: a parsed value can take a hundred times its bytes. */
export interface JsonBounds {
  /** Levels of arrays and objects. */
  readonly depth: number;
  /** Values of all kinds, members of objects included. */
  readonly values: number;
  /** Names of members, which cost most. */
  readonly names: number;
  /** Maximum bytes of one string in its encoded form. */
  readonly string: number;
}

/** How the bytes of a request body are parsed. */
export type BodyForm = 'json' | 'features' | 'form' | 'multipart' | 'bytes';

export interface BodyReadOptions {
  /** `features`: geometries stay text (`parseFeatures`). `bytes`: the body is not parsed. */
  readonly form: BodyForm;
  /** Only for a `multipart` form. */
  readonly boundary?: string | undefined;
  readonly bounds: JsonBounds;
  /** Members whose text may be JSON: it is read with the body where it is an object or an array. */
  readonly jsonMembers?: readonly string[] | undefined;
  /** Members whose numbers keep their digits: see `parseJsonExactly`. */
  readonly exactMembers?: readonly string[] | undefined;
  /** Refuses JSON with integers that a double would round, outside of exact members, whose names are in any case then. */
  readonly refusesRounding?: boolean | undefined;
}

/** A text is beyond its bounds. The message may be shown. */
export class JsonBoundsError extends Error {
  constructor(
    message: string,
    /** It is too much, not too deep: 413, not 400. */
    readonly tooLarge: boolean,
  ) {
    super(message);
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;

/**
 * Throws a `JsonBoundsError` if a JSON text exceeds its limits. It reads the bytes once, without recursion and
 * without building values. Invalid JSON passes, and fails later in the parser. Empty arrays and objects count as two
 * values.
 */
export function requireBounds(json: Uint8Array, { depth, values, names, string }: JsonBounds): void {
  let level = 0;
  let count = 1;
  let members = 0;
  for (let i = 0; i < json.length; i++) {
    switch (json[i]) {
      case QUOTE: {
        const end = findStringEnd(json, i + 1);
        if (end - i - 1 > string) throw tooMuch(`a string of it is longer than ${string} bytes`);
        i = end;
        break;
      }
      case COMMA:
        if (++count > values) throw tooMuch(`it has more than ${values} values`);
        break;
      case COLON:
        if (++members > names) throw tooMuch(`it has more than ${names} members`);
        break;
      case 0x5b:
      case 0x7b:
        if (++count > values) throw tooMuch(`it has more than ${values} values`);
        if (++level > depth) throw new JsonBoundsError(`it has more than ${depth} levels of nesting`, false);
        break;
      case 0x5d:
      case 0x7d:
        level--;
        break;
    }
  }
}

/** The place of the quote that ends a string, or the end of the text. */
export function findStringEnd(json: Uint8Array, from: number): number {
  let i = from;
  while (i < json.length && json[i] !== QUOTE) i += json[i] === BACKSLASH ? 2 : 1;
  return i;
}

function tooMuch(message: string): JsonBoundsError {
  return new JsonBoundsError(message, true);
}

/** Limits for JSON in a parameter, a field or a frame. Larger texts must be sent in a body, which a worker parses. */
const TEXT: JsonBounds = {
  depth: LIMITS.textDepth,
  values: VALUE_LIMITS.textValues,
  names: VALUE_LIMITS.textNames,
  string: LIMITS.loopBodyBytes,
};

/** `parseJsonExactly` of a short text, such as a parameter. Throws a `JsonBoundsError` or a `SyntaxError`. */
export function parseJsonText(text: string, exact: ExactMembers = []): unknown {
  if (text.length > LIMITS.loopBodyBytes)
    throw new JsonBoundsError(`it is longer than ${LIMITS.loopBodyBytes} characters`, true);
  return parseBounded(text, TEXT, exact);
}

/** `parseJsonExactly` of a text within bounds. Throws a `JsonBoundsError` or a `SyntaxError`. */
export function parseBounded(text: string, bounds: JsonBounds, exact: ExactMembers = []): unknown {
  requireBounds(new TextEncoder().encode(text), bounds);
  return parseJsonExactly(text, exact);
}
