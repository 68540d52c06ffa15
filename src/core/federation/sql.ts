import {
  type Expression,
  isArray,
  isCall,
  isDate,
  isNumber,
  isProperty,
  isTimestamp,
  type Operand,
} from '../cql2/ast.js';
import { formatDecimal } from '../values/exact-number.js';

/** A condition as a `where` clause of GeoServices: standardized SQL-92. */
export function printSql({ op, args }: Expression): string {
  const [first, second, third] = args as [Operand, Operand, Operand];
  switch (op) {
    case 'and':
    case 'or':
      return args.map((arg) => `(${printOperand(arg)})`).join(` ${op.toUpperCase()} `);
    case 'not':
      return `NOT (${printOperand(first)})`;
    case 'isNull':
      return `${printOperand(first)} IS NULL`;
    case 'in':
      return `${printOperand(first)} IN (${(second as readonly Operand[]).map(printOperand).join(', ')})`;
    case 'between':
      return `${printOperand(first)} BETWEEN ${printOperand(second)} AND ${printOperand(third)}`;
    case 'like':
      return `${printOperand(first)} LIKE ${printOperand(second)}`;
    default:
      return printComparison(op, first, second);
  }
}

/** Comparisons with times find a second more on both sides, because dates of SQL have no fractions. */
function printComparison(op: string, first: Operand, second: Operand): string {
  if (!isTimestamp(second) && !isDate(second)) return `${printOperand(first)} ${op} ${printOperand(second)}`;
  const column = printOperand(first);
  const [start, end] = isTimestamp(second)
    ? [Date.parse(second.timestamp), Date.parse(second.timestamp)]
    : [Date.parse(`${second.date}T00:00:00Z`), Date.parse(`${second.date}T23:59:59Z`)];
  const from = `TIMESTAMP '${formatSecond(Math.floor(start / 1000))}'`;
  const to = `TIMESTAMP '${formatSecond(Math.ceil(end / 1000))}'`;
  if (op === '=') return `${column} >= ${from} AND ${column} <= ${to}`;
  return op.startsWith('<') ? `${column} <= ${to}` : `${column} >= ${from}`;
}

const formatSecond = (seconds: number): string =>
  new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ');

function printOperand(operand: Operand): string {
  if (typeof operand === 'string') return `'${operand.replaceAll("'", "''")}'`;
  if (isNumber(operand)) return typeof operand === 'number' ? String(operand) : formatDecimal(operand);
  if (typeof operand === 'boolean') return operand ? '1' : '0';
  if (isArray(operand)) return operand.map(printOperand).join(', ');
  if (isCall(operand)) return printSql(operand);
  if (isProperty(operand)) return operand.property;
  throw new Error('the condition has no form in SQL');
}
