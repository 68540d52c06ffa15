/** Evaluates band math over blocks of pixels, without ever making code of it. */

import type { BandExpression, BandFunction, BandOperator } from '../../../core/rasters/band-math/ast.js';

/** Number of pixels that are computed together: the blocks of an expression stay in the processor's cache. */
export const BLOCK = 2048;

/**
 * Values of the bands, by band number. All arrays have the same type, because V8 reads mixed types at a tenth of the
 * speed.
 */
export type BandValues = ReadonlyMap<number, Float32Array>;

/** The values of `count` pixels from `from` on, at most `BLOCK`. They are overwritten by the next call. */
export type Evaluate = (
  bands: BandValues | ReadonlyMap<number, Float64Array>,
  from: number,
  count: number,
) => Float64Array;

type Block = Float64Array;

/** Operators with a separate loop. */
const BINARY: Readonly<Partial<Record<string, (a: Block, b: Block, out: Block, n: number) => void>>> = {
  '+': (a, b, out, n) => {
    for (let i = 0; i < n; i++) out[i] = a[i]! + b[i]!;
  },
  '-': (a, b, out, n) => {
    for (let i = 0; i < n; i++) out[i] = a[i]! - b[i]!;
  },
  '*': (a, b, out, n) => {
    for (let i = 0; i < n; i++) out[i] = a[i]! * b[i]!;
  },
  '/': (a, b, out, n) => {
    for (let i = 0; i < n; i++) out[i] = a[i]! / b[i]!;
  },
  '<': (a, b, out, n) => {
    for (let i = 0; i < n; i++) out[i] = a[i]! < b[i]! ? 1 : 0;
  },
  '<=': (a, b, out, n) => {
    for (let i = 0; i < n; i++) out[i] = a[i]! <= b[i]! ? 1 : 0;
  },
  '>': (a, b, out, n) => {
    for (let i = 0; i < n; i++) out[i] = a[i]! > b[i]! ? 1 : 0;
  },
  '>=': (a, b, out, n) => {
    for (let i = 0; i < n; i++) out[i] = a[i]! >= b[i]! ? 1 : 0;
  },
};

/** All other operators and functions, applied to single numbers with the results of numpy. */
const SCALAR: Readonly<Partial<Record<BandOperator | BandFunction, (...of: number[]) => number>>> = {
  '%': (a, b) => a! - Math.floor(a! / b!) * b!,
  '**': (a, b) => a! ** b!,
  '==': (a, b) => (a === b ? 1 : 0),
  '!=': (a, b) => (a !== b ? 1 : 0),
  '&': (a, b) => (a !== 0 && b !== 0 ? 1 : 0),
  '|': (a, b) => (a !== 0 || b !== 0 ? 1 : 0),
  '~': (a) => (a === 0 ? 1 : 0),
  negate: (a) => -a!,
  abs: Math.abs as (a?: number) => number,
  sqrt: Math.sqrt as (a?: number) => number,
  exp: Math.exp as (a?: number) => number,
  log: Math.log as (a?: number) => number,
  log10: Math.log10 as (a?: number) => number,
  log2: Math.log2 as (a?: number) => number,
  log1p: Math.log1p as (a?: number) => number,
  expm1: Math.expm1 as (a?: number) => number,
  sin: Math.sin as (a?: number) => number,
  cos: Math.cos as (a?: number) => number,
  tan: Math.tan as (a?: number) => number,
  arcsin: Math.asin as (a?: number) => number,
  arccos: Math.acos as (a?: number) => number,
  arctan: Math.atan as (a?: number) => number,
  arctan2: Math.atan2 as (a?: number, b?: number) => number,
  sinh: Math.sinh as (a?: number) => number,
  cosh: Math.cosh as (a?: number) => number,
  tanh: Math.tanh as (a?: number) => number,
  floor: Math.floor as (a?: number) => number,
  ceil: Math.ceil as (a?: number) => number,
  round: halfToEven as (a?: number) => number,
  sign: Math.sign as (a?: number) => number,
  min: Math.min,
  max: Math.max,
  clip: (a, low, high) => Math.min(Math.max(a!, low!), high!),
  where: (condition, yes, no) => (condition !== 0 ? yes! : no!),
};

function halfToEven(value: number): number {
  const down = Math.floor(value);
  const part = value - down;
  if (part !== 0.5) return Math.round(value);
  return down % 2 === 0 ? down : down + 1;
}

/** Compiles an expression to a function with its own memory. Do not use it in two places at the same time. */
export function compile(node: BandExpression): Evaluate {
  if ('number' in node) {
    const constant = new Float64Array(BLOCK).fill(node.number);
    return () => constant;
  }
  if ('band' in node) return band(node.band);
  const of = node.of.map(compile);
  const out = new Float64Array(BLOCK);
  const binary = BINARY[node.call];
  if (binary) return pair(of, binary, out);
  return scalar(of, SCALAR[node.call]!, out);
}

function band(number: number): Evaluate {
  const out = new Float64Array(BLOCK);
  return (bands, from, count) => {
    const values = bands.get(number)!;
    for (let i = 0; i < count; i++) out[i] = values[from + i]!;
    return out;
  };
}

function pair(
  [left, right]: Evaluate[],
  work: (a: Block, b: Block, out: Block, n: number) => void,
  out: Block,
): Evaluate {
  return (bands, from, count) => {
    work(left!(bands, from, count), right!(bands, from, count), out, count);
    return out;
  };
}

function scalar(of: Evaluate[], work: (...of: number[]) => number, out: Block): Evaluate {
  const [first, second, third] = of;
  if (of.length === 1)
    return (bands, from, count) => {
      const a = first!(bands, from, count);
      for (let i = 0; i < count; i++) out[i] = work(a[i]!);
      return out;
    };
  if (of.length === 2)
    return (bands, from, count) => {
      const [a, b] = [first!(bands, from, count), second!(bands, from, count)];
      for (let i = 0; i < count; i++) out[i] = work(a[i]!, b[i]!);
      return out;
    };
  if (of.length === 3)
    return (bands, from, count) => {
      const [a, b, c] = [first!(bands, from, count), second!(bands, from, count), third!(bands, from, count)];
      for (let i = 0; i < count; i++) out[i] = work(a[i]!, b[i]!, c[i]!);
      return out;
    };
  return (bands, from, count) => {
    const blocks = of.map((one) => one(bands, from, count));
    for (let i = 0; i < count; i++) out[i] = work(...blocks.map((block) => block[i]!));
    return out;
  };
}
