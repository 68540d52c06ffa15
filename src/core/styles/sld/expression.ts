import { categorize, recode, translateInterpolate } from './classes.js';
import { Untranslatable } from './export/untranslatable.js';
import { callFunction } from './functions.js';
import { SldContext, type SldTarget } from './import/context.js';
import { elements, readTextContent, type XmlElement } from './import/xml.js';
import type { SldReport } from './report.js';
import { converted, type Expr, literalAs, type SldExpression, type TargetKind } from './values.js';

const ARITHMETIC: Readonly<Record<string, string>> = { Add: '+', Sub: '-', Mul: '*', Div: '/' };

/** Creates the state for the translation of SLD expressions to MapLibre expressions: target and report. */
export function sldContext(target: SldTarget, report: SldReport): SldContext {
  return new SldContext(target, report, typed);
}

function typed(node: XmlElement, context: SldContext, target: TargetKind): SldExpression {
  const { name } = node;
  const operator = Object.hasOwn(ARITHMETIC, name) ? ARITHMETIC[name] : undefined;
  if (operator !== undefined) {
    const operands = elements(node).map((operand) => context.expression(operand, 'number'));
    if (operands.length !== 2) throw new Untranslatable(name, `${name} takes two operands.`);
    return { kind: 'number', expr: [operator, ...operands] };
  }
  switch (name) {
    case 'Literal':
      return literal(node, context, target);
    case 'PropertyName':
    case 'ValueReference': {
      const text = readTextContent(node);
      if (text === undefined) throw new Untranslatable(name, 'The name of an attribute is missing.');
      const { name: field, kind } = context.property(text);
      return { kind, expr: ['get', field] };
    }
    case 'Categorize':
      return categorize(node, context, target);
    case 'Interpolate':
      return translateInterpolate(node, context, target);
    case 'Recode':
      return recode(node, context, target);
    case 'Function':
      return callFunction(node.attributes['name'] ?? '', elements(node), context, target);
    default:
      return callFunction(name, elements(node), context, target);
  }
}

/** A literal can contain an expression, because some programs write them so. */
function literal(node: XmlElement, context: SldContext, target: TargetKind): SldExpression {
  const [inner] = elements(node);
  return inner ? context.typed(inner, target) : { kind: 'literal', text: readTextContent(node) ?? '' };
}

/** An SE parameter: text, an expression, or a mixture, which is one text. Undefined when it is empty. */
export function parameter(of: XmlElement, context: SldContext, target: TargetKind): Expr | undefined {
  const parts = of.content.filter((part) => typeof part !== 'string' || part.trim() !== '');
  if (parts.length === 0) return undefined;
  const [only] = parts;
  if (parts.length === 1) {
    return typeof only === 'string' ? literalAs(only!.trim(), target) : context.expression(only!, target);
  }
  return converted({ kind: 'string', expr: ['concat', ...mixed(of, context)] }, target);
}

/** Line breaks and the spaces around them are layout of the author's file, as GeoServer has it. */
function mixed(of: XmlElement, context: SldContext): Expr[] {
  return of.content
    .map((part, i) => {
      if (typeof part !== 'string') return context.expression(part, 'string');
      let text = part.replace(/\s*[\r\n]\s*/g, '');
      if (i === 0) text = text.trimStart();
      return i === of.content.length - 1 ? text.trimEnd() : text;
    })
    .filter((part) => part !== '');
}
