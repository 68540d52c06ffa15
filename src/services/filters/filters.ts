import { plainFields } from '../../core/access/field-masks.js';
import {
  and,
  type CheckOptions,
  Cql2Error,
  check,
  checkOperand,
  type Expression,
  parseJson,
  parseJsonOperand,
  parseText,
  parseTextOperand,
  temporalFilter,
} from '../../core/cql2/index.js';
import { fieldFailure } from '../../core/errors/errors.js';
import type { TimeRange } from '../../core/http/params.js';
import type { Field } from '../../core/sources/vector-source.js';
import { parseJsonText } from '../../core/values/json-bounds.js';

/** Parameters that narrow what is read of a collection, as parts of one CQL2 tree. */

export interface FilterText {
  /** In CQL2 JSON it may have been parsed already, within bounds. */
  text: unknown;
  language: 'cql2-text' | 'cql2-json';
}

/**
 * Parses a filter. `checkFilter` then checks its contents. Throws 400 with the name of `parameter` for an invalid
 * filter.
 */
export function parseFilter(parameter: string, { text, language }: FilterText): Expression {
  return named(parameter, () =>
    language === 'cql2-text' ? parseText(String(text)) : parseJson(getJson(text)),
  );
}

/**
 * Prepares a filter for a store. Throws 400 with the name of `parameter` if it uses fields that the collection lacks.
 */
export function checkFilter(parameter: string, tree: Expression, options: CheckOptions): Expression {
  return named(parameter, () => check(tree, options));
}

/**
 * Prepares a CQL2 expression over a feature for a store, and returns its type. Throws 400 with the name of
 * `parameter` for an invalid expression.
 */
export function parseCql2Value(
  parameter: string,
  { text, language }: FilterText,
  options: CheckOptions,
): ReturnType<typeof checkOperand> {
  return named(parameter, () => {
    const tree = language === 'cql2-text' ? parseTextOperand(String(text)) : parseJsonOperand(getJson(text));
    return checkOperand(tree, options);
  });
}

function named<T>(parameter: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Cql2Error)) throw error;
    throw fieldFailure('invalid-parameter', [{ name: parameter, detail: error.message }], {});
  }
}

function getJson(text: unknown): unknown {
  if (typeof text !== 'string') return text;
  try {
    return parseJsonText(text, 'all');
  } catch (error) {
    throw new Cql2Error(`is not JSON: ${(error as Error).message.slice(0, 120)}`);
  }
}

/** The property that `datetime` selects by: the one that the layer's settings name, else the first one that is an instant. */
export function temporalField({ fields }: { fields: readonly Field[] }): Field | undefined {
  const plain = plainFields(fields);
  return (
    plain.find(({ bound }) => bound === 'start') ??
    plain.find(({ bound }) => bound === 'end') ??
    plain.find(({ type }) => type === 'date' || type === 'date-time')
  );
}

/** A collection without temporal property matches every instant (OGC 17-069r4, 7.15.4). */
export function during(
  collection: { fields: readonly Field[] },
  range: TimeRange | undefined,
): Expression | undefined {
  const field = temporalField(collection);
  if (!range || !field) return undefined;
  const ends = collection.fields.find(({ bound }) => bound === 'end');
  if (!ends || ends === field) return within(field, range);
  // The feature starts before the range ends, and ends after the range starts, or has no end.
  const { start, startMicros, end, endMicros } = range;
  const begun = within(field, { end, endMicros }) ?? hasValue(field);
  const lasts = within(ends, { start, startMicros });
  return and(begun, lasts && { op: 'or', args: [lasts, { op: 'isNull', args: [{ property: ends.name }] }] });
}

const hasValue = ({ name }: Field): Expression => ({
  op: 'not',
  args: [{ op: 'isNull', args: [{ property: name }] }],
});

function within(field: Field, range: Moments): Expression | undefined {
  if (range.start === undefined && range.end === undefined) return undefined;
  const known = Object.entries(range).filter(([, value]) => value !== undefined);
  return temporalFilter(field.name, field.type as 'date' | 'date-time', Object.fromEntries(known));
}

/** A range, or one of its ends. */
type Moments = { readonly [Member in keyof TimeRange]?: TimeRange[Member] | undefined };
