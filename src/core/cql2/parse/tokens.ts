import { type AnyNumber, negate, readNumber, toDouble } from '../../values/exact-number.js';
import { Cql2Error, excerpt } from '../error.js';
import { CQL2_LIMITS } from '../limits.js';
import { type Token, tokenise } from './lexer.js';

/** A place in the tokens of one filter. Every failure throws a `Cql2Error` that names the position. */
export class Tokens {
  readonly #tokens: Token[];
  #next = 0;
  #depth = 0;

  constructor(text: string) {
    this.#tokens = tokenise(text);
  }

  peek(ahead = 0): Token {
    return this.#tokens[Math.min(this.#next + ahead, this.#tokens.length - 1)]!;
  }

  take(): Token {
    const token = this.peek();
    this.#next++;
    return token;
  }

  /** Whether the next token is this keyword (lower case) or symbol. */
  sees(text: string, ahead = 0): boolean {
    const token = this.peek(ahead);
    if (token.kind === 'symbol') return token.text === text;
    return token.kind === 'word' && token.text.toLowerCase() === text;
  }

  /** Takes the keyword or symbol when it comes next. */
  accept(text: string): boolean {
    const isNext = this.sees(text);
    if (isNext) this.#next++;
    return isNext;
  }

  expect(text: string): void {
    if (!this.accept(text)) this.fail(/\w/.test(text) ? text.toUpperCase() : `'${text}'`);
  }

  fail(expected: string): never {
    const { kind, text, at } = this.peek();
    const token = kind === 'end' ? 'the end of the filter' : `'${excerpt(text)}'`;
    throw new Cql2Error(`expected ${expected} at ${at + 1}, found ${token}`, { position: at + 1 });
  }

  /** Runs a rule one level deeper; nesting has an end. */
  nested<T>(rule: () => T): T {
    if (++this.#depth > CQL2_LIMITS.filterDepth) {
      const position = this.peek().at + 1;
      throw new Cql2Error(`nested more than ${CQL2_LIMITS.filterDepth} levels deep at ${position}`, {
        position,
      });
    }
    const result = rule();
    this.#depth--;
    return result;
  }

  /** One or more, separated by commas, up to the closing parenthesis, which is taken. */
  list<T>(rule: () => T): T[] {
    const items = [rule()];
    while (this.accept(',')) items.push(rule());
    this.expect(')');
    return items;
  }

  /** A number with its sign. */
  signedNumber(): AnyNumber {
    const isNegative = this.accept('-');
    if (!isNegative) this.accept('+');
    const value = this.number();
    return isNegative ? negate(value) : value;
  }

  /** A number of a coordinate with its sign: coordinates are doubles. */
  coordinate(): number {
    return toDouble(this.signedNumber());
  }

  number(): AnyNumber {
    if (this.peek().kind !== 'number') this.fail('a number');
    const { text, at } = this.take();
    const value = readNumber(text);
    if (value === undefined)
      throw new Cql2Error(`the number at ${at + 1} is too large`, { position: at + 1 });
    return value;
  }

  string(what: string): string {
    if (this.peek().kind !== 'string') this.fail(what);
    return this.take().text;
  }
}
