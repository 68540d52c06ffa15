import type { BandExpression } from './band-math/index.js';
import type { Color } from './color-ramps.js';

/** Values to colours. */
export type Colormap =
  /** Equidistant over the range of the values that is shown. */
  | { readonly kind: 'ramp'; readonly colors: readonly Color[] }
  /** At these values, ascending, and between two of them in between. */
  | { readonly kind: 'stops'; readonly values: readonly number[]; readonly colors: readonly Color[] }
  /** Colours of single values; all remaining values are transparent. */
  | { readonly kind: 'values'; readonly values: readonly number[]; readonly colors: readonly Color[] }
  /** Colours of intervals, including the lower and excluding the upper limit. The first matching interval applies. */
  | {
      readonly kind: 'intervals';
      readonly bounds: readonly (readonly [number, number])[];
      readonly colors: readonly Color[];
    };

/** Requested rendering of a raster. Absent members have their defaults. */
export interface RasterLook {
  /** 1-based: one that is shown in gray or coloured, or red, green and blue. */
  readonly bands?: readonly number[];
  /** In place of bands: one, or three. */
  readonly expressions?: readonly BandExpression[];
  /** Values that become the darkest and the brightest shade: for all, or for each of the three. */
  readonly rescale?: readonly (readonly [number, number])[];
  /** Colours of one band or expression. */
  readonly colormap?: Colormap;
  /** The value that is transparent, in place of the raster's own; NaN always is. */
  readonly nodata?: number;
}
