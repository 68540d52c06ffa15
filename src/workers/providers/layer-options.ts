import { shownField } from '../../core/access/field-masks.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { Field } from '../../core/sources/vector-source.js';
import type { TileLayer, VectorTileTask } from '../../core/tasks/vector-tasks.js';
import type { LayerOptions } from '../../native/index.js';
import { PROVIDER_LIMITS } from './limits.js';

/**
 * Options of the encoder for one layer of a tile. `crs` is the CRS of the rows, and `fields` are the fields of each
 * row.
 */
export function layerOptions(
  task: VectorTileTask,
  layer: TileLayer,
  crs: string,
  fields: readonly Field[],
): LayerOptions {
  return {
    layer: layer.name,
    // Only booleans have a stored value that does not show its type.
    fields: fields.map(shownField).map(({ name, type }) => (type === 'boolean' ? { name, type } : name)),
    from: crs,
    to: task.crs,
    bbox: task.bbox,
    extent: task.extent,
    buffer: task.buffer,
    simplify: task.simplify,
    maxFeatures: least(task.maxFeatures, layer.maxFeatures) ?? 0,
    ...(task.cells === undefined ? {} : { cells: task.cells }),
    maxBytes: least(task.maxBytes, layer.maxBytes) ?? PROVIDER_LIMITS.mapLayerBytes,
    deadline: Date.now() + LIMITS.requestDeadlineMs,
  };
}

function least(...bounds: (number | undefined)[]): number | undefined {
  const limits = bounds.filter((bound) => bound !== undefined);
  return limits.length > 0 ? Math.min(...limits) : undefined;
}
