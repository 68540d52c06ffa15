import { group } from '../../admin/kit.js';
import { geocodingOperations } from '../../geocoding/admin/geocoding.js';

/** Geocoding as seen by operators. */
export const serviceOperations = group(
  { tag: 'Operations', scope: 'service-operations', envelope: 'wrapped' },
  [...geocodingOperations],
);
