import { LAYER_TYPES } from './layer-types.js';
import type { MapStyle } from './model.js';

/** What a style needs from its collection. Computed once per style. */
export interface StyleFacts {
  /** Names among which the attributes are that its expressions read; undefined when they may read any. */
  readonly names: ReadonlySet<string> | undefined;
  /** Maximum distance in pixels by which symbols extend beyond their geometry. */
  readonly reach: number;
}

/** Properties whose numbers are pixels around the geometry. */
const REACHING =
  /^(line-(width|gap-width|offset|blur)|circle-(radius|stroke-width|blur)|heatmap-radius|icon-size)$/;
/** Labels and icons reach further than any number of theirs says. */
const SYMBOL_REACH = 128;
const MAX_REACH = 256;

const factsByStyle = new WeakMap<MapStyle, StyleFacts>();

export function styleFacts(style: MapStyle): StyleFacts {
  let facts = factsByStyle.get(style);
  if (!facts) {
    facts = { names: namesIn(style.layers), reach: computeReach(style) };
    factsByStyle.set(style, facts);
  }
  return facts;
}

/**
 * All strings in the style, and all names in braces inside them. An attribute name is always a literal, unless an
 * expression computes it or reads all properties.
 */
function namesIn(layers: unknown): ReadonlySet<string> | undefined {
  const names = new Set<string>();
  let any = false;
  visit(layers, (part) => {
    if (typeof part === 'string') {
      names.add(part);
      for (const [, name] of part.matchAll(/\{([^{}]+)\}/g)) names.add(name!);
    } else if (Array.isArray(part)) {
      const [operator, name] = part;
      any ||= operator === 'properties' && part.length === 1;
      any ||= (operator === 'get' || operator === 'has') && typeof name !== 'string';
    }
  });
  return any ? undefined : names;
}

function computeReach({ layers }: MapStyle): number {
  let reach = 0;
  for (const layer of layers) {
    if (LAYER_TYPES[layer.type].isMark) reach = Math.max(reach, SYMBOL_REACH);
    let sum = 0;
    for (const [name, value] of Object.entries(layer.paint ?? {})) {
      if (REACHING.test(name)) sum += largestNumber(value);
    }
    reach = Math.max(reach, sum);
  }
  return Math.min(Math.ceil(reach), MAX_REACH);
}

function largestNumber(value: unknown): number {
  let largest = 0;
  visit(value, (part) => {
    if (typeof part === 'number' && Number.isFinite(part)) largest = Math.max(largest, Math.abs(part));
  });
  return largest;
}

/** Calls `use` with every part of a JSON value. */
function visit(value: unknown, use: (part: unknown) => void): void {
  use(value);
  if (typeof value !== 'object' || value === null) return;
  for (const part of Object.values(value)) visit(part, use);
}
