import mapnik from '@mapnik/mapnik';
import { TaskFailure } from '../../core/errors/failure.js';

/** Channels from 0 to 255. Fails with `invalid-input`. */
export function parseCssColor(css: unknown): { r: number; g: number; b: number; a: number } {
  if (css === 'transparent') return { r: 0, g: 0, b: 0, a: 0 };
  if (typeof css === 'string' && css.length <= 64) {
    try {
      return new mapnik.Color(css);
    } catch {
      // Falls through to the failure.
    }
  }
  throw new TaskFailure('invalid-input', 'The background is not a CSS colour.');
}
