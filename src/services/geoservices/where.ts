import { plainFields } from '../../core/access/field-masks.js';
import { isArray, isCall, isProperty, type Operand } from '../../core/cql2/ast.js';
import {
  type CheckOptions,
  Cql2Error,
  check,
  checkOperand,
  type Expression,
  mapOperands,
  type OperandKind,
  parseText,
  parseTextOperand,
} from '../../core/cql2/index.js';
import { findPropertyKind } from '../../core/cql2/types.js';
import { badParameter } from '../../core/errors/errors.js';

/** Conditions in the SQL of GeoServices, as filters that all APIs use. */

export interface ConditionOptions {
  /** Conversion of operands before they are checked. */
  readonly change?: (operand: Operand) => Operand;
  /** Value of `CURRENT_TIMESTAMP`, in milliseconds since 1970. Without it, `CURRENT_TIMESTAMP` is not supported. */
  readonly now?: number | undefined;
}

/**
 * Parses a condition. Names are case-insensitive, and 0 and 1 represent booleans. Throws 400 with the name of the
 * parameter.
 */
export function parseCondition(
  parameter: string,
  text: string,
  schema: CheckOptions,
  options: ConditionOptions = {},
): Expression {
  return read(parameter, () => {
    const condition = parseText(cql2Of(text, options.now));
    return check(ownNames(condition, schema, options) as Expression, schema);
  });
}

/** Parses an expression over a feature, and returns it with its type. Throws 400 with the name of the parameter. */
export function parseValueExpression(
  parameter: string,
  text: string,
  schema: CheckOptions,
  options: ConditionOptions = {},
): { operand: Operand; kind: OperandKind } {
  return read(parameter, () => {
    const operand = parseTextOperand(cql2Of(text, options.now));
    return checkOperand(ownNames(operand, schema, options), schema);
  });
}

function read<T>(parameter: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof Cql2Error) throw badParameter(parameter, error.message);
    throw error;
  }
}

/** The tree with the names and the booleans of the schema. */
function ownNames(
  tree: Operand,
  schema: CheckOptions,
  { change = (operand) => operand }: ConditionOptions,
): Operand {
  const findName = buildNames(schema);
  const own = (operand: Operand): Operand => {
    const changed = change(operand);
    if (typeof changed !== 'object') return changed;
    if (isProperty(changed)) return { property: findName(changed.property) };
    return isCall(changed) ? { op: changed.op, args: asBooleans(changed.args, schema) } : changed;
  };
  return mapOperands(tree, own);
}

/** Returns the schema name for a name: the same one, or the only one that differs only in case. */
function buildNames({ fields, idColumn, geometryColumn }: CheckOptions): (name: string) => string {
  const names = [...plainFields(fields).map(({ name }) => name), idColumn, geometryColumn];
  return (name) => {
    if (names.includes(name)) return name;
    const alike = names.filter((one) => one.toLowerCase() === name.toLowerCase());
    return alike.length === 1 ? alike[0]! : name;
  };
}

/** 0 and 1 compared with a boolean property, which clients know as a number. */
function asBooleans(args: readonly Operand[], schema: CheckOptions): readonly Operand[] {
  if (!args.some((arg) => typeof arg === 'object' && isProperty(arg) && isBoolean(arg.property, schema)))
    return args;
  const asBoolean = (arg: Operand): Operand => {
    if (isArray(arg)) return arg.map(asBoolean);
    return arg === 0 || arg === 1 ? arg === 1 : arg;
  };
  return args.map(asBoolean);
}

const isBoolean = (name: string, schema: CheckOptions) => findPropertyKind(name, schema) === 'boolean';

/** SQL spells some literals and operators as CQL2 does not. Text in quotes is stepped over. */
const SQL_TOKENS = new RegExp(
  [
    `\\blike\\s*(?:\\bN)?(?<pattern>'(?:[^']|'')*')(?!')\\s*\\bescape\\s*(?<mark>'(?:[^']|'')*')`,
    `\\bN(?<national>'(?:[^']|'')*')`,
    `'(?:[^']|'')*'`,
    `"(?:[^"]|"")*"`,
    '!=',
    `\\b(?<word>date|timestamp)\\s*(?<literal>'(?:[^']|'')*')`,
    `\\bcurrent_(?<now>date|timestamp)\\b(?:\\s*\\(\\s*\\))?(?:\\s*(?<sign>[+-])\\s*(?:interval\\s*'(?<span>[\\d :.]{1,40})'\\s*(?<unit>day|hour|minute|second)(?:\\s+to\\s+second)?|(?<days>\\d{1,6}(?:\\.\\d{1,9})?)))?`,
  ].join('|'),
  'gi',
);

