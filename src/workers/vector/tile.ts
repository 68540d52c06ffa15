import type { Box, TileLayer, VectorTileResult, VectorTileTask } from '../../core/tasks.js';
import { gzip } from '../../native/index.js';
import { quote, statement } from '../providers/geopackage/connection.js';
import { boxesInSource, indexOf } from '../providers/geopackage/window.js';
import { chosen } from './items.js';

/** Favours speed: tiles are compressed once and served often, but the first client waits. */
const GZIP_LEVEL = 6;

/** Encodes a vector tile (Mapbox Vector Tile 2.1): one SQL statement per layer, layers are concatenated. */
export function vectorTile(task: VectorTileTask): VectorTileResult {
  const parts: Buffer[] = [];
  let features = 0;
  for (const layer of task.layers) {
    const row = encodeLayer(task, layer);
    if (!row || row.tile === null || row.tile.length === 0) continue;
    parts.push(row.tile);
    features += row.features;
  }
  if (parts.length === 0) return { data: new Uint8Array(0), encoding: 'identity', features: 0 };
  const data = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
  if (task.encoding === 'identity' || data.length < (task.gzipMinBytes ?? 0))
    return { data, encoding: 'identity', features };
  return { data: gzip(data, GZIP_LEVEL), encoding: 'gzip', features };
}

interface LayerRow {
  tile: Buffer | null;
  features: number;
}

function encodeLayer(task: VectorTileTask, layer: TileLayer): LayerRow | undefined {
  const { source } = layer;
  const fields = chosen(source, layer.fields);
  const [minx, miny, maxx, maxy] = around(boxesInSource(source, buffered(task), task.crs));
  const g = `t.${quote(source.geometryColumn)}`;
  const id = `t.${quote(source.idColumn)}`;
  const values = fields.map((field) => `, t.${quote(field.name)}`).join('');
  const from = source.hasIndex
    ? `${indexOf(source)} r JOIN ${quote(source.table)} t ON ${id} = r.id
       WHERE r.minx <= ? AND r.maxx >= ? AND r.miny <= ? AND r.maxy >= ?`
    : `${quote(source.table)} t
       WHERE ST_MinX(${g}) <= ? AND ST_MaxX(${g}) >= ? AND ST_MinY(${g}) <= ? AND ST_MaxY(${g}) >= ?`;
  const sql = `SELECT gr_mvt(?, ${id}, ${g}${values}) AS tile, count(*) AS features FROM ${from}`;
  const options = JSON.stringify({
    layer: layer.name,
    fields: fields.map((field) => field.name),
    from: source.crs,
    to: task.crs,
    bbox: task.bbox,
    extent: task.extent,
    buffer: task.buffer,
    simplify: task.simplify,
  });
  return statement(source.path, sql).get(options, maxx, minx, maxy, miny) as LayerRow | undefined;
}

/** The tile's box widened by the clip buffer, so that features beside it are read too. */
function buffered(task: VectorTileTask): Box {
  const margin = ((task.bbox[2] - task.bbox[0]) / task.extent) * task.buffer;
  const [minx, miny, maxx, maxy] = task.bbox;
  return [minx - margin, miny - margin, maxx + margin, maxy + margin];
}

/** The box around boxes. The encoder drops what a wide window reads in vain, at the antimeridian. */
function around(boxes: readonly Box[]): Box {
  const side = (i: 0 | 1 | 2 | 3) => boxes.map((box) => box[i]);
  return [Math.min(...side(0)), Math.min(...side(1)), Math.max(...side(2)), Math.max(...side(3))];
}
