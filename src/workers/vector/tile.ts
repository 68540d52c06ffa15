import type { VectorTileResult, VectorTileTask } from '../../core/tasks.js';
import { gzip } from '../../native/index.js';
import type { Cancellation } from '../cancellation.js';
import { storeOf } from '../providers/store.js';

/** Favours speed: tiles are compressed once and served often, but the first client waits. */
const GZIP_LEVEL = 6;

/** Encodes a vector tile (Mapbox Vector Tile 2.1); its layers are concatenated. */
export async function vectorTile(
  task: VectorTileTask,
  cancellation?: Cancellation,
): Promise<VectorTileResult> {
  const parts: Uint8Array[] = [];
  let features = 0;
  for (const layer of task.layers) {
    const encoded = await storeOf(layer.source).tileLayer(task, layer, cancellation);
    if (encoded.tile.length === 0) continue;
    parts.push(encoded.tile);
    features += encoded.features;
  }
  if (parts.length === 0) return { data: new Uint8Array(0), encoding: 'identity', features: 0 };
  const data = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
  if (task.encoding === 'identity' || data.length < (task.gzipMinBytes ?? 0))
    return { data, encoding: 'identity', features };
  return { data: gzip(data, GZIP_LEVEL), encoding: 'gzip', features };
}
