import { setImmediate } from 'node:timers/promises';
import { LAYER_TYPES } from '../../core/styles/layer-types.js';
import {
  convertToPoints,
  decodeAttributes,
  type FeatureType,
  type MvtLayer,
  type TileFeature,
  TileLayerWriter,
} from '../../core/tiles/tile-layers.js';
import type { Cancellation } from '../threads/cancellation.js';
import type { CompiledLayer } from './compiled-style.js';
import type { StyledFeature } from './layer-values.js';

/** Features between two checks of the deadline and of other work for this thread. */
const TURN = 4096;
const POINT: FeatureType = 1;

/** True when a layer of a tile has to be rewritten before Mapnik can draw it in this style. */
export function needsFeatures({ filter, sortKey, values, type }: CompiledLayer, layer: MvtLayer): boolean {
  if (filter || sortKey || values.names.length > 0) return true;
  return LAYER_TYPES[type].atVertices === true && layer.features.some((feature) => feature.type !== POINT);
}

/**
 * Returns a tile with the features that a style layer shows, in its order, with the attributes that it derives.
 * Features with equal attributes are evaluated once.
 */
export async function styledFeatures(
  source: MvtLayer,
  name: string,
  style: CompiledLayer,
  cancellation: Cancellation,
): Promise<Uint8Array> {
  const writer = new TileLayerWriter(name, source.extent, style.values.names);
  const alike = new Map<string, number[] | null>();
  const visible: { feature: TileFeature; tags: number[]; order: number }[] = [];
  for (const [index, feature] of source.features.entries()) {
    if (index % TURN === TURN - 1) {
      await setImmediate();
      cancellation.check();
    }
    const key = featureKey(feature, style);
    let tags = alike.get(key);
    let order = 0;
    if (tags === undefined || style.sortKey) {
      const styled = {
        type: feature.type,
        id: feature.id,
        properties: decodeAttributes(source, feature.tags),
      };
      tags = style.filter?.(styled) === false ? null : writer.tags(style.values.attributesOf(styled));
      order = computeOrder(style, styled);
      alike.set(key, tags);
    }
    if (tags) visible.push({ feature, tags, order });
  }
  if (style.sortKey) visible.sort((a, b) => a.order - b.order);
  for (const { feature, tags } of visible) write(writer, feature, tags, style);
  return writer.finish();
}

function featureKey({ type, id, tags }: TileFeature, { readsIds }: CompiledLayer): string {
  const text = Buffer.from(tags.buffer, tags.byteOffset, tags.byteLength).toString('latin1');
  return readsIds ? `${type} ${id} ${text}` : `${type} ${text}`;
}

function computeOrder({ sortKey }: CompiledLayer, feature: StyledFeature): number {
  const value = sortKey?.(feature);
  return typeof value === 'number' ? value : 0;
}

function write(
  writer: TileLayerWriter,
  { type, geometry }: TileFeature,
  tags: readonly number[],
  { type: layerType }: CompiledLayer,
): void {
  if (LAYER_TYPES[layerType].atVertices && type !== POINT) writer.add(POINT, convertToPoints(geometry), tags);
  else writer.add(type, geometry, tags);
}
