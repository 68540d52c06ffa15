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
  const window = [maxx, minx, maxy, miny];
  const isScan = task.cells !== undefined && hasMostRows(source, window);
  const indexed = source.hasIndex
    ? `${quoteIndexTable(source)} r JOIN ${quote(source.table)} t ON ${row} = r.id
       WHERE r.minx <= ? AND r.maxx >= ? AND r.miny <= ? AND r.maxy >= ?`
    : `${quote(source.table)} t
       WHERE ST_MinX(${g}) <= ? AND ST_MaxX(${g}) >= ? AND ST_MinY(${g}) <= ? AND ST_MaxY(${g}) >= ?`;
  // The encoder ignores rows outside of the tile.
  const from = isScan ? `${quote(source.table)} t WHERE true` : indexed;
  const chosenRows = layer.filter === undefined ? undefined : passingRows(source, layer.filter);
  const filtered = chosenRows ? ` AND ${row} IN (${chosenRows.sql})` : '';
  const sql = `WITH made AS MATERIALIZED (SELECT gr_mvt(?, ${quoteIdColumn(source)}, ${g}${values}) AS tile FROM ${from}${filtered})
    SELECT tile, gr_mvt_count(tile) AS features, gr_mvt_dropped(tile) AS dropped,
      gr_mvt_work(tile) AS work FROM made`;
  const options = JSON.stringify(layerOptions(task, layer, source.crs, fields));
  const box = isScan ? [] : window;
  return statement(source.path, sql).get(options, ...box, ...(chosenRows?.values ?? [])) as EncodedLayer;
}

/** Reading a row by the spatial index takes this many times as long as in the order of the table. */
const INDEX_COST = 6;

/** Whether a window has so many rows that reading the complete table takes less time than using the index. */
function hasMostRows(source: GeoPackageSource, window: readonly number[]): boolean {
  if (!source.hasIndex) return false;
  const all = statement(source.path, `SELECT count(*) FROM ${quote(source.table)}`)
    .pluck()
    .get() as number;
  const most = Math.ceil(all / INDEX_COST);
  const rows = `SELECT 1 FROM ${quoteIndexTable(source)}
    WHERE minx <= ? AND maxx >= ? AND miny <= ? AND maxy >= ? LIMIT ?`;
  const count = statement(source.path, `SELECT count(*) FROM (${rows})`).pluck();
  return (count.get(...window, most) as number) >= most;
}
