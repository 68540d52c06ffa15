import { Untranslatable } from './export/untranslatable.js';
import { between } from './functions.js';
import type { SldContext } from './import/context.js';
import { asNumber, elements, findChild, type XmlElement } from './import/xml.js';
import { like } from './like.js';
import { shortenName } from './report.js';
import { isSpatial, spatial } from './spatial.js';
import { converted, type Expr, type SldExpression } from './values.js';

const COMPARISONS: ReadonlyMap<string, string> = new Map([
  ['PropertyIsEqualTo', '=='],
  ['PropertyIsNotEqualTo', '!='],
  ['PropertyIsLessThan', '<'],
  ['PropertyIsLessThanOrEqualTo', '<='],
  ['PropertyIsGreaterThan', '>'],
  ['PropertyIsGreaterThanOrEqualTo', '>='],
]);
const IDENTIFIERS = new Set(['FeatureId', 'GmlObjectId', 'ResourceId']);

/** The condition of an `ogc:Filter` (Filter Encoding 1.0 to 2.0). @throws Untranslatable */
export function parseSldFilter(filter: XmlElement, context: SldContext): Expr {
  const parts = elements(filter);
  if (parts.length === 0) throw new Untranslatable('Filter', 'The filter is empty.');
  if (parts.every(({ name }) => IDENTIFIERS.has(name))) return identifiers(parts);
  if (parts.length > 1) throw new Untranslatable('Filter', 'The filter holds more than one condition.');
  return condition(parts[0]!, context);
}

function condition(node: XmlElement, context: SldContext): Expr {
  const { name } = node;
  const operator = COMPARISONS.get(name);
  if (operator !== undefined) return comparison(operator, node, context);
  switch (name) {
    case 'And':
      return ['all', ...elements(node).map((part) => condition(part, context))];
    case 'Or':
      return ['any', ...elements(node).map((part) => condition(part, context))];
    case 'Not':
      return negated(node, context);
    case 'PropertyIsBetween':
      return parseBetween(node, context);
    case 'PropertyIsLike':
      return like(node, context);
    case 'PropertyIsNull':
    case 'PropertyIsNil':
      return ['==', context.expression(parseOperands(node, 1)[0]!, 'any'), null];
    case 'Filter':
      return parseSldFilter(node, context);
    default:
      if (IDENTIFIERS.has(name)) return identifiers([node]);
      if (isSpatial(name)) return spatial(node, context);
      // Programs write functions that are conditions themselves.
      return context.expression(node, 'boolean');
  }
}

function negated(node: XmlElement, context: SldContext): Expr {
  const [inner] = parseOperands(node, 1);
  if (inner!.name === 'PropertyIsNull') {
    return ['!=', context.expression(parseOperands(inner!, 1)[0]!, 'any'), null];
  }
  return ['!', condition(inner!, context)];
}

function parseOperands(node: XmlElement, count: number): XmlElement[] {
  const operands = elements(node);
  if (operands.length === count) return operands;
  throw new Untranslatable(node.name, `${node.name} takes ${count} operand${count === 1 ? '' : 's'}.`);
}

function comparison(operator: string, node: XmlElement, context: SldContext): Expr {
  const [a, b] = parseOperands(node, 2).map((operand) => context.typed(operand)) as [
    SldExpression,
    SldExpression,
  ];
  if (/^false$/i.test(node.attributes['matchCase'] ?? '') && (isText(a, b) || isText(b, a))) {
    return [operator, downcased(a), downcased(b)];
  }
  if (a.kind === 'unknown' && b.kind === 'literal') return withUnknown(operator, a.expr, b.text);
  if (b.kind === 'unknown' && a.kind === 'literal') return withUnknown(MIRRORED[operator]!, b.expr, a.text);
  return [operator, against(a, b), against(b, a)];
}

const MIRRORED: Readonly<Record<string, string>> = {
  '==': '==',
  '!=': '!=',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
};

function isText(value: SldExpression, other: SldExpression): boolean {
  return (
    value.kind === 'string' ||
    (value.kind !== 'number' && other.kind === 'literal' && asNumber(other.text) === undefined)
  );
}

function downcased(value: SldExpression): Expr {
  const text = converted(value, 'string');
  return typeof text === 'string' ? text.toLowerCase() : ['downcase', text];
}

/** Comparison with a value of unknown type: text that can be parsed as a number matches both. */
function withUnknown(operator: string, value: Expr, text: string): Expr {
  const number = asNumber(text);
  if (number === undefined) return [operator, value, /^(?:true|false)$/.test(text) ? text === 'true' : text];
  if (operator === '==') return ['in', value, ['literal', [number, text]]];
  if (operator === '!=') return ['!', ['in', value, ['literal', [number, text]]]];
  return [operator, value, number];
}

/** A literal gets the type of the other operand. */
function against(value: SldExpression, other: SldExpression): Expr {
  if (value.kind !== 'literal') return value.expr;
  if (other.kind === 'literal' || other.kind === 'unknown' || other.kind === 'color')
    return converted(value, 'any');
  if (other.kind === 'number' && asNumber(value.text) === undefined) {
    throw new Untranslatable('Literal', `A number is compared with ${shortenName(value.text, 40)}.`);
  }
  return converted(value, other.kind);
}

function parseBetween(node: XmlElement, context: SldContext): Expr {
  const value = elements(node).find(({ name }) => name !== 'LowerBoundary' && name !== 'UpperBoundary');
  const bounds = ['LowerBoundary', 'UpperBoundary'].map((name) => findChild(node, name));
  const [low, high] = bounds.map((bound) => bound && (elements(bound)[0] ?? { ...bound, name: 'Literal' }));
  if (!value || !low || !high) throw new Untranslatable(node.name, 'It takes a value and two boundaries.');
  const of = context.typed(value);
  const [from, to] = [low, high].map((bound) => against(context.typed(bound), of));
  if (of.kind === 'literal') throw new Untranslatable(node.name, 'A constant is between no boundaries.');
  return Array.isArray(of.expr) && of.expr[0] === 'get'
    ? ['all', ['>=', of.expr, from!], ['<=', of.expr, to!]]
    : between(of.expr, from!, to!);
}

/** Programs put the name of the layer before the identifier: `roads.7`. */
function identifiers(nodes: readonly XmlElement[]): Expr {
  const ids = nodes.map(({ attributes }) => {
    const id = attributes['fid'] ?? attributes['rid'] ?? attributes['id'] ?? '';
    const last = id.slice(id.lastIndexOf('.') + 1);
    return /^\d{1,15}$/.test(last) ? Number(last) : id;
  });
  return ['in', ['id'], ['literal', ids]];
}
