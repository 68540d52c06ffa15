import { type Expression, isCall, isProperty, type Operand } from '../../core/cql2/ast.js';
import { asExpression } from '../../core/cql2/bound.js';
import { SPATIAL } from '../../core/cql2/operators.js';
import type { Box } from '../../core/geometry/box.js';
import type { VectorSource } from '../../core/sources/vector-source.js';
import { describeCrs } from '../../native/index.js';
import { expandBoxOnGlobe, withMargins } from './boxes.js';
import { computeLiteralBoxes, isSpatialLiteral, type SpatialLiteral } from './spatial-literal.js';

/** Top-level conditions of a filter, for which an index can find the candidates. */

/** Returns the conditions that must all be true. */
export function conjuncts(filter: Expression): readonly Expression[] {
  return filter.op === 'and' ? filter.args.flatMap((arg) => conjuncts(asExpression(arg))) : [filter];
}

/** Relations that are true only if the envelopes touch. */
const TOUCHING: ReadonlySet<string> = new Set(SPATIAL.filter((op) => op !== 's_disjoint'));

/** A condition that compares the geometry of the row with a literal: the literal, and how far away it may be. */
export interface Nearby {
  literal: SpatialLiteral;
  /** Absent where they must touch. */
  metres: number | undefined;
}

export function findNearby(source: VectorSource, condition: Expression): Nearby | undefined {
  if (!isCall(condition)) return undefined;
  const { op, args } = condition;
  if (!TOUCHING.has(op) && op !== 's_dwithin') return undefined;
  const [a, b, metres] = args as [Operand, Operand, number | undefined];
  const literal = [a, b].find(isSpatialLiteral);
  const column = [a, b].find(isProperty)?.property === source.geometryColumn;
  return literal && column ? { literal, metres } : undefined;
}

/**
 * Returns boxes in the CRS of the data: the envelopes of all rows that match the condition touch one of them.
 * Undefined if there are no such boxes: on a globe the shortest way between two positions of a line can leave its
 * envelope.
 */
export function findSearchWindows(source: VectorSource, { literal, metres }: Nearby): Box[] | undefined {
  const boxes = computeLiteralBoxes(literal, source);
  if (metres === undefined) return boxes;
  const { isGeographic, metresPerUnit } = describeCrs(source.crs);
  if (!isGeographic)
    return boxes.map((box) => withMargins(box, metres / metresPerUnit, metres / metresPerUnit));
  if (!isPoint(source.geometryType) || !('type' in literal) || !isPoint(literal.type)) return undefined;
  return boxes.flatMap((box) => expandBoxOnGlobe(box, metres / metresPerUnit));
}

const isPoint = (type: string) => type === 'Point' || type === 'MultiPoint';
