import type { Blobs } from '../../../native/processing.js';
import { processGeometries } from '../../../native/processing.js';

const NONE = new Uint8Array();

/**
 * Returns bytes that are equal for geometries with the same vertices, for any start of their rings and any order of
 * their parts. ST_Equals would require a comparison of each pair whose envelopes meet.
 */
export function normalForms(blobs: Blobs, crs: string): Uint8Array[] {
  const forms = processGeometries(blobs, { name: 'normalize' }, { crs, target: crs, srsId: 0 });
  // An unreadable geometry is equal only to itself.
  return forms.map((form, i) => (typeof form === 'string' ? blobs[i]! : (form ?? NONE)));
}
