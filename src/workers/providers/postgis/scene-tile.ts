import { around } from '../../../core/geometry/box.js';
import type { PostgisSource } from '../../../core/sources/vector-source.js';
import type { Cancellation } from '../../threads/cancellation.js';
import { boxesInSource } from '../boxes.js';
import { buildSceneOptions, findSceneWindow, listSceneFields, type SceneEncoding } from '../scene-options.js';
import { withConnection } from './connections/database.js';
import { SqlParams } from './connections/params.js';
import { buildWhere, writeEnvelope } from './queries/filter.js';
import { writeRowColumns } from './schema/columns.js';
import { writeGeometrySql, writeTableSql } from './schema/names.js';

/** A scene tile: the window's rows by the spatial index, encoded as they arrive. Or the cells of all rows. */
export async function encodeScene(task: SceneEncoding, cancellation?: Cancellation): Promise<Uint8Array> {
  const source = task.source as PostgisSource;
  const fields = listSceneFields(task);
  const params = new SqlParams();
  const columns = writeRowColumns(source, fields, 'number', params).join(', ');
  const window = findSceneWindow(task);
  const box = window && boxesInSource(source, window, 'EPSG:4326').reduce(around);
  const isNear = box ? `${writeGeometrySql(source)} && ${writeEnvelope(box, source, params)}` : 'TRUE';
  const sql = `SELECT ${columns} FROM ${writeTableSql(source)}
    WHERE ${isNear} AND (${buildWhere(source, task.filter, params)})`;
  const options = buildSceneOptions(task, fields);
  return withConnection(source.database, (connection) => connection.sceneTile(sql, params.values, options), {
    cancellation,
  });
}
