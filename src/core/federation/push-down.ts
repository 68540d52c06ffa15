import {
  type Expression,
  isArray,
  isCall,
  isDate,
  isInterval,
  isNumber,
  isProperty,
  isScalar,
  isTimestamp,
  type Operand,
} from '../cql2/ast.js';
import { asExpression } from '../cql2/bound.js';
import { ALL_FEATURES, and, passesAll } from '../cql2/index.js';
import type { SortKey } from '../features/features.js';
import type { Box } from '../geometry/box.js';
import type { FederatedAbilities, FederatedSource } from './federated-source.js';

/** Part of a query that a federated source evaluates. The server evaluates the complete filter again. */
export interface PushedQuery {
  /** Ids of the only features that can pass. */
  readonly ids: readonly string[] | undefined;
  /** Box in CRS84 that all features that pass touch. */
  readonly bbox: Box | undefined;
  /** Conditions on attributes, without and with times. */
  readonly attributes: readonly Expression[];
  readonly times: readonly Expression[];
  /** Order of the source's response. Undefined: its own order. */
  readonly order: readonly SortKey[] | undefined;
  /** Whether all features of the response pass. */
  readonly isExact: boolean;
}

/** The box, in CRS84, around the features that can pass a spatial condition. Undefined if there is not exactly one. */
export type FindBox = (source: FederatedSource, condition: Expression) => FoundBox | undefined;

export interface FoundBox {
  readonly box: Box;
  /** Whether the condition is the box itself. */
  readonly isExact: boolean;
}

/** Splits a checked filter and a sort order into what the source evaluates, and the rest. */
export function splitFederatedQuery(
  source: FederatedSource,
  filter: Expression | undefined,
  sort: readonly SortKey[] | undefined,
  findBox: FindBox,
): PushedQuery {
  const { abilities } = source.federation;
  let ids: readonly string[] | undefined;
  const boxes: Box[] = [];
  const attributes: Expression[] = [];
  const times: Expression[] = [];
  let isExact = true;
  for (const condition of listConditions(filter)) {
    const named = findIds(source, condition);
    const found = abilities.spatial.pushedDown && boxes.length === 0 ? findBox(source, condition) : undefined;
    const timed = abilities.temporal.pushedDown ? readTimes(condition, abilities) : undefined;
    if (named && ids === undefined) {
      ids = named;
    } else if (found) {
      boxes.push(found.box);
      isExact &&= found.isExact;
    } else if (timed) {
      times.push(timed);
    } else if (isPushable(condition, abilities)) {
      attributes.push(condition);
    } else {
      isExact = false;
    }
  }
  const canSort = abilities.order.pushedDown && ids === undefined;
  const isSorted = canSort && (sort ?? []).every(({ field }) => isCompared(field, source));
  const order = sort?.length && isSorted ? sort : undefined;
  return { ids, bbox: boxes[0], attributes, times, order, isExact };
}

const isCompared = (field: string, { idColumn, federation }: FederatedSource) =>
  field !== idColumn && federation.abilities.attributes.fields.includes(field);

/** The conditions that must all be true. */
function listConditions(filter: Expression | undefined): readonly Expression[] {
  if (passesAll(filter)) return [];
  const { op, args } = filter!;
  return op === 'and' ? args.flatMap((arg) => listConditions(asExpression(arg))) : [filter!];
}

function findIds({ idColumn }: FederatedSource, { op, args }: Expression): readonly string[] | undefined {
  const [subject, value] = args as [Operand, Operand];
  if (!isProperty(subject) || subject.property !== idColumn) return undefined;
  if (op === '=' && isScalar(value)) return [String(value)];
  if (op !== 'in' || !isArray(value) || !value.every(isScalar)) return undefined;
  return value.map(String);
}

const isTime = (operand: Operand) => isDate(operand) || isTimestamp(operand) || isInterval(operand);

/** Whether a condition compares attributes by operators that the source has. */
function isPushable(condition: Operand, { attributes }: FederatedAbilities): boolean {
  if (!attributes.pushedDown) return false;
  const visit = (operand: Operand): boolean => {
    if (isArray(operand)) return operand.every(visit);
    if (isScalar(operand)) return isNumber(operand) || typeof operand === 'string';
    if (isProperty(operand)) return attributes.fields.includes(operand.property);
    if (!isCall(operand)) return false;
    const [, pattern] = operand.args;
    // SQL of GeoServices has no escapes in patterns.
    if (operand.op === 'like' && !attributes.hasEscapes && String(pattern).includes('\\')) return false;
    return attributes.operators.includes(operand.op) && operand.args.every(visit);
  };
  return isCall(condition) && visit(condition);
}

const BOUNDS: Readonly<Record<string, readonly string[]>> = {
  t_after: ['>'],
  t_before: ['<'],
  t_equals: ['>=', '<='],
  t_intersects: ['>=', '<='],
  t_during: ['>', '<'],
};

/**
 * A condition on times as comparisons of a field with instants, which every source of filters has. Undefined for
 * other conditions.
 */
function readTimes(condition: Expression, { attributes }: FederatedAbilities): Expression | undefined {
  const { op, args } = condition;
  const [subject, value] = args as [Operand, Operand];
  if (!isProperty(subject) || !attributes.fields.includes(subject.property) || !isTime(value))
    return undefined;
  if (!isInterval(value))
    return ['<', '<=', '>', '>=', '='].includes(op)
      ? condition
      : compare(subject, BOUNDS[op] ?? [], value, value);
  const [start, end] = value.interval;
  if (op !== 't_intersects' && op !== 't_during') return undefined;
  if (typeof start !== 'string' || typeof end !== 'string') return undefined;
  const [first, last] = BOUNDS[op] as [string, string];
  const bound = (comparison: string, text: string): Expression | undefined =>
    text === '..' ? undefined : { op: comparison, args: [subject, readInstant(text)] };
  return and(bound(first, start), bound(last, end)) ?? ALL_FEATURES;
}

function compare(
  subject: Operand,
  comparisons: readonly string[],
  start: Operand,
  end: Operand,
): Expression | undefined {
  const parts = comparisons.map((op, i): Expression => ({ op, args: [subject, i === 0 ? start : end] }));
  return parts.length === 0 ? undefined : and(...parts);
}

const readInstant = (text: string): Operand => (text.includes('T') ? { timestamp: text } : { date: text });
