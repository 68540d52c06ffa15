import { LIMITS } from '../../../../core/kit/limits.js';
import { checkStyle, StyleError } from '../../../../core/styles/check.js';
import type { FileStyle, StyleLayer } from '../../../../core/styles/model.js';
import type { SldTarget } from '../../../../core/styles/sld/import/context.js';
import type { SldDiagnostic } from '../../../../core/styles/sld/report.js';
import type { NamedSld } from '../../../../core/tasks/vector-tasks.js';
import type Database from '../../../../native/sqlite.js';
import { readSld } from '../../../styles/sld.js';

interface StyleRow {
  name: string | null;
  is_default: number | null;
  /** Null where it is too large, or no text. */
  sld: Buffer | null;
}

/**
 * Returns the styles that QGIS stored for a table in the same file. The default style is the first. Never throws for an
 * invalid style.
 */
export function layerStyles(
  db: Database.Database,
  table: string,
  target: Pick<SldTarget, 'geometryType' | 'fields'>,
): FileStyle[] {
  return listRows(db, table).map(({ name, is_default, sld }, i) => {
    const named = { name: name?.trim() || `Style ${i + 1}`, isDefault: is_default === 1 };
    return { ...named, ...translated(sld, target) };
  });
}

/** Table of styles as QGIS creates it. */
const TABLE = `CREATE TABLE IF NOT EXISTS layer_styles (
  id INTEGER PRIMARY KEY AUTOINCREMENT, f_table_catalog TEXT(256), f_table_schema TEXT(256), f_table_name TEXT(256),
  f_geometry_column TEXT(256), styleName TEXT(30), styleQML TEXT, styleSLD TEXT, useAsDefault BOOLEAN,
  description TEXT, owner TEXT(30), ui TEXT(30),
  update_time DATETIME DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')))`;

/**
 * Stores a style of a table under its name and replaces a style of the same name. The style does not become the
 * default.
 */
export function putLayerStyle(db: Database.Database, table: string, { name, sld }: NamedSld): void {
  db.exec(TABLE);
  db.prepare('DELETE FROM layer_styles WHERE f_table_name = ? AND styleName = ?').run(table, name);
  db.prepare(
    `INSERT INTO layer_styles (f_table_catalog, f_table_schema, f_table_name, f_geometry_column, styleName, styleSLD,
      useAsDefault, description)
    SELECT '', '', table_name, column_name, ?, ?, 0, '' FROM gpkg_geometry_columns WHERE table_name = ?`,
  ).run(name, sld, table);
}

/** Assigns the styles of a dropped table to the table that replaced it. */
export function moveLayerStyles(
  db: Database.Database,
  from: string,
  { table, column }: { table: string; column: string },
): void {
  if (!hasTable(db)) return;
  const sql = 'UPDATE layer_styles SET f_table_name = ?, f_geometry_column = ? WHERE f_table_name = ?';
  db.prepare(sql).run(table, column, from);
}

export function removeLayerStyles(db: Database.Database, table: string): void {
  if (hasTable(db)) db.prepare('DELETE FROM layer_styles WHERE f_table_name = ?').run(table);
}

/** A view of that name is not QGIS's. It may have no end, and would be read for each table. */
function hasTable(db: Database.Database): boolean {
  const sql = "SELECT count(*) FROM sqlite_master WHERE name = 'layer_styles' AND type = 'table'";
  return db.prepare(sql).pluck().get() === 1;
}

function listRows(db: Database.Database, table: string): StyleRow[] {
  if (!hasTable(db)) return [];
  try {
    const rows = db.prepare(
      `SELECT substr(CAST(styleName AS TEXT), 1, 200) AS name, useAsDefault = 1 AS is_default,
        CASE WHEN length(CAST(styleSLD AS BLOB)) <= ? THEN CAST(styleSLD AS BLOB) END AS sld
      FROM layer_styles WHERE f_table_name = ? ORDER BY useAsDefault = 1 DESC, id LIMIT ?`,
    );
    return rows.all(LIMITS.sldBytes, table, LIMITS.fileStyles) as StyleRow[];
  } catch {
    // A table of that name with other columns is not QGIS's.
    return [];
  }
}

function translated(
  sld: Buffer | null,
  target: Pick<SldTarget, 'geometryType' | 'fields'>,
): Pick<FileStyle, 'layers' | 'diagnostics'> {
  if (!sld || sld.length === 0) return buildFailure('The file has no SLD of it, or a very large one.');
  try {
    const { layers, diagnostics } = readSld({ xml: sld, target });
    return { layers: drawable(layers), diagnostics };
  } catch (error) {
    return buildFailure(error instanceof StyleError ? error.message : 'It could not be read.');
  }
}

function drawable(layers: readonly StyleLayer[]): readonly StyleLayer[] {
  // The layers name no source yet, so it does not matter which.
  return checkStyle({ version: 8, layers }, { id: 'collection', kind: 'vector' }).layers;
}

function buildFailure(message: string): { layers: []; diagnostics: SldDiagnostic[] } {
  return { layers: [], diagnostics: [{ severity: 'Error', construct: 'layer_styles', message }] };
}