/** The condition in CQL2 text. Text that is neither SQL nor CQL2 is unchanged, and the parser refuses it. */
function cql2Of(where: string, time: number | undefined): string {
  return where.replace(SQL_TOKENS, (token, ...rest) => {
    const groups = rest.at(-1) as Record<string, string | undefined>;
    const { pattern, mark, national, word, literal, now } = groups;
    if (pattern !== undefined && mark !== undefined) return `LIKE ${parsePattern(pattern, mark)}`;
    if (token === '!=') return '<>';
    if (token.startsWith("'")) return quoteString(token);
    if (national !== undefined) return quoteString(national);
    if (word !== undefined && literal !== undefined) return formatLiteral(word, literal);
    return now === undefined || time === undefined ? token : formatNow(time, now, groups);
  });
}

/** A backslash is a character in SQL, and an escape in CQL2. */
const quoteString = (literal: string) => literal.replaceAll('\\', '\\\\');

/** The pattern whose escape is a backslash. */
function parsePattern(literal: string, quotedMark: string): string {
  const splitText = (quoted: string) => Array.from(quoted.slice(1, -1).replaceAll("''", "'"));
  const [mark, ...more] = splitText(quotedMark);
  if (mark === undefined || more.length > 0) throw new Cql2Error('ESCAPE needs one character');
  const characters = splitText(literal);
  let pattern = '';
  for (let i = 0; i < characters.length; i++) {
    const isEscape = characters[i] === mark;
    const character = isEscape ? characters[++i] : characters[i]!;
    if (character === undefined || (isEscape && !['%', '_', mark].includes(character)))
      throw new Cql2Error(`'${mark}' must be followed by '%', '_' or itself`);
    pattern += isEscape || character === '\\' ? `\\${character}` : character;
  }
  return quoteString(`'${pattern.replaceAll("'", "''")}'`);
}

/** `YYYY-MM-DD HH:MM:SS` is UTC. */
function formatLiteral(word: string, literal: string): string {
  const instant = quoteString(literal).replace(/^'(\S+) (\S+?)Z?'$/, "'$1T$2Z'");
  return `${instant.includes('T') ? 'TIMESTAMP' : word.toUpperCase()}(${instant})`;
}

const MILLISECONDS: Readonly<Record<string, number>> = {
  day: 86_400_000,
  hour: 3_600_000,
  minute: 60_000,
  second: 1000,
};

/** The day or the instant that it is now, so much earlier or later. */
function formatNow(
  time: number,
  word: string,
  { sign, span, unit, days }: Record<string, string | undefined>,
): string {
  const length = days === undefined ? parseLength(span ?? '0', unit ?? 'day') : Number(days) * 86_400_000;
  const text = new Date(time + (sign === '-' ? -length : length)).toISOString();
  const isDay = word.toLowerCase() === 'date' && length % 86_400_000 === 0;
  return isDay ? `DATE('${text.split('T')[0]}')` : `TIMESTAMP('${text}')`;
}

/** Milliseconds of `7`, or of `1 12:30:00`, whose first part is of the unit: days, or hours. */
function parseLength(span: string, unit: string): number {
  const milliseconds = MILLISECONDS[unit.toLowerCase()]!;
  const [first = '0', ...others] = span.trim().split(/[ :]+/);
  const units = [milliseconds, ...SMALLER.filter((one) => one < milliseconds)];
  const length = [first, ...others].reduce((sum, part, i) => sum + Number(part) * (units[i] ?? NaN), 0);
  if (!Number.isFinite(length) || length > MAX_SPAN) throw new Cql2Error(`'${span}' is not an interval`);
  return length;
}

const SMALLER = [3_600_000, 60_000, 1000];
/** A thousand years. */
const MAX_SPAN = 1000 * 366 * 86_400_000;
