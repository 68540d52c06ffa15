import { describe, expect, it } from 'vitest';
import { check, parseText } from '../../../src/core/cql2/index.js';
import { print } from '../../../src/core/cql2/print.js';
import {
  CLAUSE_OPERATORS,
  type Clause,
  ClauseProblem,
  type ClauseType,
  clauseExpression,
  combineClauses,
  listClauseOperators,
  valueCount,
} from '../../../src/core/features/filter-clauses.js';

const written = (clause: Clause, type: ClauseType) => print(clauseExpression(clause, type));

describe('a clause', () => {
  it.each<[Clause, ClauseType, string]>([
    [{ field: 'name', op: '=', values: ["O'Brien"] }, 'string', "name = 'O''Brien'"],
    [{ field: 'a "b" c', op: '=', values: ['x'] }, 'string', `"a ""b"" c" = 'x'`],
    [{ field: 'in', op: '<', values: ['1e3'] }, 'integer', '"in" < 1000'],
    [{ field: 'date', op: '>=', values: ['2020-02-29'] }, 'date', `"date" >= DATE('2020-02-29')`],
    [
      { field: 't', op: '=', values: ['2020-02-29T10:30'] },
      'date-time',
      "t = TIMESTAMP('2020-02-29T10:30:00Z')",
    ],
    [{ field: 'x', op: 'between', values: ['-1', '2.5'] }, 'number', 'x BETWEEN -1 AND 2.5'],
    [{ field: 'x', op: 'range', values: ['0', '10'] }, 'number', 'x >= 0 AND x < 10'],
    [{ field: 's', op: 'contains', values: ['50%_\\'] }, 'string', "s LIKE '%50\\\\%\\\\_\\\\\\\\%'"],
    [{ field: 's', op: 'starts', values: ['a'], casei: true }, 'string', "CASEI(s) LIKE CASEI('a%')"],
    [{ field: 's', op: 'like', values: ['a%'] }, 'string', "s LIKE 'a%'"],
    [
      { field: 's', op: 'in', values: ['a', 'b'], casei: true },
      'string',
      "CASEI(s) IN (CASEI('a'), CASEI('b'))",
    ],
    [{ field: 'b', op: '=', values: ['false'] }, 'boolean', 'b = FALSE'],
    [{ field: 's', op: 'isNull', values: [] }, 'string', 's IS NULL'],
    [{ field: 's', op: 'isNotNull', values: [] }, 'json', 's IS NOT NULL'],
    [
      { field: 'geom', op: 'box', values: ['170', '-10', '-170', '10'] },
      'geometry',
      'S_INTERSECTS(geom, BBOX(170, -10, -170, 10))',
    ],
  ])('%j of type %s is %s, which reads back as itself', (clause, type, text) => {
    expect(written(clause, type)).toBe(text);
    expect(parseText(text)).toEqual(clauseExpression(clause, type));
  });

  it.each<[Clause, ClauseType]>([
    [{ field: 'x', op: '=', values: [''] }, 'integer'],
    [{ field: 'x', op: '=', values: ['one'] }, 'number'],
    [{ field: 'd', op: '=', values: ['2020-13-01'] }, 'date'],
    [{ field: 'd', op: '=', values: ['yesterday'] }, 'date-time'],
    [{ field: 's', op: 'contains', values: [''] }, 'string'],
    [{ field: 's', op: 'in', values: [] }, 'string'],
    [{ field: 'g', op: 'box', values: ['0', '10', '0', '-10'] }, 'geometry'],
    [{ field: 'g', op: 'box', values: ['0', '0', '200', '10'] }, 'geometry'],
  ])('%j of type %s is refused in words', (clause, type) => {
    expect(() => clauseExpression(clause, type)).toThrow(ClauseProblem);
  });

  it('of each operator that a type offers passes the check of filters', () => {
    const samples: Record<string, string> = {
      string: 'a',
      integer: '1',
      number: '1.5',
      boolean: 'true',
      date: '2020-01-01',
      'date-time': '2020-01-01T00:00:00Z',
    };
    const fields = Object.keys(samples).map((type) => ({ name: type, type: type as never, nullable: true }));
    for (const { name } of fields)
      for (const op of listClauseOperators(name as ClauseType)) {
        const number = valueCount(op);
        const values = Array.from({ length: number === 'many' ? 2 : number }, () => samples[name]!);
        const expression = clauseExpression({ field: name, op, values }, name as ClauseType);
        expect(
          () => check(expression, { fields, idColumn: 'id', geometryColumn: 'geom' } as never),
          `${name} ${op}`,
        ).not.toThrow();
      }
    expect(CLAUSE_OPERATORS).toContain('box');
  });
});

it('clauses are combined by AND or OR, with parentheses where they are needed', () => {
  const clauses: Clause[] = [
    { field: 'x', op: 'range', values: ['0', '1'] },
    { field: 'y', op: '=', values: ['2'] },
  ];
  expect(combineClauses([], () => 'number')).toBeUndefined();
  expect(print(combineClauses(clauses, () => 'number')!)).toBe('(x >= 0 AND x < 1) AND y = 2');
  expect(print(combineClauses(clauses, () => 'number', 'or')!)).toBe('x >= 0 AND x < 1 OR y = 2');
});
