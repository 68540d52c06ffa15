import type { LineWriter } from './line-writer.js';
import type { RequestEvent, RequestKind } from './log.js';

const ascii = (text: string) => Uint8Array.from(Buffer.from(text, 'latin1'));

const ZERO = 0x30;
const POINT = 0x2e;
const BYTES = ascii(',"Bytes":');
const PATH = ascii(',"Path":"');
const ID = '","CorrelationId":"';
const END = '","Principal":"anonymous"}\n';

/** Positions of the time and its milliseconds in a line: `{"@t":"2026-01-31T12:00:00.000Z",`. */
const TIME_AT = 7;
const MILLISECONDS_AT = 27;
/** More than the numbers of a line take. */
const NUMBERS = 64;

/** Start of the lines of one kind of request, including the time. */
interface LinePrefix {
  readonly bytes: Uint8Array;
  second: number;
  millisecond: number;
}

/**
 * Writes the completion events of anonymous requests, which are by far the most log lines, as bytes into the writer's
 * block, without creating strings. All of it is ASCII.
 */
export class RequestLines {
  readonly #writer: LineWriter;
  readonly #membersOf: (kind: RequestKind) => string;
  readonly #beginnings = new WeakMap<RequestKind, LinePrefix>();
  #kind: RequestKind | undefined;
  #beginning: LinePrefix | undefined;
  /** The second that is being written, by both clocks. */
  #second = 0;
  #secondText = '';
  #since = Number.POSITIVE_INFINITY;
  /** Id and end of a line. */
  #tail = ascii(ID + END);
  #idBytes = 0;

  /** `membersOf` gives the JSON members that a kind of request always has. */
  constructor(writer: LineWriter, membersOf: (kind: RequestKind) => string) {
    this.#writer = writer;
    this.#membersOf = membersOf;
  }

  /** Makes the next line read the wall clock. Between such calls, lines follow the monotonic clock. */
  setClock(): void {
    this.#since = Number.POSITIVE_INFINITY;
  }

  /**
   * Returns false if the event has members that this class does not write. `at` is a time of `performance.now`, in
   * milliseconds.
   */
  write(kind: RequestKind, event: RequestEvent, at: number, durationMs: number, bytes: number): boolean {
    const id = event.correlationBytes;
    if (!id || !event.plainPath || event.trace || event.principal.id !== 'anonymous') return false;
    const beginning = this.#beginningOf(kind, at);
    const tail = this.#tailOf(id);
    const { path } = event;
    const block = this.#writer.room(beginning.length + path.length + tail.length + NUMBERS);
    if (!block) return false;
    let to = this.#writer.length;
    block.set(beginning, to);
    to = putHundredths(block, to + beginning.length, durationMs);
    to = put(block, to, BYTES);
    to = putInteger(block, to, bytes);
    to = put(block, to, PATH);
    to += block.write(path, to, 'latin1');
    block.set(tail, to);
    this.#writer.length = to + tail.length;
    return true;
  }

  #beginningOf(kind: RequestKind, at: number): Uint8Array {
    let millisecond = Math.floor(at - this.#since);
    if (!(millisecond >= 0 && millisecond < 1000)) {
      this.#readClock(at);
      millisecond = Math.floor(at - this.#since);
    }
    // Requests of one kind come in runs.
    let beginning = this.#beginning;
    if (kind !== this.#kind || !beginning) {
      beginning = this.#find(kind);
      this.#kind = kind;
      this.#beginning = beginning;
    }
    const { bytes } = beginning;
    if (beginning.second !== this.#second) {
      bytes.set(ascii(this.#secondText), TIME_AT);
      beginning.second = this.#second;
      beginning.millisecond = 0;
    }
    if (beginning.millisecond !== millisecond) {
      bytes[MILLISECONDS_AT] = ZERO + Math.floor(millisecond / 100);
      bytes[MILLISECONDS_AT + 1] = ZERO + (Math.floor(millisecond / 10) % 10);
      bytes[MILLISECONDS_AT + 2] = ZERO + (millisecond % 10);
      beginning.millisecond = millisecond;
    }
    return bytes;
  }

  #readClock(at: number): void {
    const now = Date.now();
    this.#second = Math.floor(now / 1000);
    this.#since = at - (now - this.#second * 1000);
    this.#secondText = new Date(this.#second * 1000).toISOString();
  }

  #find(kind: RequestKind): LinePrefix {
    let beginning = this.#beginnings.get(kind);
    if (!beginning) {
      const time = new Date(0).toISOString();
      const bytes = ascii(`{"@t":"${time}",${this.#membersOf(kind)},"DurationMs":`);
      beginning = { bytes, second: 0, millisecond: 0 };
      this.#beginnings.set(kind, beginning);
    }
    return beginning;
  }

  #tailOf(id: Uint8Array): Uint8Array {
    if (id.length !== this.#idBytes) {
      this.#idBytes = id.length;
      this.#tail = ascii(ID + ' '.repeat(id.length) + END);
    }
    this.#tail.set(id, ID.length);
    return this.#tail;
  }
}

function put(block: Uint8Array, at: number, bytes: Uint8Array): number {
  for (let i = 0; i < bytes.length; i++) block[at + i] = bytes[i]!;
  return at + bytes.length;
}

/** Writes a non-negative integer. */
function putInteger(block: Uint8Array, at: number, value: number): number {
  let digits = 1;
  for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) digits++;
  let rest = value;
  for (let i = at + digits - 1; i >= at; i--) {
    const tenth = Math.floor(rest / 10);
    block[i] = ZERO + rest - tenth * 10;
    rest = tenth;
  }
  return at + digits;
}

/** With two decimal places. */
function putHundredths(block: Uint8Array, at: number, value: number): number {
  const hundredths = Math.round(value * 100);
  const whole = Math.floor(hundredths / 100);
  const rest = hundredths - whole * 100;
  const to = putInteger(block, at, whole);
  const tenth = Math.floor(rest / 10);
  block[to] = POINT;
  block[to + 1] = ZERO + tenth;
  block[to + 2] = ZERO + rest - tenth * 10;
  return to + 3;
}
