/** CQL2 (OGC 21-065r2): the one filter language of the server. */
export type * from './ast.js';
export { ALL_FEATURES, NO_FEATURES, passesAll, passesNone } from './ast.js';
export {
  and,
  bboxFilter,
  combineWithOr,
  equals,
  equalsAny,
  idsFilter,
  rangeFilter,
  temporalFilter,
} from './build.js';
export { type CheckOptions, check, checkOperand } from './check.js';
export { Cql2Error } from './error.js';
export { FUNCTIONS, type OperandKind } from './functions.js';
export { mapOperands } from './map.js';
export { parseJson, parseJsonOperand } from './parse/parse-json.js';
export { parseText, parseTextOperand } from './parse/parse-text.js';
export { literalPattern } from './pattern.js';
export { print, toJson } from './print.js';
