/** Binary values of a GeoPackage that GDAL has just written from a draft, in which they are base64 text. */

import type { ExportDraft } from '../../../core/exchange/ogr.js';
import { connect, quote } from '../../providers/geopackage/connection.js';
import { declareColumns } from './staged-times.js';

/** Names of the binary fields of a draft. */
export const binaryFields = ({ fields }: ExportDraft): string[] =>
  fields.flatMap(({ name, type }) => (type === 'binary' ? [name] : []));

/** Turns the text of these columns into bytes. */
export function finishBytes(path: string, table: string, names: readonly string[]): void {
  if (names.length === 0) return;
  const db = connect(path, false);
  try {
    // The file is removed after any failure, and read by other tasks only when it is complete.
    db.pragma('journal_mode = MEMORY');
    db.pragma('synchronous = OFF');
    db.function('bytes_of', { deterministic: true }, (text: unknown) => Buffer.from(String(text), 'base64'));
    for (const name of names) {
      const column = quote(name);
      db.exec(`UPDATE ${quote(table)} SET ${column} = bytes_of(${column}) WHERE typeof(${column}) = 'text'`);
    }
    declareColumns(db, table, names, 'BLOB');
  } finally {
    db.close();
  }
}

/** Returns a sentence about binary fields of a format without a binary type. */
export const noteBytes = (names: readonly string[]): string =>
  `Binary values of ${names.slice(0, 20).join(', ')} are written as base64 text.`;
