import type { Field, FieldType } from '../sources/vector-source.js';
import {
  isArray,
  isBox,
  isCall,
  isDate,
  isGeometry,
  isInterval,
  isNumber,
  isProperty,
  isTimestamp,
  type Operand,
} from './ast.js';
import { functionNamed, type OperandKind } from './functions.js';
import { ARITHMETIC, isAmong } from './operators.js';

/** Properties of a source that filters use. A `VectorSource` is one. */
export interface FilterSchema {
  readonly fields: readonly Field[];
  readonly idColumn: string;
  /** Type of the ids. Default: integer. */
  readonly idType?: 'integer' | 'string' | 'uuid';
  readonly geometryColumn: string;
}

const KINDS: Record<FieldType, OperandKind> = {
  integer: 'number',
  number: 'number',
  string: 'string',
  boolean: 'boolean',
  date: 'date',
  'date-time': 'timestamp',
  binary: 'binary',
  json: 'json',
  array: 'array',
};

/** Type of a property; undefined for unknown names. */
export function findPropertyKind(name: string, schema: FilterSchema): OperandKind | undefined {
  if (name === schema.geometryColumn) return 'geometry';
  if (name === schema.idColumn) return (schema.idType ?? 'integer') === 'integer' ? 'number' : 'string';
  const field = schema.fields.find((candidate) => candidate.name === name);
  return field && !field.isMasked ? KINDS[field.type] : undefined;
}

/** Type of an operand. Its property or function must exist. */
export function computeOperandKind(operand: Operand, schema: FilterSchema): OperandKind {
  if (typeof operand === 'string') return 'string';
  if (isNumber(operand)) return 'number';
  if (typeof operand === 'boolean') return 'boolean';
  if (isArray(operand)) return 'array';
  if (isCall(operand)) return kindOfCall(operand.op);
  if (isProperty(operand)) return findPropertyKind(operand.property, schema) ?? 'string';
  if (isDate(operand)) return 'date';
  if (isTimestamp(operand)) return 'timestamp';
  if (isInterval(operand)) return 'interval';
  if (isGeometry(operand) || isBox(operand)) return 'geometry';
  return operand satisfies never;
}

function kindOfCall(op: string): OperandKind {
  if (isAmong(ARITHMETIC, op)) return 'number';
  if (op === 'casei' || op === 'accenti') return 'string';
  return functionNamed(op)?.returns ?? 'boolean';
}
