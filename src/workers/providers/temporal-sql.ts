import type { TEMPORAL } from '../../core/cql2/operators.js';
import { balanced, type Fragment, raw, sql } from './fragment.js';

/** Start and end of a time span, both included. Undefined: open. The SQL is written again for each use. */
export interface Span {
  start: (() => Fragment) | undefined;
  end: (() => Fragment) | undefined;
}

/** An end of a span as number on a line: open ends are infinitely far away. */
interface Side {
  sql: (() => Fragment) | undefined;
  far: -1 | 1;
}

/** Writes temporal operators as conditions on starts and ends (OGC 21-065r2, 7.9; OWL-Time). */
export function temporalPredicate(op: (typeof TEMPORAL)[number], a: Span, b: Span): Fragment {
  const [s1, e1]: [Side, Side] = [
    { sql: a.start, far: -1 },
    { sql: a.end, far: 1 },
  ];
  const [s2, e2]: [Side, Side] = [
    { sql: b.start, far: -1 },
    { sql: b.end, far: 1 },
  ];
  const all = (...parts: Fragment[]) => balanced(parts, 'AND');
  switch (op) {
    case 't_after':
      return compared(s1, '>', e2);
    case 't_before':
      return compared(e1, '<', s2);
    case 't_disjoint':
      return balanced([compared(e1, '<', s2), compared(s1, '>', e2)], 'OR');
    case 't_intersects':
      return all(compared(e1, '>=', s2), compared(s1, '<=', e2));
    case 't_equals':
      return all(compared(s1, '=', s2), compared(e1, '=', e2));
    case 't_contains':
      return all(compared(s1, '<', s2), compared(e1, '>', e2));
    case 't_during':
      return all(compared(s1, '>', s2), compared(e1, '<', e2));
    case 't_starts':
      return all(compared(s1, '=', s2), compared(e1, '<', e2));
    case 't_startedBy':
      return all(compared(s1, '=', s2), compared(e1, '>', e2));
    case 't_finishes':
      return all(compared(s1, '>', s2), compared(e1, '=', e2));
    case 't_finishedBy':
      return all(compared(s1, '<', s2), compared(e1, '=', e2));
    case 't_meets':
      return compared(e1, '=', s2);
    case 't_metBy':
      return compared(s1, '=', e2);
    case 't_overlaps':
      return all(compared(s1, '<', s2), compared(e1, '>', s2), compared(e1, '<', e2));
    case 't_overlappedBy':
      return all(compared(s1, '>', s2), compared(s1, '<', e2), compared(e1, '>', e2));
  }
}

function compared(a: Side, op: '<' | '<=' | '=' | '>=' | '>', b: Side): Fragment {
  if (a.sql && b.sql) return sql`(${a.sql()} ${op} ${b.sql()})`;
  const [left, right] = [a.sql ? 0 : a.far, b.sql ? 0 : b.far];
  const holds = {
    '<': left < right,
    '<=': left <= right,
    '=': left === right,
    '>=': left >= right,
    '>': left > right,
  };
  return holdsWhenKnown(holds[op], (a.sql ?? b.sql)?.());
}

/** If an end is missing in the data, comparisons with it are unknown, also with an open end. */
function holdsWhenKnown(holds: boolean, end: Fragment | undefined): Fragment {
  const text = holds ? 'TRUE' : 'FALSE';
  return end ? sql`(CASE WHEN ${end} IS NOT NULL THEN ${text} END)` : raw(text);
}
