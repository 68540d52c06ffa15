import type { PostgisSource } from '../../../core/vector-source.js';

/** Quotes an SQL identifier. */
export function quote(identifier: string): string {
  return `"${identifier.replace(/"/g, '""')}"`;
}

/** A column of the source's row. In every statement the table is called `t`. */
export function column(name: string): string {
  return `t.${quote(name)}`;
}

/** The table of a source with its schema, called `t`. */
export function tableOf(source: PostgisSource): string {
  return `${quote(source.schema)}.${quote(source.table)} t`;
}

/** The geometry of a row as PostGIS `geometry`, in the source's CRS. An index on the column serves it. */
export function geometryOf(source: PostgisSource): string {
  const geometry = column(source.geometryColumn);
  return source.geography ? `${geometry}::geometry` : geometry;
}
