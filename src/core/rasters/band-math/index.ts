export { type BandExpression, listBands } from './ast.js';
export { BandMathError, parseBandMath } from './parse.js';
