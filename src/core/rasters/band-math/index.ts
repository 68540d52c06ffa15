export { type BandExpression, bandsOf } from './ast.js';
export { BandMathError, parseBandMath } from './parse.js';
