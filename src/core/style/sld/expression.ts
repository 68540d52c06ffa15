import { categorize, interpolate, recode } from './classes.js';
import { colorOf } from './color.js';
import { type Expr, type Kind, type SldContext, Untranslatable } from './context.js';
import { callFunction } from './functions.js';
import { shortened } from './report.js';
import { asNumber, elements, textOf, type XmlElement } from './xml.js';

/** The kind that a place wants; `any` takes a literal for what it looks like. */
export type Wanted = Exclude<Kind, 'unknown'> | 'any';

/** An expression and what it gives. Of a literal the text: its kind is that of what it is used with. */
export type Typed =
  | { readonly kind: Kind; readonly expr: Expr }
  | { readonly kind: 'literal'; readonly text: string };

const ARITHMETIC: Readonly<Record<string, string>> = { Add: '+', Sub: '-', Mul: '*', Div: '/' };

/** An element of SE or FES that gives a value. @throws Untranslatable */
export function typed(node: XmlElement, context: SldContext, wanted: Wanted = 'any'): Typed {
  const { name } = node;
  const operator = Object.hasOwn(ARITHMETIC, name) ? ARITHMETIC[name] : undefined;
  if (operator !== undefined) {
    const operands = elements(node).map((operand) => expression(operand, context, 'number'));
    if (operands.length !== 2) throw new Untranslatable(name, `${name} takes two operands.`);
    return { kind: 'number', expr: [operator, ...operands] };
  }
  switch (name) {
    case 'Literal':
      return literal(node, context, wanted);
    case 'PropertyName':
    case 'ValueReference': {
      const written = textOf(node);
      if (written === undefined) throw new Untranslatable(name, 'The name of an attribute is missing.');
      const { name: field, kind } = context.property(written);
      return { kind, expr: ['get', field] };
    }
    case 'Categorize':
      return categorize(node, context, wanted);
    case 'Interpolate':
      return interpolate(node, context, wanted);
    case 'Recode':
      return recode(node, context, wanted);
    case 'Function':
      return callFunction(node.attributes['name'] ?? '', elements(node), context, wanted);
    default:
      return callFunction(name, elements(node), context, wanted);
  }
}

/** As `typed`, converted to what is wanted. @throws Untranslatable */
export function expression(node: XmlElement, context: SldContext, wanted: Wanted): Expr {
  return converted(typed(node, context, wanted), wanted);
}

/** A literal may hold an expression: some programs wrap them so. */
function literal(node: XmlElement, context: SldContext, wanted: Wanted): Typed {
  const [inner] = elements(node);
  return inner ? typed(inner, context, wanted) : { kind: 'literal', text: textOf(node) ?? '' };
}

/** An SE parameter: text, an expression, or a mixture, which is one text. Undefined when it is empty. */
export function parameter(of: XmlElement, context: SldContext, wanted: Wanted): Expr | undefined {
  const parts = of.content.filter((part) => typeof part !== 'string' || part.trim() !== '');
  if (parts.length === 0) return undefined;
  const [only] = parts;
  if (parts.length === 1) {
    return typeof only === 'string' ? literalAs(only!.trim(), wanted) : expression(only!, context, wanted);
  }
  return converted({ kind: 'string', expr: ['concat', ...mixed(of, context)] }, wanted);
}

/** Line breaks and the spaces around them are layout of the author's file, as GeoServer has it. */
function mixed(of: XmlElement, context: SldContext): Expr[] {
  return of.content
    .map((part, i) => {
      if (typeof part !== 'string') return expression(part, context, 'string');
      let text = part.replace(/\s*[\r\n]\s*/g, '');
      if (i === 0) text = text.trimStart();
      return i === of.content.length - 1 ? text.trimEnd() : text;
    })
    .filter((part) => part !== '');
}

/** @throws Untranslatable */
export function converted(value: Typed, wanted: Wanted): Expr {
  if (value.kind === 'literal') return literalAs(value.text, wanted);
  const { kind, expr } = value;
  if (wanted === 'any' || kind === wanted) return expr;
  if (wanted === 'string') return ['to-string', expr];
  if (wanted === 'color') return ['to-color', expr];
  if (wanted === 'boolean') return ['to-boolean', expr];
  // A number of unknown kind stays: what is no number then falls back to the default of its property.
  return kind === 'unknown' ? expr : ['to-number', expr];
}

/** @throws Untranslatable */
export function literalAs(text: string, wanted: Wanted): Expr {
  switch (wanted) {
    case 'string':
      return text;
    case 'boolean':
      return /^(?:true|1)$/i.test(text);
    case 'color':
      return colorOf(text);
    case 'any':
      return asNumber(text) ?? text;
    case 'number': {
      const value = asNumber(text);
      if (value === undefined) throw new Untranslatable('Literal', `${shortened(text)} is not a number.`);
      return value;
    }
  }
}

/** True when a value depends on neither the feature nor the zoom. */
export function isConstant(value: Expr | undefined): value is string | number | boolean | null | undefined {
  return typeof value !== 'object' || value === null;
}
