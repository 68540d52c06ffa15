import { hasCoverage, hasFeatures } from '../../core/catalog/abilities.js';
import type { Collection, VectorCollection } from '../../core/catalog/collection.js';
import type { Field } from '../../core/sources/vector-source.js';
import { temporalField } from '../filters/filters.js';

/**
 * Feature collections whose features are STAC items: polygons that have an instant, as an index of scenes has. Other
 * features are no assets in space and time, but things.
 */
export function footprintField({ source }: VectorCollection): Field | undefined {
  return source.geometryType.endsWith('Polygon') ? temporalField(source) : undefined;
}

/** Whether a collection has items. */
export function hasItems(collection: Collection): boolean {
  if (hasCoverage(collection)) return true;
  return hasFeatures(collection) && (!!collection.stac || footprintField(collection) !== undefined);
}
