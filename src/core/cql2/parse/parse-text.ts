import type { Call, Expression, IntervalEnd, Operand } from '../ast.js';
import { asExpression, bound, checkArity } from '../bound.js';
import { excerpt } from '../error.js';
import { COMPARISONS, isAmong, operatorNamed, RESERVED } from '../operators.js';
import { box, geometry, geometryAhead } from '../wkt.js';
import { Tokens } from './tokens.js';

/**
 * Parses CQL2 text (OGC 21-065r2, annex B). Keywords are case-insensitive. A boolean property is a complete
 * predicate. Time and stack are bounded for any text. Throws `Cql2Error` with positions in characters from 1.
 */
export function parseText(text: string): Expression {
  return asExpression(parseTextOperand(text));
}

/** Reads any operand: a predicate, or something that has another value. */
export function parseTextOperand(text: string): Operand {
  const tokens = new Tokens(text);
  const expression = disjunction(tokens);
  if (tokens.peek().kind !== 'end') tokens.fail('an operator or the end of the filter');
  bound(expression);
  return expression;
}

const call = (op: string, ...args: Operand[]): Call => ({ op, args });

function disjunction(tokens: Tokens): Operand {
  return joined(tokens, 'or', conjunction);
}

function conjunction(tokens: Tokens): Operand {
  return joined(tokens, 'and', negation);
}

function joined(tokens: Tokens, op: 'and' | 'or', rule: (tokens: Tokens) => Operand): Operand {
  const args = [rule(tokens)];
  while (tokens.accept(op)) args.push(rule(tokens));
  return args.length === 1 ? args[0]! : call(op, ...args);
}

function negation(tokens: Tokens): Operand {
  if (!tokens.accept('not')) return predicate(tokens);
  return call(
    'not',
    tokens.nested(() => negation(tokens)),
  );
}

/** Rule `comparisonPredicate`, or a single operand. */
function predicate(tokens: Tokens): Operand {
  const left = sum(tokens);
  const { kind, text } = tokens.peek();
  if (kind === 'symbol' && isAmong(COMPARISONS, text)) {
    tokens.take();
    return call(text, left, sum(tokens));
  }
  if (tokens.accept('is')) {
    const not = tokens.accept('not');
    tokens.expect('null');
    return negated(not, call('isNull', left));
  }
  const not = tokens.accept('not');
  const comparison = range(tokens, left);
  if (!comparison && not) tokens.fail('LIKE, BETWEEN or IN');
  return comparison ? negated(not, comparison) : left;
}

const negated = (not: boolean, predicate: Call) => (not ? call('not', predicate) : predicate);

function range(tokens: Tokens, left: Operand): Call | undefined {
  if (tokens.accept('like')) return call('like', left, sum(tokens));
  if (tokens.accept('between')) {
    const least = sum(tokens);
    tokens.expect('and');
    return call('between', left, least, sum(tokens));
  }
  if (!tokens.accept('in')) return undefined;
  tokens.expect('(');
  // Empty lists are possible in JSON.
  const list = tokens.accept(')') ? [] : tokens.nested(() => tokens.list(() => sum(tokens)));
  return call('in', left, list);
}

const SUMS = ['+', '-'] as const;
const PRODUCTS = ['*', '/', '%', 'div'] as const;

function sum(tokens: Tokens): Operand {
  return chain(tokens, SUMS, product);
}

function product(tokens: Tokens): Operand {
  return chain(tokens, PRODUCTS, power);
}

function chain(tokens: Tokens, operators: readonly string[], rule: (tokens: Tokens) => Operand): Operand {
  let left = rule(tokens);
  for (;;) {
    const op = operators.find((operator) => tokens.accept(operator));
    if (op === undefined) return left;
    left = call(op, left, rule(tokens));
  }
}

function power(tokens: Tokens): Operand {
  const base = factor(tokens);
  return tokens.accept('^') ? call('^', base, factor(tokens)) : base;
}

