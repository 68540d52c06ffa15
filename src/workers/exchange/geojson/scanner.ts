/** Reads the properties of the features of a JSON text, part by part. All other text is skipped. */

const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const SPACE = 0x20;

/** The JSON text of a value. */
export interface ScannedValue {
  /** Its first byte. */
  readonly first: number;
  /** Bytes, with the white space after it. */
  readonly length: number;
  text(): string;
}

/** Called for each property. Its result replaces the value. */
export type Visit = (name: string, value: ScannedValue) => string | undefined;

/** States of the scanner: outside of properties, before or in a name, in a value. */
const [OUTSIDE, NAME, VALUE] = [0, 1, 2];

/** Finds members of the objects named `properties`, at any depth. Text that is not JSON gives some properties. */
export class PropertyScanner implements ScannedValue {
  first = 0;
  readonly #visit: Visit;
  readonly #write: ((bytes: Buffer) => void) | undefined;
  #state = OUTSIDE;
  #inString = false;
  #isEscaped = false;
  /** Levels within a value. */
  #depth = 0;
  /** The name that was read last; outside, only whether it is `properties`. */
  #name = '';
  #isProperties = false;
  #chunk: Buffer = Buffer.alloc(0);
  /** Start of the current name or value in the chunk. -1 if there is none. */
  #start = -1;
  #end = 0;
  /** Parts of the name or value in earlier chunks. */
  #parts: Buffer[] = [];
  /** Bytes of the chunk that are written. */
  #written = 0;

  /** `write` gets the text with its values replaced. */
  constructor(visit: Visit, write?: (bytes: Buffer) => void) {
    this.#visit = visit;
    this.#write = write;
  }

  read(chunk: Buffer): void {
    this.#chunk = chunk;
    this.#written = 0;
    if (this.#start >= 0) this.#start = 0;
    for (let i = 0; i < chunk.length; i++) {
      // Outside of properties only strings matter, so coordinates are skipped.
      if (this.#state === OUTSIDE && !this.#inString && !this.#isProperties) {
        i = chunk.indexOf(QUOTE, i);
        if (i < 0) break;
      }
      const byte = chunk[i]!;
      if (this.#inString) this.#readString(byte, i);
      else if (byte > SPACE) this.#readSign(byte, i);
    }
    this.#keepOpen();
  }

  get length(): number {
    return this.#parts.reduce((sum, part) => sum + part.length, this.#end - this.#start);
  }

  text(): string {
    const last = this.#chunk.subarray(this.#start, this.#end);
    return (this.#parts.length === 0 ? last : Buffer.concat([...this.#parts, last])).toString('utf8').trim();
  }

  #readString(byte: number, at: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) {
      this.#inString = false;
      if (this.#state !== VALUE) this.#endName(at);
    }
  }

  #readSign(byte: number, at: number): void {
    if (this.#state === VALUE) return this.#readValue(byte, at);
    if (byte === QUOTE) {
      this.#inString = true;
      this.#start = at + 1;
    } else if (byte === COLON) {
      if (this.#state === NAME) this.#state = VALUE;
    } else if (byte === OPEN_OBJECT) {
      if (this.#state === OUTSIDE && this.#isProperties) this.#state = NAME;
      this.#isProperties = false;
    } else if (byte === CLOSE_OBJECT) this.#state = OUTSIDE;
    else if (byte >= OPEN_LIST || byte === COMMA) this.#isProperties = false;
  }

  #endName(at: number): void {
    this.#end = at;
    if (this.#state === NAME) this.#name = parseName(this.text());
    else this.#isProperties = this.length === PROPERTIES.length && this.text() === PROPERTIES;
    this.#start = -1;
    this.#parts = [];
  }

  #readValue(byte: number, at: number): void {
    if (this.#start < 0) {
      this.first = byte;
      this.#depth = 0;
      this.#start = at;
      this.#writeUntil(at);
    }
    if (byte === QUOTE) this.#inString = true;
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) this.#depth++;
    else if (this.#depth > 0) {
      if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) this.#depth--;
    } else if (byte === COMMA || byte === CLOSE_OBJECT) this.#endValue(byte, at);
  }

  #endValue(byte: number, at: number): void {
    this.#end = at;
    const replacement = this.#visit(this.#name, this);
    if (this.#write) {
      if (replacement !== undefined) this.#write(Buffer.from(replacement));
      else {
        for (const part of this.#parts) this.#write(part);
        this.#write(this.#chunk.subarray(this.#start, at));
      }
      this.#written = at;
    }
    this.#start = -1;
    this.#parts = [];
    this.#state = byte === COMMA ? NAME : OUTSIDE;
  }

  #writeUntil(at: number): void {
    if (this.#write && at > this.#written) this.#write(this.#chunk.subarray(this.#written, at));
    this.#written = at;
  }

  /** Keeps the chunk's part of a name or value that continues in the next chunk. */
  #keepOpen(): void {
    const { length } = this.#chunk;
    const isValue = this.#state === VALUE && this.#start >= 0;
    if (!isValue) this.#writeUntil(length);
    if (this.#start >= 0) this.#parts.push(this.#chunk.subarray(this.#start));
  }
}

const PROPERTIES = 'properties';

/** A name between its quotes. */
function parseName(text: string): string {
  if (!text.includes('\\')) return text;
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text;
  }
}
