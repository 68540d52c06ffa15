/**
 * Filters in requests to a STAC API: as CQL2 if the API supports it, otherwise by the query extension if that can
 * express the filter.
 */

import { type Expression, isCall, isNumber, isProperty, type Operand } from '../../../../core/cql2/ast.js';
import { parseText, toJson } from '../../../../core/cql2/index.js';
import { stringifyExactly } from '../../../../core/values/json.js';
import { refused } from '../../../storage/remote/allowed-hosts.js';
import type { RemoteJson } from '../json.js';

type Conformance = (end: RegExp) => boolean;

/**
 * Returns the parameters of a search, with text values for GET or with JSON values for POST. Fails with
 * `source-unreadable` if the API does not support the filter.
 */
export function filterParameters(filter: string, isPost: boolean, conforms: Conformance): RemoteJson {
  if (conforms(/\bitem-search#filter(:|$)|\/item-search#filter$/))
    // Bodies have filters as CQL2 JSON.
    return isPost
      ? { filter: toJson(parseText(filter)), 'filter-lang': 'cql2-json' }
      : { filter, 'filter-lang': 'cql2-text' };
  if (!conforms(/\/item-search#query$/))
    throw refused('it does not declare filters with CQL2 (item-search#filter) or item-search#query');
  const query = Object.fromEntries(
    [...comparisons(parseText(filter))].map(([name, operators]) => [name, Object.fromEntries(operators)]),
  );
  return { query: isPost ? query : stringifyExactly(query) };
}

/** Operators of the query extension. */
const OPERATORS: Record<string, string> = {
  '=': 'eq',
  '<>': 'neq',
  '<': 'lt',
  '<=': 'lte',
  '>': 'gt',
  '>=': 'gte',
  in: 'in',
};
/** The same comparison from the other side. */
const TURNED: Record<string, string> = { '<': '>', '<=': '>=', '>': '<', '>=': '<=', '=': '=', '<>': '<>' };

type Comparisons = Map<string, Map<string, Operand>>;

/** By property, then by operator. */
function comparisons(tree: Expression, all: Comparisons = new Map()): Comparisons {
  if (tree.op === 'and') {
    for (const part of tree.args) comparisons(isExpression(part) ? part : beyond(), all);
    return all;
  }
  const [left, right] = tree.args;
  const isTurned = right !== undefined && typeof right === 'object' && isProperty(right);
  const [name, value] = isTurned ? [right, left] : [left, right];
  const operator = OPERATORS[isTurned ? (TURNED[tree.op] ?? '') : tree.op];
  if (operator === undefined || typeof name !== 'object' || !isProperty(name) || !isPlain(value, operator))
    throw beyondQuery();
  const operators = all.get(name.property) ?? new Map<string, Operand>();
  if (operators.has(operator)) throw beyondQuery();
  all.set(name.property, operators.set(operator, value));
  return all;
}

const isExpression = (one: Operand): one is Expression => typeof one === 'object' && isCall(one);

function isPlain(value: Operand | undefined, operator: string): value is Operand {
  if (operator !== 'in') return value !== undefined && isTextOrNumber(value);
  return Array.isArray(value) && value.every(isTextOrNumber);
}

const isTextOrNumber = (one: Operand) => typeof one === 'string' || isNumber(one);

const beyondQuery = () =>
  refused('it only supports item-search#query, that is comparisons of properties with values joined by AND');

function beyond(): never {
  throw beyondQuery();
}
