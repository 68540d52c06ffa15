/** The features of a GeoJSON text, one after another, as the text has them. */

import { createReadStream } from 'node:fs';
import { TaskFailure } from '../../../core/errors/failure.js';

const CHUNK_BYTES = 1 << 20;
const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const SPACE = 0x20;
const FEATURES = '"features"';

/** Nesting depths of features: in a sequence of texts or as a single text, and in the list of a collection. */
const [ALONE, AMONG_FEATURES] = [1, 3];

/**
 * Yields the texts of the members of a feature collection, of the texts in a sequence, or of the single object of a
 * file. Empty for other files. Fails with `source-unreadable` for text that is not UTF-8.
 */
export async function* featureTextsIn(path: string): AsyncGenerator<string> {
  const scanner = new FeatureScanner();
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>)
    yield* scanner.read(chunk);
}

class FeatureScanner {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  /** The member name at depth 1 that was read last, with its quotes. */
  #name = '';
  #isValue = false;
  /** Whether the list at depth 2 is the member `features`, and whether the object at depth 1 has one. */
  #isInFeatures = false;
  #hasFeatures = false;
  /** Start of the kept text in the chunk. -1 if none is kept. */
  #start = -1;
  #parts: Buffer[] = [];

  read(chunk: Buffer): string[] {
    const texts: string[] = [];
    if (this.#start >= 0) this.#start = 0;
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i]!;
      if (this.#depth === ALONE && !this.#isValue) this.#readName(byte);
      if (this.#inString) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === BACKSLASH) this.#isEscaped = true;
        else if (byte === QUOTE) this.#inString = false;
      } else if (byte === QUOTE) this.#inString = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_LIST) this.#open(byte, i);
      else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
        const text = this.#close(chunk, i);
        if (text !== undefined) texts.push(text);
      } else if (this.#depth === ALONE && byte === COMMA) this.#startMember();
      else if (this.#depth === ALONE && byte === COLON) this.#isValue = true;
    }
    if (this.#start >= 0) this.#parts.push(chunk.subarray(this.#start));
    return texts;
  }

  #readName(byte: number): void {
    if (byte > SPACE && byte !== COMMA && byte !== COLON && this.#name.length <= FEATURES.length)
      this.#name += String.fromCharCode(byte);
  }

  #startMember(): void {
    this.#name = '';
    this.#isValue = false;
  }

  #open(byte: number, at: number): void {
    if (this.#depth === ALONE && byte === OPEN_LIST && this.#name === FEATURES) {
      this.#isInFeatures = true;
      this.#hasFeatures = true;
      // The features are kept, and not the collection.
      this.#start = -1;
      this.#parts = [];
    }
    this.#depth++;
    if (this.#depth === ALONE) {
      this.#hasFeatures = false;
      this.#startMember();
    }
    if (this.#isFeature && byte === OPEN_OBJECT) this.#start = at;
  }

  #close(chunk: Buffer, at: number): string | undefined {
    const isKept = this.#isFeature && this.#start >= 0 && chunk[at] === CLOSE_OBJECT;
    this.#depth--;
    if (this.#depth === ALONE) this.#isInFeatures = false;
    if (!isKept) return undefined;
    const bytes = Buffer.concat([...this.#parts, chunk.subarray(this.#start, at + 1)]);
    this.#start = -1;
    this.#parts = [];
    return this.#decode(bytes);
  }

  get #isFeature(): boolean {
    if (this.#depth === AMONG_FEATURES) return this.#isInFeatures;
    return this.#depth === ALONE && !this.#hasFeatures;
  }

  #decode(bytes: Buffer): string {
    try {
      return this.#decoder.decode(bytes);
    } catch {
      throw new TaskFailure('source-unreadable', 'The text of the file is not UTF-8.');
    }
  }
}
