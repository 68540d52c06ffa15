import { TaskFailure } from '../../../core/errors/failure.js';
import { around } from '../../../core/geometry/box.js';
import type { GeoPackageSource } from '../../../core/sources/vector-source.js';
import Database from '../../../native/sqlite.js';
import { boxesInSource } from '../boxes.js';
import { buildSceneOptions, findSceneWindow, listSceneFields, type SceneEncoding } from '../scene-options.js';
import { quote, statement } from './connection.js';
import { passingRows } from './queries/filter.js';
import { writeMaskedValue } from './queries/masks.js';
import { quoteIdColumn, quoteIndexTable, quoteRowColumn } from './queries/window.js';

/** A scene tile as one SQL statement: the rtree window, aggregated by `gr_glb`. Or the cells of all rows. */
export function encodeScene(task: SceneEncoding): Uint8Array {
  const source = task.source as GeoPackageSource;
  const fields = listSceneFields(task);
  const row = quoteRowColumn(source);
  const g = `t.${quote(source.geometryColumn)}`;
  const values = fields.map((field) => `, ${writeMaskedValue(`t.${quote(field.name)}`, field)}`).join('');
  const window = findSceneWindow(task);
  const box = window && boxesInSource(source, window, 'EPSG:4326').reduce(around);
  const from = box ? writeWindowRows(source) : `${quote(source.table)} t WHERE true`;
  const passing = task.filter === undefined ? undefined : passingRows(source, task.filter);
  const filtered = passing ? ` AND ${row} IN (${passing.sql})` : '';
  const sql = `SELECT gr_glb(?, ${quoteIdColumn(source)}, ${g}${values}) FROM ${from}${filtered}`;
  const options = JSON.stringify(buildSceneOptions(task, fields));
  try {
    return statement(source.path, sql)
      .pluck()
      .get(
        options,
        ...(box ? [box[2], box[0], box[3], box[1]] : []),
        ...(passing?.values ?? []),
      ) as Uint8Array;
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code === 'SQLITE_TOOBIG')
      throw new TaskFailure(
        'too-large',
        'A tile of the scene has too many features. Generate the scene from a layer with fewer features at one place.',
      );
    throw error;
  }
}

/** Rows of the window by the index: the parameters are its largest and smallest x, and its largest and smallest y. */
function writeWindowRows(source: GeoPackageSource): string {
  const g = `t.${quote(source.geometryColumn)}`;
  return source.hasIndex
    ? `${quoteIndexTable(source)} r JOIN ${quote(source.table)} t ON ${quoteRowColumn(source)} = r.id
       WHERE r.minx <= ? AND r.maxx >= ? AND r.miny <= ? AND r.maxy >= ?`
    : `${quote(source.table)} t
       WHERE ST_MinX(${g}) <= ? AND ST_MaxX(${g}) >= ? AND ST_MinY(${g}) <= ? AND ST_MaxY(${g}) >= ?`;
}
