import { LRUCache } from 'lru-cache';
import { maskedValue } from '../../../../core/access/field-masks.js';
import type { Field } from '../../../../core/sources/vector-source.js';
import type Database from '../../../../native/sqlite.js';

/**
 * Function that computes masked values within the statement, so that pages and tiles never contain the stored values.
 */

const FUNCTION = 'gr_masked';
const MAX_FIELDS = 1000;
const fields = new LRUCache<string, Pick<Field, 'type' | 'mask'>>({ max: MAX_FIELDS });

/** Adds `gr_masked(value, field)` to a connection; the field is JSON. */
export function addMasks(db: Database.Database): void {
  const options = { deterministic: true, directOnly: true, safeIntegers: true };
  db.function(FUNCTION, options, (value: unknown, field: unknown) =>
    maskedValue(value, parseField(String(field))),
  );
}

function parseField(text: string): Pick<Field, 'type' | 'mask'> {
  let field = fields.get(text);
  if (!field) fields.set(text, (field = JSON.parse(text) as Pick<Field, 'type' | 'mask'>));
  return field;
}

/** SQL for the value that a field shows of a column. */
export function writeMaskedValue(column: string, { type, mask }: Field): string {
  if (!mask) return column;
  return `${FUNCTION}(${column}, '${JSON.stringify({ type, mask })}')`;
}
