import { findFreeName, namesInUse } from './column-names.js';

/** Files of text columns, which have no types. */
export function isCsv(path: string): boolean {
  return /\.[ctp]sv$/i.test(path);
}

/** How a CSV file is read, and the reasons. */
export interface CsvInspection {
  encoding: string;
  encodingReason: string;
  separator: string;
  /** In words; absent when there is no geometry. */
  geometry?: string;
  /** Columns of numbers with decimal commas. */
  commas: string[];
  /** Columns that are texts although most of their values are numbers. */
  texts: CsvTextColumn[];
}

export interface CsvTextColumn {
  column: string;
  /** The first value that is not a number, and its record, counted from 1 after the header line. */
  value: string;
  record: number;
  reason: string;
}

/** Beginnings of texts that spreadsheets take for formulas. */
const FORMULA = /^[=+\-@\t\r]/;

/**
 * The first record of features as CSV: `id`, `geometry` (WKT), then the fields. A field that has one of these names keeps it:
 * the id of the feature is then `feature_id`, and the geometry `geometry_`.
 */
export function csvHeader(
  fields: readonly { readonly name: string }[],
  { guardsFormulas = false }: { guardsFormulas?: boolean | undefined } = {},
): string {
  const taken = namesInUse(fields);
  const id = taken.has('id') ? findFreeName('feature_id', taken) : 'id';
  const names = [id, findFreeName('geometry', taken), ...fields.map(({ name }) => name)];
  const shown = guardsFormulas ? names.map((name) => (FORMULA.test(name) ? `'${name}` : name)) : names;
  return `${shown.map(csvValue).join(',')}\r\n`;
}

/** A record whose texts are not formulas for spreadsheets. */
export function csvRecord(values: readonly (string | number)[]): string {
  const guarded = values.map((value) =>
    typeof value === 'number' ? String(value) : csvValue(FORMULA.test(value) ? `'${value}` : value),
  );
  return `${guarded.join(',')}\r\n`;
}

function csvValue(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}
