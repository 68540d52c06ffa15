/** Polygons as well-known text (OGC 06-103r4, 7.2), and back. */

export type Ring = [x: number, y: number][];
/** Polygons of rings, the exterior ring first. */
export type Polygons = Ring[][];

/** Reason why a text is not a polygon, as a sentence part that follows the name of the member: `must ...`. */
export class PolygonWktError extends Error {
  override readonly name = 'PolygonWktError';
}

export interface PolygonWkt {
  /** Number of a prefix `SRID=4326;` (EWKT). */
  readonly srid: number | undefined;
  readonly polygons: Polygons;
  readonly positions: number;
}

const SRID_PREFIX = /^\s*SRID\s*=\s*(\d{1,9})\s*;/i;
const HEAD = /^\s*(MULTIPOLYGON|POLYGON)\s*(ZM|Z|M)?\s*(?=\(|EMPTY)/i;
const TYPE = /^\s*([A-Za-z]+)/;
const NUMBER = /[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;
const SPACE = /\s*/y;

/** Reads POLYGON and MULTIPOLYGON. Z and M are dropped. Throws `PolygonWktError`. */
export function parsePolygonWkt(text: string, maxPositions: number): PolygonWkt {
  const prefix = SRID_PREFIX.exec(text);
  const body = prefix ? text.slice(prefix[0].length) : text;
  const head = HEAD.exec(body);
  if (!head) {
    const type = TYPE.exec(body)?.[1]?.slice(0, 30).toUpperCase();
    const found = type === undefined ? '' : `, not ${type}`;
    throw new PolygonWktError(`must be a POLYGON or MULTIPOLYGON as well-known text${found}`);
  }
  const reader = new WktReader(body, head[0].length, 2 + (head[2]?.length ?? 0), maxPositions);
  const isMulti = head[1]!.length > 7;
  const polygons = isMulti ? reader.list(() => reader.polygon()) : [reader.polygon()];
  reader.end();
  if (polygons.length === 0 || polygons.some((rings) => rings.length === 0))
    throw new PolygonWktError('must not be empty');
  return { srid: prefix ? Number(prefix[1]) : undefined, polygons, positions: reader.positions };
}

export function formatMultiPolygonWkt(polygons: Polygons): string {
  const ring = (positions: Ring) => `(${positions.map(([x, y]) => `${x} ${y}`).join(', ')})`;
  return `MULTIPOLYGON (${polygons.map((rings) => `(${rings.map(ring).join(', ')})`).join(', ')})`;
}

class WktReader {
  positions = 0;

  constructor(
    private readonly text: string,
    private at: number,
    /** Numbers of a position. Without a letter after the type, a third or fourth number is also read. */
    private readonly numbers: number,
    private readonly maxPositions: number,
  ) {}

  polygon(): Ring[] {
    return this.list(() => this.#ring());
  }

  /** Items between parentheses, or none for EMPTY. */
  list<T>(item: () => T): T[] {
    this.#skip();
    if (this.text.slice(this.at, this.at + 5).toUpperCase() === 'EMPTY') {
      this.at += 5;
      return [];
    }
    this.#expect('(');
    const items: T[] = [];
    do items.push(item());
    while (this.#accept(','));
    this.#expect(')');
    return items;
  }

  end(): void {
    this.#skip();
    if (this.at < this.text.length) throw this.#error('nothing more');
  }

  #ring(): Ring {
    const ring = this.list(() => this.#position());
    const [first, last] = [ring[0], ring.at(-1)];
    if (!first || !last || ring.length < 4 || first[0] !== last[0] || first[1] !== last[1])
      throw new PolygonWktError('must have rings of at least four positions that end where they start');
    return ring;
  }

  #position(): [number, number] {
    if (++this.positions > this.maxPositions)
      throw new PolygonWktError(`must have at most ${this.maxPositions} positions`);
    const [x, y] = [this.#number(), this.#number()];
    for (let i = 2; i < this.numbers; i++) this.#number();
    for (let i = this.numbers; i < 4 && this.#isNumberNext(); i++) this.#number();
    return [x, y];
  }

  #isNumberNext(): boolean {
    this.#skip();
    NUMBER.lastIndex = this.at;
    return NUMBER.test(this.text);
  }

  #number(): number {
    this.#skip();
    NUMBER.lastIndex = this.at;
    const found = NUMBER.exec(this.text);
    const number = found ? Number(found[0]) : Number.NaN;
    if (!found || !Number.isFinite(number)) throw this.#error('a finite number');
    this.at += found[0].length;
    return number;
  }

  #accept(mark: string): boolean {
    this.#skip();
    if (this.text[this.at] !== mark) return false;
    this.at++;
    return true;
  }

  #expect(mark: string): void {
    if (!this.#accept(mark)) throw this.#error(`'${mark}'`);
  }

  #skip(): void {
    SPACE.lastIndex = this.at;
    SPACE.exec(this.text);
    this.at = SPACE.lastIndex;
  }

  #error(expected: string): PolygonWktError {
    const found = this.text.slice(this.at, this.at + 20);
    return new PolygonWktError(
      `must be well-known text: character ${this.at + 1} must be ${expected}, not ${found === '' ? 'the end' : `'${found}'`}`,
    );
  }
}
