/** Band math: expressions over the bands of a raster, evaluated for each pixel. */

export const BAND_COMPARISONS = ['<', '<=', '>', '>=', '==', '!='] as const;

/** Functions by name, with minimum and maximum number of arguments. */
export const BAND_FUNCTIONS = {
  abs: [1, 1],
  sqrt: [1, 1],
  exp: [1, 1],
  log: [1, 1],
  log10: [1, 1],
  log2: [1, 1],
  log1p: [1, 1],
  expm1: [1, 1],
  sin: [1, 1],
  cos: [1, 1],
  tan: [1, 1],
  arcsin: [1, 1],
  arccos: [1, 1],
  arctan: [1, 1],
  arctan2: [2, 2],
  sinh: [1, 1],
  cosh: [1, 1],
  tanh: [1, 1],
  floor: [1, 1],
  ceil: [1, 1],
  round: [1, 1],
  sign: [1, 1],
  min: [2, 16],
  max: [2, 16],
  clip: [3, 3],
  where: [3, 3],
} as const satisfies Record<string, readonly [least: number, most: number]>;

export type BandFunction = keyof typeof BAND_FUNCTIONS;
export type BandOperator =
  | '+'
  | '-'
  | '*'
  | '/'
  | '%'
  | '**'
  | (typeof BAND_COMPARISONS)[number]
  | '&'
  | '|'
  | 'negate'
  | '~';

/** A node; comparisons and `& | ~` give 1 or 0, and take everything but 0 for true. */
export type BandExpression =
  | { readonly number: number }
  /** 1-based. */
  | { readonly band: number }
  | { readonly call: BandOperator | BandFunction; readonly of: readonly BandExpression[] };

/** The 1-based bands that expressions name, ascending. */
export function listBands(expressions: readonly BandExpression[]): number[] {
  const numbers = new Set<number>();
  const walk = (node: BandExpression): void => {
    if ('band' in node) numbers.add(node.band);
    else if ('call' in node) node.of.forEach(walk);
  };
  expressions.forEach(walk);
  return [...numbers].sort((a, b) => a - b);
}
