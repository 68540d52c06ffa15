import { contentTag } from '../../core/http/content-tag.js';
import type { TileLayer, VectorTileResult, VectorTileTask } from '../../core/tasks/vector-tasks.js';
import { gzip } from '../../native/index.js';
import { asMlt, getGzipLevel } from '../features/encodings.js';
import type { EncodedLayer } from '../providers/feature-store.js';
import { getFeatureStore } from '../providers/store.js';
import type { Cancellation } from '../threads/cancellation.js';
import { deservesOverview, fromOverview } from './overviews/tile.js';

/** Encodes a vector tile (Mapbox Vector Tile 2.1, or MapLibre Tile); its layers are concatenated. */
export async function vectorTile(
  task: VectorTileTask,
  cancellation?: Cancellation,
): Promise<VectorTileResult> {
  const parts: Uint8Array[] = [];
  const heavy: number[] = [];
  let [features, dropped, bytes] = [0, 0, 0];
  for (const [i, layer] of task.layers.entries()) {
    const encoded = await encodeLayer(buildShare(task, i, bytes), layer, cancellation);
    dropped += encoded.dropped;
    if (encoded.heavy) heavy.push(i);
    if (encoded.tile.length === 0) continue;
    parts.push(encoded.tile);
    features += encoded.features;
    bytes += encoded.tile.length;
  }
  if (parts.length === 0)
    return { data: new Uint8Array(0), encoding: 'identity', tag: '', features: 0, dropped, heavy };
  const rows = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
  const data = task.format === 'mlt' ? asMlt(rows) : rows;
  const tag = contentTag(data);
  if (task.encoding === 'identity' || data.length < (task.gzipMinBytes ?? 0))
    return { data, encoding: 'identity', tag, features, dropped, heavy };
  return { data: gzip(data, getGzipLevel(task)), encoding: 'gzip', tag, features, dropped, heavy };
}

/**
 * Encodes a layer from an overview of the table, if that shows everything that the tile can show, otherwise from the
 * table.
 */
async function encodeLayer(
  task: VectorTileTask,
  layer: TileLayer,
  cancellation?: Cancellation,
): Promise<EncodedLayer & { heavy: boolean }> {
  if (task.cells !== undefined) {
    const counted = { ...layer, fields: [] };
    return { ...(await getFeatureStore(layer.source).tileLayer(task, counted, cancellation)), heavy: false };
  }
  const overview = await fromOverview(task, layer, cancellation);
  if (overview) return { ...overview, heavy: overview.stale };
  const encoded = await getFeatureStore(layer.source).tileLayer(task, layer, cancellation);
  return { ...encoded, heavy: deservesOverview(layer, encoded) };
}

/**
 * Returns the task with the maximum bytes of its layer `i`: an equal share of the bytes that the previous layers
 * left.
 */
function buildShare(task: VectorTileTask, i: number, count: number): VectorTileTask {
  const { maxBytes, layers } = task;
  if (maxBytes === undefined || layers.length === 1) return task;
  return { ...task, maxBytes: Math.max(1, Math.floor((maxBytes - count) / (layers.length - i))) };
}
