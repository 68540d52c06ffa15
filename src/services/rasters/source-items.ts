import { hasCoverage } from '../../core/catalog/abilities.js';
import type { Collection } from '../../core/catalog/collection.js';
import type { Box } from '../../core/geometry/box.js';
import type { AcquisitionTime } from '../../core/http/params.js';
import { transformBox } from '../../native/index.js';
import { chooseRaster } from './choose.js';

/** A STAC item whose raster is in an image. */
export interface SourceItem {
  readonly collection: string;
  readonly id: string;
}

/** Maximum number of items that a response names. With more items, it contains only their number. */
export const MAX_NAMED = 16;

/** The items of an acquisition that an image is created from: items that touch its window. */
export function sourceItems(
  collections: readonly Collection[],
  batch: AcquisitionTime | undefined,
  window84: Box | undefined,
): SourceItem[] {
  return collections.flatMap((one) => {
    if (!hasCoverage(one)) return [];
    const raster = chooseRaster(one, { datetime: batch, window84 });
    return (raster?.used ?? []).map((id) => ({ collection: one.id, id }));
  });
}

/** A window in CRS84; undefined when it has no image there, such as one beyond the horizon of its CRS. */
export function windowIn84(box: Box, crs: string): Box | undefined {
  try {
    const window = transformBox(box, crs, 'OGC:CRS84');
    return window.every(Number.isFinite) ? window : undefined;
  } catch {
    return undefined;
  }
}
