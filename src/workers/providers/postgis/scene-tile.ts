import { around } from '../../../core/geometry/box.js';
import type { SceneTileTask } from '../../../core/scenes/scene-tiles.js';
import type { PostgisSource } from '../../../core/sources/vector-source.js';
import type { Cancellation } from '../../threads/cancellation.js';
import { boxesInSource } from '../boxes.js';
import { buildSceneOptions, listSceneFields } from '../scene-options.js';
import { withConnection } from './connections/database.js';
import { SqlParams } from './connections/params.js';
import { buildWhere, writeEnvelope } from './queries/filter.js';
import { writeRowColumns } from './schema/columns.js';
import { writeGeometrySql, writeTableSql } from './schema/names.js';

/** A scene tile: the window's rows by the spatial index, encoded as they arrive. */
export async function encodeSceneTile(task: SceneTileTask, cancellation?: Cancellation): Promise<Uint8Array> {
  const source = task.source as PostgisSource;
  const fields = listSceneFields(task);
  const params = new SqlParams();
  const window = writeEnvelope(
    boxesInSource(source, task.window, 'EPSG:4326').reduce(around),
    source,
    params,
  );
  const sql = `SELECT ${writeRowColumns(source, fields, 'number', params).join(', ')} FROM ${writeTableSql(source)}
    WHERE ${writeGeometrySql(source)} && ${window} AND (${buildWhere(source, task.filter, params)})`;
  const options = buildSceneOptions(task, fields);
  return withConnection(source.database, (connection) => connection.sceneTile(sql, params.values, options), {
    cancellation,
  });
}
