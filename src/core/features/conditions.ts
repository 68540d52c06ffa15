import { type Expression, isArray, isBox, isCall, type Operand } from '../cql2/ast.js';
import { print } from '../cql2/print.js';
import { isExactNumber } from '../values/exact-number.js';
import { type Clause, type ClauseType, combineClauses } from './filter-clauses.js';

/** Conditions of a filter form. */
export interface Conditions {
  readonly clauses: readonly Clause[];
  readonly combination: 'and' | 'or';
}

/** The conditions that make a filter. Undefined for a filter that a form cannot make. */
export function readConditions(filter: Expression): Conditions | undefined {
  const combination = typeof filter === 'object' && filter.op === 'or' ? 'or' : 'and';
  const parts =
    typeof filter === 'object' && (filter.op === 'and' || filter.op === 'or') ? filter.args : [filter];
  const types = new Map<string, ClauseType>();
  const clauses = parts.map((part) => readClause(part, types));
  if (!clauses.every((clause) => clause !== undefined)) return undefined;
  try {
    const made = combineClauses(clauses, (field) => types.get(field) ?? 'string', combination);
    return made !== undefined && print(made) === print(filter) ? { clauses, combination } : undefined;
  } catch {
    return undefined;
  }
}

/** The condition that an operand may be. The caller compares the result. */
function readClause(part: Operand, types: Map<string, ClauseType>): Clause | undefined {
  if (typeof part !== 'object' || !isCall(part)) return undefined;
  const { op, args } = part;
  const [first, ...others] = args;
  if (
    op === 'not' &&
    first !== undefined &&
    typeof first === 'object' &&
    isCall(first) &&
    first.op === 'isNull'
  ) {
    const field = readField(first.args[0]);
    return field && { field: field.name, op: 'isNotNull', values: [] };
  }
  const field = readField(first);
  if (!field) return undefined;
  const { name, casei } = field;
  const fold = casei ? { casei } : {};
  if (op === 'isNull') return { field: name, op, values: [] };
  const [second] = others;
  if (op === 's_intersects' && typeof second === 'object' && !isArray(second) && isBox(second)) {
    types.set(name, 'geometry');
    return { field: name, op: 'box', values: second.bbox.map(String) };
  }
  const literals = op === 'in' && second !== undefined && isArray(second) ? second : others;
  const values = literals.map((literal) => readLiteral(literal, name, types));
  if (!values.every((value) => value !== undefined)) return undefined;
  switch (op) {
    case '=':
    case '<>':
    case '<':
    case '<=':
    case '>':
    case '>=':
    case 'between':
    case 'in':
      return { field: name, op, values, ...fold };
    case 'like':
      return { field: name, ...readPattern(values[0] ?? ''), ...fold };
    default:
      return undefined;
  }
}

/** `%text%` contains the text, `text%` starts with it. */
function readPattern(pattern: string): Pick<Clause, 'op' | 'values'> {
  const [, start, text = '', end] = /^(%?)((?:[^%_\\]|\\.)*)(%?)$/s.exec(pattern) ?? [];
  const plain = text.replace(/\\(.)/gs, '$1');
  if (end === '%' && plain !== '') return { op: start === '%' ? 'contains' : 'starts', values: [plain] };
  return { op: 'like', values: [pattern] };
}

function readField(operand: Operand | undefined): { name: string; casei: boolean } | undefined {
  if (typeof operand !== 'object' || isArray(operand)) return undefined;
  if ('property' in operand) return { name: operand.property, casei: false };
  const inner = isCall(operand) && operand.op === 'casei' ? operand.args[0] : undefined;
  if (typeof inner !== 'object' || isArray(inner) || !('property' in inner)) return undefined;
  return { name: inner.property, casei: true };
}

function readLiteral(operand: Operand, field: string, types: Map<string, ClauseType>): string | undefined {
  const note = (type: ClauseType, text: string) => {
    types.set(field, type);
    return text;
  };
  if (typeof operand === 'string') return note('string', operand);
  if (typeof operand === 'boolean') return note('boolean', String(operand));
  if (typeof operand === 'number' || isExactNumber(operand)) return note('number', String(operand));
  if (typeof operand !== 'object' || isArray(operand)) return undefined;
  if ('date' in operand) return note('date', operand.date);
  if ('timestamp' in operand) return note('date-time', operand.timestamp);
  if (isCall(operand) && operand.op === 'casei') return readLiteral(operand.args[0]!, field, types);
  return undefined;
}
