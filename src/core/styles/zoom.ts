/** Scale denominator of MapLibre's zoom 0 (a world of 512 pixels of 0.28 mm, OGC 17-083r4, Annex D). */
const ZOOM_0_SCALE = 559_082_264.028_717_8 / 2;

/** The zoom of MapLibre whose maps have this scale denominator at the equator. */
export function scaleToZoom(denominator: number): number {
  return Math.log2(ZOOM_0_SCALE / denominator);
}

export function zoomToScale(zoom: number): number {
  return ZOOM_0_SCALE / 2 ** zoom;
}
