import { LIMITS } from '../../kit/limits.js';
import { RASTER_LIMITS } from '../limits.js';
import {
  BAND_COMPARISONS,
  BAND_FUNCTIONS,
  type BandExpression,
  type BandFunction,
  type BandOperator,
} from './ast.js';

/** Error in an expression, with a message for clients. */
export class BandMathError extends Error {
  override readonly name = 'BandMathError';
}

/** Reads expressions that are separated by `;`. Throws a `BandMathError`. */
export function parseBandMath(text: string): BandExpression[] {
  if (text.length > LIMITS.expressionCharacters)
    throw new BandMathError(`must have at most ${LIMITS.expressionCharacters} characters`);
  const budget = { nodes: RASTER_LIMITS.expressionNodes };
  return text.split(';').map((part) => new Parser(parseTokens(part), budget).whole());
}

const TOKEN =
  /\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(\*\*|<=|>=|==|!=|[-+*/%<>&|~(),]))/y;

type Token = { number: number } | { name: string } | { sign: string };

function parseTokens(text: string): Token[] {
  const tokens: Token[] = [];
  const end = text.trimEnd().length;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < end) {
    const at = TOKEN.lastIndex;
    const token = TOKEN.exec(text);
    if (!token)
      throw new BandMathError(
        `'${text.slice(at).trim().slice(0, 20)}' is not part of an expression. Use bands (b1, b2 …), numbers, operators and functions`,
      );
    const [, number, name, sign] = token;
    if (number !== undefined) tokens.push({ number: Number(number) });
    else if (name !== undefined) tokens.push({ name });
    else tokens.push({ sign: sign! });
  }
  return tokens;
}

/** Left-associative operators in order of precedence, lowest first. Comparisons are not associative. */
const LEFT: readonly (readonly BandOperator[])[] = [
  ['|'],
  ['&'],
  BAND_COMPARISONS,
  ['+', '-'],
  ['*', '/', '%'],
];
const COMPARING = 2;

/** Recursive descent with the precedence of Python, but that & and | bind more loosely than comparisons. */
class Parser {
  #next = 0;
  #depth = 0;

  constructor(
    private readonly tokens: readonly Token[],
    private readonly budget: { nodes: number },
  ) {}

  whole(): BandExpression {
    if (this.tokens.length === 0) throw new BandMathError('is empty');
    const expression = this.#binary(0);
    if (this.#next < this.tokens.length) throw new BandMathError(`${this.#here()} is not expected`);
    return expression;
  }

  #binary(level: number): BandExpression {
    const operators = LEFT[level];
    if (!operators) return this.#unary();
    let left = this.#binary(level + 1);
    for (let operator = this.#sign(operators); operator; operator = this.#sign(operators)) {
      left = this.#call(operator, [left, this.#binary(level + 1)]);
      if (level === COMPARING && this.#sign(operators))
        throw new BandMathError('comparisons need parentheses');
    }
    return left;
  }

  #unary(): BandExpression {
    return this.#deeper(() => {
      if (this.#sign(['+'])) return this.#unary();
      if (this.#sign(['-'])) return this.#call('negate', [this.#unary()]);
      if (this.#sign(['~'])) return this.#call('~', [this.#unary()]);
      return this.#power();
    });
  }

  /** Groups from the right, and binds more tightly than a sign before it. */
  #power(): BandExpression {
    const base = this.#primary();
    return this.#sign(['**']) ? this.#call('**', [base, this.#unary()]) : base;
  }

  #primary(): BandExpression {
    const token = this.tokens[this.#next++];
    if (!token) throw new BandMathError('ends before it is complete');
    if ('number' in token) return this.#node({ number: token.number });
    if ('name' in token) return this.#named(token.name);
    if (token.sign === '(') {
      const inner = this.#binary(0);
      this.#expect(')');
      return inner;
    }
    this.#next--;
    throw new BandMathError(`${this.#here()} is not expected`);
  }

  #named(name: string): BandExpression {
    const band = /^b(\d{1,4})$/i.exec(name)?.[1];
    if (band !== undefined) return this.#node({ band: Number(band) });
    const start = name.slice(0, 40);
    if (!Object.hasOwn(BAND_FUNCTIONS, name))
      throw new BandMathError(`'${start}' is neither a band (b1, b2 ...) nor a function`);
    this.#expect('(');
    const args = [this.#binary(0)];
    while (this.#sign([','])) args.push(this.#binary(0));
    this.#expect(')');
    const [least, most] = BAND_FUNCTIONS[name as BandFunction];
    if (args.length < least || args.length > most)
      throw new BandMathError(`${start} takes ${least === most ? least : `${least} to ${most}`} arguments`);
    return this.#call(name as BandFunction, args);
  }

  #call(call: BandOperator | BandFunction, of: BandExpression[]): BandExpression {
    return this.#node({ call, of });
  }

  #node(node: BandExpression): BandExpression {
    if (--this.budget.nodes < 0)
      throw new BandMathError(`has more than ${RASTER_LIMITS.expressionNodes} parts`);
    return node;
  }

  #deeper<T>(read: () => T): T {
    if (++this.#depth > RASTER_LIMITS.expressionDepth)
      throw new BandMathError(`is nested deeper than ${RASTER_LIMITS.expressionDepth} levels`);
    const result = read();
    this.#depth--;
    return result;
  }

  /** Takes the next token when it is one of these signs. */
  #sign<T extends string>(signs: readonly T[]): T | undefined {
    const token = this.tokens[this.#next];
    const operator = token && 'sign' in token ? signs.find((sign) => sign === token.sign) : undefined;
    if (operator !== undefined) this.#next++;
    return operator;
  }

  #expect(sign: string): void {
    if (!this.#sign([sign])) throw new BandMathError(`${this.#here()}: '${sign}' is expected`);
  }

  #here(): string {
    const token = this.tokens[this.#next];
    if (!token) return 'its end';
    return `'${'number' in token ? token.number : 'name' in token ? token.name.slice(0, 40) : token.sign}'`;
  }
}
