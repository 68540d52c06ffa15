import type { VectorCollection } from '../../core/catalog/collection.js';
import type { FormLayer } from '../../core/forms/form-issues.js';

/** A layer as its forms see it. */
export const describeFormLayer = ({ id, title, source }: VectorCollection): FormLayer => ({
  ...{ id, title, isWritable: source.writable, geometryType: source.geometryType, fields: source.fields },
});
