/** Ids of the features of a GeoJSON text: whether they can be the ids of the copy. */

import { createReadStream } from 'node:fs';
import { INT64_MAX, INT64_MIN } from '../../../../core/values/exact-number.js';

/** Summary of the ids of a file's features. */
export interface FeatureIds {
  /** Number of features without an id. */
  missing: number;
  /** Reason why the existing ids cannot be kept. Undefined if they can, or if there are none. */
  problem?: 'repeated' | 'too-large' | 'too-small' | 'other';
  /** Number of ids that can be kept: integers from -2^63 to 2^63 - 1. */
  integers: number;
  /** Minimum of these ids. */
  least?: bigint;
}

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
/** Characters of a name or value that matter. */
const LONGEST = 64;
/** Digits of an id may be more. */
const LONGEST_ID = 1 << 16;

/**
 * Reads the complete file. For text that is not JSON the result is arbitrary, because the reader of the data reports
 * the error.
 */
export async function featureIdsIn(path: string): Promise<FeatureIds> {
  const scanner = new IdScanner();
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>)
    scanner.read(chunk);
  return scanner.result();
}

/** The ids of the features of a file, in their order, as JSON texts; undefined for a feature without one. */
export async function* idTextsIn(path: string): AsyncGenerator<string | undefined> {
  let texts: (string | undefined)[] = [];
  const scanner = new IdScanner((text) => texts.push(text));
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>) {
    scanner.read(chunk);
    yield* texts;
    texts = [];
  }
}

/** Part of a feature that was read so far. */
interface OpenObject {
  isFeature: boolean;
  id: string | undefined;
}

/** Nesting depths of features: as a single text or in a sequence of texts, and in the list of a collection. */
const [ALONE, AMONG_FEATURES] = [1, 3];

class IdScanner {
  #depth = 0;
  /** Whether the depth can be a feature's depth. All other text is ignored. */
  #isNear = false;
  /** Whether the list at depth 2 is the member `features`. */
  #isInFeatures = false;
  #alone: OpenObject | undefined;
  #among: OpenObject | undefined;
  /** Name and value of the current member at the depth of a feature. */
  #name = '';
  #value = '';
  #isValue = false;
  #inString = false;
  #isEscaped = false;
  #missing = 0;
  #problem: FeatureIds['problem'];
  #ids = new BigInt64Array(1024);
  #count = 0;

  constructor(readonly onId?: (text: string | undefined) => void) {}

  read(bytes: Uint8Array): void {
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i]!;
      if (this.#isNear) this.#keep(byte);
      if (this.#inString) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === BACKSLASH) this.#isEscaped = true;
        else if (byte === QUOTE) this.#inString = false;
      } else if (byte === QUOTE) this.#inString = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_LIST) this.#open(byte);
      else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) this.#close(byte);
    }
  }

  #open(byte: number): void {
    if (this.#depth === ALONE) this.#isInFeatures = byte === OPEN_LIST && this.#name === '"features"';
    this.#depth++;
    this.#isNear = this.#depth === ALONE || (this.#depth === AMONG_FEATURES && this.#isInFeatures);
    if (this.#isNear && byte === OPEN_OBJECT) {
      const object = { isFeature: false, id: undefined };
      if (this.#depth === ALONE) this.#alone = object;
      else this.#among = object;
    }
    if (this.#isNear) this.#startMember();
  }

  #close(byte: number): void {
    if (this.#isNear && byte === CLOSE_OBJECT) {
      this.#endMember();
      this.#endObject();
    }
    this.#depth--;
    this.#isNear = this.#depth === ALONE || (this.#depth === AMONG_FEATURES && this.#isInFeatures);
  }

  /** Keeps the characters of a name or a value, and sees where they end. */
  #keep(byte: number): void {
    if (!this.#inString && byte === COMMA) return this.#endMember();
    if (!this.#inString && byte === COLON) {
      this.#isValue = true;
      return;
    }
    if (!this.#inString && (byte <= 0x20 || byte >= OPEN_OBJECT || byte === OPEN_LIST || byte === CLOSE_LIST))
      return;
    if (this.#isValue) {
      if (this.#value.length < (this.#name === '"id"' ? LONGEST_ID : LONGEST))
        this.#value += String.fromCharCode(byte);
    } else if (this.#name.length < LONGEST) this.#name += String.fromCharCode(byte);
  }

  #startMember(): void {
    this.#name = '';
    this.#value = '';
    this.#isValue = false;
  }

  #endMember(): void {
    const object = this.#depth === ALONE ? this.#alone : this.#among;
    if (object && this.#name === '"type"' && this.#value === '"Feature"') object.isFeature = true;
    if (object && this.#name === '"id"' && this.#value !== 'null') object.id = this.#value;
    this.#startMember();
  }

  #endObject(): void {
    const { isFeature = false, id } = (this.#depth === ALONE ? this.#alone : this.#among) ?? {};
    if (this.#depth === ALONE) this.#alone = undefined;
    else this.#among = undefined;
    if (!isFeature) return;
    if (this.onId) this.onId(id);
    else if (id === undefined) this.#missing++;
    else if (!/^-?\d+$/.test(id)) this.#problem ??= 'other';
    else if (BigInt(id) > INT64_MAX) this.#problem ??= 'too-large';
    else if (BigInt(id) < INT64_MIN) this.#problem ??= 'too-small';
    else this.#add(BigInt(id));
  }

  #add(id: bigint): void {
    if (this.#count === this.#ids.length) {
      const more = new BigInt64Array(2 * this.#count);
      more.set(this.#ids);
      this.#ids = more;
    }
    this.#ids[this.#count++] = id;
  }

  result(): FeatureIds {
    const ids = this.#ids.subarray(0, this.#count).sort();
    const isRepeated = ids.some((id, i) => i > 0 && id === ids[i - 1]);
    const problem = this.#problem ?? (isRepeated ? 'repeated' : undefined);
    return {
      missing: this.#missing,
      ...(problem ? { problem } : {}),
      integers: this.#count,
      ...(this.#count > 0 ? { least: ids[0]! } : {}),
    };
  }
}

/** Whether the copy gets the ids of the file. GDAL numbers features without one from 0, which must be free then. */
export function areKept(ids: FeatureIds): boolean {
  const { missing, problem, integers, least = 0n } = ids;
  return (
    problem === undefined && integers > 0 && (missing === 0 || least >= BigInt(missing) || haveNegative(ids))
  );
}

/** Whether some are negative. GDAL keeps none of the ids of a file then: they are written after it. */
export const haveNegative = ({ least = 0n }: FeatureIds): boolean => least < 0n;

/** Returns a note about ids that are not kept. Undefined if the file does not have ids. */
export function describeLostIds(ids: FeatureIds): string | undefined {
  const { missing, problem, integers } = ids;
  if (problem === 'repeated')
    return 'Ids of features are repeated in the file: the numbers of the rows take their place.';
  if (problem === 'too-large')
    return 'Ids of features in the file are greater than 9223372036854775807: the numbers of the rows take their place.';
  if (problem === 'too-small')
    return 'Ids of features in the file are less than -9223372036854775808: the numbers of the rows take their place.';
  if (problem === 'other' && integers > 0)
    return 'Not all ids of features in the file are whole numbers: the numbers of the rows take their place.';
  if (problem !== undefined || missing === 0 || integers === 0) return undefined;
  return areKept(ids)
    ? 'Some features of the file have no id: they get other numbers.'
    : 'Some features of the file have no id, and others the numbers that these would get: the numbers of the rows take the place of all ids.';
}
