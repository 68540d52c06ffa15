/** A value of a statement's parameter. Bytes are meant for `bytea` and `geometry` (EWKB or WKB). */
export type SqlValue = string | number | bigint | boolean | Uint8Array | null;

/**
 * The parameters of one statement, `$1`, `$2` ... in the order they were added. Every value travels as text, and the
 * cast that `add` writes gives it its type: no value is ever part of the SQL text.
 */
export class SqlParams {
  readonly #values: (string | null)[] = [];

  /**
   * Adds a value and returns its SQL: `$1::int8`. `type` becomes part of the statement, so it must be a constant of
   * the server or come from the database's catalog (`Field.sqlType`).
   */
  add(value: SqlValue, type: string): string {
    this.#values.push(value === null ? null : formatText(value, type));
    return `$${this.#values.length}::${type}`;
  }

  /** Adds values as `values` of other parameters has them. */
  append(values: readonly (string | null)[]): void {
    this.#values.push(...values);
  }

  get values(): readonly (string | null)[] {
    return this.#values;
  }
}

function formatText(value: Exclude<SqlValue, null>, type: string): string {
  if (!(value instanceof Uint8Array)) return String(value);
  const hex = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex');
  // The text form of a geometry is bare hexadecimal EWKB.
  return type === 'bytea' ? `\\x${hex}` : hex;
}