/**
 * Factor with an optional sign. A sign before a number belongs to it; before another operand it is a multiplication
 * by -1, because CQL2 JSON has no unary minus.
 */
function factor(tokens: Tokens): Operand {
  if (!tokens.sees('-') && !tokens.sees('+')) return operand(tokens);
  if (tokens.peek(1).kind === 'number') return tokens.signedNumber();
  if (!tokens.accept('-')) return tokens.fail('an operand');
  return call('*', -1, operand(tokens));
}

function operand(tokens: Tokens): Operand {
  const { kind, text } = tokens.peek();
  if (kind === 'number') return tokens.number();
  if (kind === 'string') return tokens.take().text;
  if (kind === 'quoted') return { property: tokens.take().text };
  if (kind === 'word') return named(tokens, text);
  if (!tokens.accept('(')) return tokens.fail('an operand');
  return tokens.nested(() => enclosed(tokens));
}

/** An expression in parentheses, or an array: empty or with a comma. The first parenthesis has been taken. */
function enclosed(tokens: Tokens): Operand {
  if (tokens.accept(')')) return [];
  const first = disjunction(tokens);
  if (tokens.accept(')')) return first;
  if (!tokens.accept(',')) return tokens.fail("')'");
  return [first, ...tokens.list(() => element(tokens))];
}

/** Operand of an array operator. Parentheses always contain an array there, also with one member. */
function element(tokens: Tokens): Operand {
  if (!tokens.accept('(')) return disjunction(tokens);
  if (tokens.accept(')')) return [];
  return tokens.nested(() => tokens.list(() => disjunction(tokens)));
}

/**
 * Parses the construct that starts with a word: a keyword literal, a spatial or temporal literal, a function or a
 * property name.
 */
function named(tokens: Tokens, text: string): Operand {
  const word = text.toLowerCase();
  if (word === 'true' || word === 'false') return tokens.take() && word === 'true';
  const type = geometryAhead(tokens);
  if (type) return geometry(tokens, type);
  if (tokens.sees('(', 1)) {
    if (word === 'bbox') return box(tokens);
    if (word === 'date' || word === 'timestamp') return instant(tokens, word);
    if (word === 'interval') return interval(tokens);
    if (!RESERVED.has(word)) return functionCall(tokens, text);
  }
  if (RESERVED.has(word)) return tokens.fail('an operand');
  return { property: tokens.take().text };
}

function instant(tokens: Tokens, word: 'date' | 'timestamp'): Operand {
  tokens.take();
  tokens.expect('(');
  const text = tokens.string(`a ${word} in quotes`);
  tokens.expect(')');
  return word === 'date' ? { date: text } : { timestamp: text };
}

function interval(tokens: Tokens): Operand {
  tokens.take();
  tokens.expect('(');
  const start = intervalEnd(tokens);
  tokens.expect(',');
  const end = intervalEnd(tokens);
  tokens.expect(')');
  return { interval: [start, end] };
}

function intervalEnd(tokens: Tokens): IntervalEnd {
  const { kind } = tokens.peek();
  if (kind !== 'string' && kind !== 'word' && kind !== 'quoted')
    return tokens.fail("a date, a timestamp, '..' or a property name");
  const item = operand(tokens);
  if (typeof item === 'string') return item;
  if (typeof item !== 'object') return tokens.fail('a date or timestamp before this');
  if ('date' in item) return item.date;
  if ('timestamp' in item) return item.timestamp;
  if ('property' in item || 'op' in item) return item;
  return tokens.fail('a date or timestamp before this');
}

function functionCall(tokens: Tokens, text: string): Call {
  const { at } = tokens.take();
  const op = operatorNamed(text) ?? text;
  tokens.expect('(');
  const rule = op.startsWith('a_') ? element : disjunction;
  const args = tokens.accept(')') ? [] : tokens.nested(() => tokens.list(() => rule(tokens)));
  checkArity(op, args.length, { position: at + 1 }, `'${excerpt(text)}' at ${at + 1}`);
  return { op, args };
}
