/** The operators of CQL2 as the JSON encoding names them, with the number of their operands. */

export const COMPARISONS = ['=', '<>', '<', '>', '<=', '>='] as const;
export const ARITHMETIC = ['+', '-', '*', '/', '%', 'div', '^'] as const;

/** Spatial operators. `s_dwithin` and `s_beyond` are extensions with a distance in metres as third operand. */
export const SPATIAL = [
  's_intersects',
  's_equals',
  's_disjoint',
  's_touches',
  's_within',
  's_overlaps',
  's_crosses',
  's_contains',
] as const;
export const DISTANCE = ['s_dwithin', 's_beyond'] as const;

/** Those that compare instants as well as intervals. */
export const TEMPORAL_INSTANT = ['t_after', 't_before', 't_disjoint', 't_equals', 't_intersects'] as const;
export const TEMPORAL = [
  ...TEMPORAL_INSTANT,
  't_contains',
  't_during',
  't_finishedBy',
  't_finishes',
  't_meets',
  't_metBy',
  't_overlappedBy',
  't_overlaps',
  't_startedBy',
  't_starts',
] as const;
export const ARRAY = ['a_equals', 'a_contains', 'a_containedBy', 'a_overlaps'] as const;

/** Minimum and maximum number of operands. */
type Arity = readonly [min: number, max: number];

const arities = (names: readonly string[], min: number, max = min) =>
  names.map((name): [string, Arity] => [name, [min, max]]);

const OPERATORS = new Map<string, Arity>([
  ...arities(['and', 'or'], 2, Number.POSITIVE_INFINITY),
  ...arities(['not', 'isNull', 'casei', 'accenti'], 1),
  ...arities([...COMPARISONS, 'like', 'in', ...ARITHMETIC, ...SPATIAL, ...TEMPORAL, ...ARRAY], 2),
  ...arities(['between', ...DISTANCE], 3),
]);

const BY_LOWER_CASE = new Map([...OPERATORS.keys()].map((name) => [name.toLowerCase(), name]));

/** The operator of that name, however its letters are cased. */
export function operatorNamed(name: string): string | undefined {
  return BY_LOWER_CASE.get(name.toLowerCase());
}

/** Returns the arity of an operator; undefined for functions. */
export function findArity(operator: string): Arity | undefined {
  return OPERATORS.get(operator);
}

export const isAmong = <T extends string>(names: readonly T[], name: string): name is T =>
  (names as readonly string[]).includes(name);

/** Words that must be quoted as property names. */
export const RESERVED = new Set([
  'and',
  'or',
  'not',
  'like',
  'between',
  'in',
  'is',
  'null',
  'true',
  'false',
  'div',
]);

/** Words that start a literal if a parenthesis follows. They are quoted when printed, as the standard requires. */
export const CONSTRUCTORS = new Set([
  'date',
  'timestamp',
  'interval',
  'bbox',
  'point',
  'linestring',
  'polygon',
  'multipoint',
  'multilinestring',
  'multipolygon',
  'geometrycollection',
]);
