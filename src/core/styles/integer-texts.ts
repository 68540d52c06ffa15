import type { Expr } from './sld/values.js';

/** Integers that doubles round, in expressions over attributes of vector tiles. */

/** Ends the name of an attribute that has the digits of another one, in maps that the server draws. */
export const DIGITS = '\u0000digits';

/**
 * The two strings that `to-string` can give for an integer: its digits, and the digits of the nearest double, which
 * MapLibre clients use.
 */
export function listIntegerTexts(digits: string): string[] {
  const double = Number(digits);
  const isRounded = /^-?\d{16,19}$/.test(digits) && !Number.isSafeInteger(double);
  return isRounded && String(double) !== digits ? [digits, String(double)] : [digits];
}

/**
 * Whether an expression has a value: as the server reads it, by its digits, or as MapLibre clients do, by its double. Maps of
 * the server take the first alternative only (`readDigits`), because another value can have the digits of the double.
 */
export function equalsTexts(value: Expr, [digits, double]: readonly string[]): Expr {
  const equals: Expr = ['==', value, digits!];
  return double === undefined ? equals : ['any', equals, ['==', value, ['literal', double]]];
}

/** The alternative with all digits, out of what `equalsTexts` wrote for digits that a double cannot represent. */
export function exactAlternative(json: readonly unknown[]): readonly unknown[] | undefined {
  const [operator, exact, rounded] = json;
  if (operator !== 'any' || json.length !== 3 || !Array.isArray(exact) || !Array.isArray(rounded))
    return undefined;
  const [digits, literal] = [exact[2] as unknown, rounded[2] as unknown];
  const isPair = exact[0] === '==' && rounded[0] === '==' && typeof digits === 'string';
  if (!isPair || !Array.isArray(literal) || literal[0] !== 'literal') return undefined;
  const isRounding = literal[1] === digits.replace(/-?\d+/g, (one) => listIntegerTexts(one).at(-1)!);
  return isRounding && JSON.stringify(exact[1]) === JSON.stringify(rounded[1])
    ? (exact as unknown[])
    : undefined;
}

/** JSON of a style in which `to-string` of an attribute takes its digits where there are some, and `equalsTexts` no doubles. */
export function readDigits(json: unknown): unknown {
  if (Array.isArray(json)) {
    const exact = exactAlternative(json);
    if (exact) return readDigits(exact);
    const [operator, of] = json as unknown[];
    const isText = operator === 'to-string' && json.length === 2 && Array.isArray(of);
    const name = isText && of[0] === 'get' && of.length === 2 ? (of[1] as unknown) : undefined;
    if (typeof name === 'string') return ['to-string', ['coalesce', ['get', `${name}${DIGITS}`], of]] as Expr;
    return json.map(readDigits);
  }
  if (typeof json !== 'object' || json === null) return json;
  return Object.fromEntries(Object.entries(json).map(([name, value]) => [name, readDigits(value)]));
}
