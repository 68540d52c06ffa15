/** Position of the first syntax error of a JSON text. */

export interface SyntaxFault {
  /** Number of bytes before the fault: the size of a text that ends too early. */
  readonly at: number;
  /** The text at the error. Undefined if the file ends. */
  readonly found: string | undefined;
  readonly expected: string;
}

/** Tokens that can follow. */
type JsonExpectation = 'value' | 'value or ]' | 'name or }' | 'name' | 'colon' | 'comma' | 'end';

const EXPECTED_TEXTS: Readonly<Record<JsonExpectation, string>> = {
  value: 'a value',
  'value or ]': 'a value or ]',
  'name or }': 'a name in quotes or }',
  name: 'a name in quotes',
  colon: 'a colon',
  comma: 'a comma or the end of the list or object',
  end: 'the end of the file',
};

const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const SPACE = 0x20;
const LITERALS = ['true', 'false', 'null'];
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/;
/** Characters of numbers and literals. */
const WORD = /[-+.\w]/;
const MAX_WORD = 1000;

/** Whether a word is the start of a literal or number that a truncated text ends with. */
const isPartOfValue = (word: string) =>
  word !== '' &&
  !NUMBER.test(word) &&
  (LITERALS.some((literal) => literal !== word && literal.startsWith(word)) || NUMBER.test(`${word}0`));

/** Checks a JSON text chunk by chunk. `isSequence` allows several texts one after the other. */
export class JsonSyntax {
  #at = 0;
  #expected: JsonExpectation = 'value';
  readonly #open: number[] = [];
  #inString = false;
  #isEscaped = false;
  #word = '';
  #fault: SyntaxFault | undefined;

  constructor(private readonly isSequence = false) {}

  /** Returns the fault, if the text up to here has one. */
  read(chunk: Uint8Array): SyntaxFault | undefined {
    for (let i = 0; i < chunk.length && !this.#fault; i++, this.#at++) this.#readByte(chunk[i]!);
    return this.#fault;
  }

  /** Call it at the end of the text. */
  end(): SyntaxFault | undefined {
    if (this.#fault) return this.#fault;
    if (isPartOfValue(this.#word)) return { at: this.#at, found: undefined, expected: 'the end of a value' };
    if (this.#word !== '') this.#endWord();
    if (this.#fault) return this.#fault;
    const isComplete = this.#open.length === 0 && !this.#inString && this.#expected === 'end';
    const isEmptySequence = this.isSequence && this.#open.length === 0 && this.#expected === 'value';
    if (isComplete || isEmptySequence) return undefined;
    const expected = this.#inString ? 'the end of a string' : EXPECTED_TEXTS[this.#expected];
    return { at: this.#at, found: undefined, expected };
  }

  #readByte(byte: number): void {
    if (this.#inString) return this.#readString(byte);
    if (this.#word !== '') {
      if (WORD.test(String.fromCharCode(byte)) && this.#word.length < MAX_WORD) {
        this.#word += String.fromCharCode(byte);
        return;
      }
      this.#endWord();
      if (this.#fault) return;
    }
    // The record separator of RFC 8142 counts as white space.
    if (byte <= SPACE) return;
    this.#readSign(byte);
  }

  #readString(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) {
      this.#inString = false;
      this.#expected =
        this.#expected === 'name' || this.#expected === 'name or }' ? 'colon' : this.#afterValue();
    }
  }

  #readSign(byte: number): void {
    if (this.isSequence && this.#expected === 'end') this.#expected = 'value';
    const isValue = this.#expected === 'value' || this.#expected === 'value or ]';
    const isName = this.#expected === 'name' || this.#expected === 'name or }';
    if (byte === QUOTE && (isValue || isName)) this.#inString = true;
    else if (byte === OPEN_OBJECT && isValue) this.#enter(byte, 'name or }');
    else if (byte === OPEN_LIST && isValue) this.#enter(byte, 'value or ]');
    else if (byte === COLON && this.#expected === 'colon') this.#expected = 'value';
    else if (byte === COMMA && this.#expected === 'comma')
      this.#expected = this.#open.at(-1) === OPEN_OBJECT ? 'name' : 'value';
    else if (this.#closes(byte)) {
      this.#open.pop();
      this.#expected = this.#afterValue();
    } else if (isValue && WORD.test(String.fromCharCode(byte))) this.#word = String.fromCharCode(byte);
    else this.#refuse(String.fromCharCode(byte), this.#at);
  }

  #closes(byte: number): boolean {
    const open = this.#open.at(-1);
    if (byte === CLOSE_OBJECT)
      return open === OPEN_OBJECT && (this.#expected === 'comma' || this.#expected === 'name or }');
    if (byte === CLOSE_LIST)
      return open === OPEN_LIST && (this.#expected === 'comma' || this.#expected === 'value or ]');
    return false;
  }

  #enter(byte: number, expected: JsonExpectation): void {
    this.#open.push(byte);
    this.#expected = expected;
  }

  #endWord(): void {
    const word = this.#word;
    this.#word = '';
    if (LITERALS.includes(word) || NUMBER.test(word)) this.#expected = this.#afterValue();
    else this.#refuse(word.slice(0, 20), this.#at - word.length);
  }

  #afterValue(): JsonExpectation {
    return this.#open.length === 0 ? 'end' : 'comma';
  }

  #refuse(found: string, at: number): void {
    this.#fault = { at, found, expected: EXPECTED_TEXTS[this.#expected] };
  }
}
