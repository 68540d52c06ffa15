/** CQL2 (OGC 21-065r2): the one filter language of the server. */
export type * from './ast.js';
export { and, bboxFilter, equals, oneOf, temporalFilter } from './build.js';
