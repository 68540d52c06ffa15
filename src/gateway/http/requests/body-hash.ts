import { createHash, type Hash } from 'node:crypto';
import { parseBoundary } from '../../../core/http/multipart-fields.js';

/** SHA-256 of a request body, taken as the bytes arrive. */
export interface BodyHash {
  update(bytes: Uint8Array): void;
  /** The hash of all bytes so far. */
  digest(): string;
}

/** Returns the hash for a body of a media type: of a multipart form its parts count, and not its boundary. */
export function bodyHash(contentType: string | undefined): BodyHash {
  const isForm = /^\s*multipart\/form-data\s*;/i.test(contentType ?? '');
  const boundary = isForm ? parseBoundary(contentType!) : undefined;
  return boundary === undefined ? new BytesHash() : new PartsHash(boundary);
}

class BytesHash implements BodyHash {
  readonly #hash = createHash('sha256');

  update(bytes: Uint8Array): void {
    this.#hash.update(bytes);
  }

  digest(): string {
    return this.#hash.copy().digest('base64url');
  }
}

/** Bytes of the headers of one part. A form with longer ones is refused elsewhere. */
const MAX_HEADERS = 16_384;
const END_OF_HEADERS = '\r\n\r\n';

type Place = 'content' | 'delimiter' | 'headers' | 'end' | 'broken';

/** Hash of the names and contents of the parts of a form, whatever their order, boundary and file names. */
class PartsHash implements BodyHash {
  readonly #delimiter: Buffer;
  readonly #parts: string[] = [];
  #place: Place = 'content';
  #name = '';
  /** Hash of the content of a part; undefined before the first part. */
  #content: Hash | undefined;
  /** Bytes that the next ones may belong to. The first delimiter has no line before it. */
  #rest: Buffer = Buffer.from('\r\n');

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  }

  update(bytes: Uint8Array): void {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    while (this.#step());
  }

  digest(): string {
    const text = this.#place === 'end' ? [...this.#parts].sort().join('\n') : `broken ${this.#parts.length}`;
    return createHash('sha256').update(text).digest('base64url');
  }

  /** False when more bytes are needed. */
  #step(): boolean {
    switch (this.#place) {
      case 'content':
        return this.#readContent();
      case 'delimiter':
        return this.#readDelimiter();
      case 'headers':
        return this.#readHeaders();
      default:
        this.#rest = Buffer.alloc(0);
        return false;
    }
  }

  #readContent(): boolean {
    const at = this.#rest.indexOf(this.#delimiter);
    const end = at < 0 ? Math.max(0, this.#rest.length - this.#delimiter.length + 1) : at;
    this.#content?.update(this.#rest.subarray(0, end));
    if (at < 0) return this.#skip(end, false);
    if (this.#content) this.#parts.push(`${JSON.stringify(this.#name)} ${this.#content.digest('hex')}`);
    this.#place = 'delimiter';
    return this.#skip(at + this.#delimiter.length, true);
  }

  #readDelimiter(): boolean {
    if (this.#rest.length < 2) return false;
    this.#place = this.#rest.toString('latin1', 0, 2) === '--' ? 'end' : 'headers';
    return true;
  }

  #readHeaders(): boolean {
    const end = this.#rest.indexOf(END_OF_HEADERS);
    if (end < 0) {
      if (this.#rest.length > MAX_HEADERS) this.#place = 'broken';
      return this.#place === 'broken';
    }
    this.#name = nameIn(this.#rest.toString('utf8', 0, end));
    this.#content = createHash('sha256');
    this.#place = 'content';
    return this.#skip(end + END_OF_HEADERS.length, true);
  }

  /** Drops bytes that have been read. Returns whether the rest may contain another match. */
  #skip(bytes: number, mayHoldMore: boolean): boolean {
    this.#rest = this.#rest.subarray(bytes);
    return mayHoldMore;
  }
}

const NAME = /^content-disposition:[^\r\n]*?[;\s]name=(?:"((?:[^"\\]|\\.)*)"|([^;\s]+))/im;

function nameIn(headers: string): string {
  const [, quoted, plain = ''] = NAME.exec(headers) ?? [];
  return quoted ?? plain;
}
