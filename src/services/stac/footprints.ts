import { hasCoverage, hasFeatures } from '../../core/catalog/abilities.js';
import type { Collection, VectorCollection } from '../../core/catalog/collection.js';
import type { Field } from '../../core/sources/vector-source.js';
import { temporalField } from '../filters/filters.js';

/**
 * The time field of a feature collection whose features are STAC items: polygons with a time, such as an index of
 * scenes. Other features are not assets in space and time.
 */
export function footprintField({ source }: VectorCollection): Field | undefined {
  return source.geometryType.endsWith('Polygon') ? temporalField(source) : undefined;
}

/** Whether a collection has items. */
export function hasItems(collection: Collection): boolean {
  if (hasCoverage(collection)) return true;
  return hasFeatures(collection) && (!!collection.stac || footprintField(collection) !== undefined);
}
