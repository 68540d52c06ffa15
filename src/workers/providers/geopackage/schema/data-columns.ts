import type { Field } from '../../../../core/sources/vector-source.js';
import { exactInteger, readNumber } from '../../../../core/values/exact-number.js';
import type Database from '../../../../native/sqlite.js';

/** Column description of the GeoPackage schema extension (OGC 12-128r18, F.9): names, meanings, values. */

interface DataColumn {
  column_name: string;
  title: string | null;
  description: string | null;
  constraint_name: string | null;
}

interface Constraint {
  constraint_type: string;
  value: string | null;
  min: number | bigint | null;
  max: number | bigint | null;
}

/**
 * Returns the fields with the additions of `gpkg_data_columns`. Unchanged if the file has no such table, or an
 * invalid one.
 */
export function addFieldDescriptions(
  db: Database.Database,
  table: string,
  fields: readonly Field[],
): Field[] {
  try {
    const columns = db
      .prepare(
        'SELECT column_name, title, description, constraint_name FROM gpkg_data_columns WHERE table_name = ?',
      )
      .all(table) as DataColumn[];
    return fields.map((field) => {
      const column = columns.find(({ column_name }) => column_name === field.name);
      return column ? { ...field, ...buildParts(db, field, column) } : field;
    });
  } catch {
    return [...fields];
  }
}

function buildParts(db: Database.Database, field: Field, column: DataColumn): Partial<Field> {
  const { title, description, constraint_name } = column;
  return {
    ...(title ? { title } : {}),
    ...(description ? { description } : {}),
    ...(constraint_name ? buildValues(db, field, constraint_name) : {}),
  };
}

function buildValues(db: Database.Database, { type }: Field, name: string): Partial<Field> {
  const rows = db
    .prepare(
      'SELECT constraint_type, value, min, max FROM gpkg_data_column_constraints WHERE constraint_name = ?',
    )
    .safeIntegers()
    .all(name) as Constraint[];
  const range = rows.find(({ constraint_type }) => constraint_type === 'range');
  if (range) return { range: [readBound(range.min), readBound(range.max)] };
  const values = rows.filter(({ constraint_type, value }) => constraint_type === 'enum' && value !== null);
  if (values.length === 0) return {};
  const numeric = type === 'integer' || type === 'number';
  return { enumeration: values.map(({ value }) => (numeric ? (readNumber(value!) ?? value!) : value!)) };
}

const readBound = (bound: number | bigint | null) =>
  typeof bound === 'bigint' ? exactInteger(bound) : bound;
