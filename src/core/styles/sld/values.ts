import { parseSldColor } from './color.js';
import { Untranslatable } from './export/untranslatable.js';
import { asNumber } from './import/xml.js';
import { shortenName } from './report.js';

/** A value of a style: a constant or an expression of the MapLibre style specification. */
export type Expr = string | number | boolean | null | readonly Expr[] | { readonly [name: string]: unknown };

export type SldValueKind = 'number' | 'string' | 'boolean' | 'color' | 'unknown';

/** Required type of a value; `any` derives the type of a literal from its text. */
export type TargetKind = Exclude<SldValueKind, 'unknown'> | 'any';

/** Expression with its type. The type of a literal is determined by its use. */
export type SldExpression =
  | { readonly kind: SldValueKind; readonly expr: Expr }
  | { readonly kind: 'literal'; readonly text: string };

/** @throws Untranslatable */
export function converted(value: SldExpression, target: TargetKind): Expr {
  if (value.kind === 'literal') return literalAs(value.text, target);
  const { kind, expr } = value;
  if (target === 'any' || kind === target) return expr;
  if (target === 'string') return ['to-string', expr];
  if (target === 'color') return ['to-color', expr];
  if (target === 'boolean') return ['to-boolean', expr];
  // A value of unknown type is unchanged: if it is not a number, the property gets its default.
  return kind === 'unknown' ? expr : ['to-number', expr];
}

/** @throws Untranslatable */
export function literalAs(text: string, target: TargetKind): Expr {
  switch (target) {
    case 'string':
      return text;
    case 'boolean':
      return /^(?:true|1)$/i.test(text);
    case 'color':
      return parseSldColor(text);
    case 'any':
      return asNumber(text) ?? text;
    case 'number': {
      const value = asNumber(text);
      if (value === undefined) throw new Untranslatable('Literal', `${shortenName(text)} is not a number.`);
      return value;
    }
  }
}

/** True when a value depends on neither the feature nor the zoom. */
export function isConstant(value: Expr | undefined): value is string | number | boolean | null | undefined {
  return typeof value !== 'object' || value === null;
}
