import { fieldsNamed, type GeoPackageSource } from '../../../core/sources/vector-source.js';
import type { TileLayer, VectorTileTask } from '../../../core/tasks/vector-tasks.js';
import type { EncodedLayer } from '../feature-store.js';
import { layerOptions } from '../layer-options.js';
import { tileWindow } from '../window.js';
import { quote, statement } from './connection.js';
import { passingRows } from './queries/filter.js';
import { writeMaskedValue } from './queries/masks.js';
import { quoteIdColumn, quoteIndexTable, quoteRowColumn } from './queries/window.js';

/** One layer of a tile as one SQL statement: the rtree window, aggregated by `gr_mvt`. */
export function tileLayer(task: VectorTileTask, layer: TileLayer): EncodedLayer {
  const source = layer.source as GeoPackageSource;
  const fields = fieldsNamed(source, layer.fields);
  const [minx, miny, maxx, maxy] = tileWindow(source, task);
  const g = `t.${quote(source.geometryColumn)}`;
  const row = quoteRowColumn(source);
  const values = fields.map((field) => `, ${writeMaskedValue(`t.${quote(field.name)}`, field)}`).join('');
  const from = source.hasIndex
    ? `${quoteIndexTable(source)} r JOIN ${quote(source.table)} t ON ${row} = r.id
       WHERE r.minx <= ? AND r.maxx >= ? AND r.miny <= ? AND r.maxy >= ?`
    : `${quote(source.table)} t
       WHERE ST_MinX(${g}) <= ? AND ST_MaxX(${g}) >= ? AND ST_MinY(${g}) <= ? AND ST_MaxY(${g}) >= ?`;
  const chosenRows = layer.filter === undefined ? undefined : passingRows(source, layer.filter);
  const filtered = chosenRows ? ` AND ${row} IN (${chosenRows.sql})` : '';
  const sql = `WITH made AS MATERIALIZED (SELECT gr_mvt(?, ${quoteIdColumn(source)}, ${g}${values}) AS tile FROM ${from}${filtered})
    SELECT tile, gr_mvt_count(tile) AS features, gr_mvt_dropped(tile) AS dropped,
      gr_mvt_work(tile) AS work FROM made`;
  const options = JSON.stringify(layerOptions(task, layer, source.crs, fields));
  const window = [maxx, minx, maxy, miny];
  return statement(source.path, sql).get(options, ...window, ...(chosenRows?.values ?? [])) as EncodedLayer;
}
