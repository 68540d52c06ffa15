import type { Blobs } from '../../../native/processing.js';
import { processGeometries } from '../../../native/processing.js';

const NONE = new Uint8Array();

/**
 * Bytes that geometries of the same vertices have in common, wherever their rings begin and however their parts are
 * ordered. ST_Equals would take a comparison of each pair whose envelopes meet.
 */
export function normalForms(blobs: Blobs, crs: string): Uint8Array[] {
  const forms = processGeometries(blobs, { name: 'normalize' }, { crs, target: crs, srsId: 0 });
  // What cannot be read is the same as nothing but itself.
  return forms.map((form, i) => (typeof form === 'string' ? blobs[i]! : (form ?? NONE)));
}
