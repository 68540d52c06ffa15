import { noteDatesAsTimes, noteTruncatedNames } from '../../../core/features/value-notes.js';
import type { Field } from '../../../core/sources/vector-source.js';
import type { ExportName } from './formats.js';

/** Bytes of the name of a field in a shapefile. */
const MAX_DBF_NAME = 10;

/**
 * Returns notes about fields that a format cannot represent, whatever their values are. An export job finds other
 * changes only when it reads the values.
 */
export function listFormatNotes(format: ExportName, fields: readonly Field[]): string[] {
  const names = (test: (field: Field) => boolean) => fields.filter(test).map(({ name }) => name);
  switch (format) {
    case 'flatgeobuf':
      return noteDatesAsTimes(names(({ type }) => type === 'date'));
    case 'shapefile':
      return noteTruncatedNames(names(({ name }) => Buffer.byteLength(name) > MAX_DBF_NAME));
    default:
      return [];
  }
}
