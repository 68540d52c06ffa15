import type { PostgisSource } from '../../../core/sources/vector-source.js';
import type { TileLayer, VectorTileTask } from '../../../core/tasks/vector-tasks.js';
import type { Cancellation } from '../../threads/cancellation.js';
import type { EncodedLayer } from '../feature-store.js';
import { layerOptions } from '../layer-options.js';
import { listTileFields } from '../tile-fields.js';
import { tileWindow } from '../window.js';
import { withConnection } from './connections/database.js';
import { SqlParams } from './connections/params.js';
import { buildWhere, writeEnvelope } from './queries/filter.js';
import { writeRowColumns } from './schema/columns.js';
import { writeGeometrySql, writeTableSql } from './schema/names.js';

/** One layer of a tile: the window's rows by the spatial index, encoded as they arrive. */
export async function tileLayer(
  task: VectorTileTask,
  layer: TileLayer,
  cancellation?: Cancellation,
): Promise<EncodedLayer> {
  const source = layer.source as PostgisSource;
  const fields = listTileFields(source, layer.fields);
  const params = new SqlParams();
  const window = writeEnvelope(tileWindow(source, task), source, params);
  const sql = `SELECT ${writeRowColumns(source, fields, 'number', params).join(', ')} FROM ${writeTableSql(source)}
    WHERE ${writeGeometrySql(source)} && ${window} AND (${buildWhere(source, layer.filter, params)})`;
  const options = layerOptions(task, layer, source.crs, fields);
  return withConnection(source.database, (connection) => connection.tile(sql, params.values, options), {
    cancellation,
  });
}
