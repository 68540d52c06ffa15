import { expect, it } from 'vitest';
import type { Operand } from '../../src/core/cql2/ast.js';
import { bound } from '../../src/core/cql2/bound.js';
import { CQL2_LIMITS } from '../../src/core/cql2/limits.js';

it('a filter may have so many operators and operands, and no more', () => {
  const listOf = (length: number): Operand => ({
    op: 'in',
    args: [{ property: 'a' }, Array.from({ length }, (_, i) => i)],
  });
  // The operator, the property and the list count too.
  const most = CQL2_LIMITS.filterNodes - 3;
  expect(() => bound(listOf(most))).not.toThrow();
  expect(() => bound(listOf(most + 1))).toThrow(`more than ${CQL2_LIMITS.filterNodes} operators`);
});

it('a filter may be so deep, and no deeper', () => {
  const nested = (depth: number): Operand => {
    let operand: Operand = true;
    for (let i = 1; i < depth; i++) operand = { op: 'not', args: [operand] };
    return operand;
  };
  expect(() => bound(nested(CQL2_LIMITS.filterDepth))).not.toThrow();
  expect(() => bound(nested(CQL2_LIMITS.filterDepth + 1))).toThrow(
    `more than ${CQL2_LIMITS.filterDepth} levels`,
  );
});
