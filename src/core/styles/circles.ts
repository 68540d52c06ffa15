import type { StyleLayer } from './model.js';
import { findCrowding, type PointSpread } from './point-density.js';
import type { Expr } from './sld/values.js';

/** Zoom levels over which circles grow from their smallest to their full size. */
const GROWTH = 3;
/** Width of the halo in pixels. */
const HALO = 1;

interface CircleOptions {
  /** Full radius in pixels. */
  readonly radius: number;
  /** Circles of many points are smaller at the zooms at which they would cover each other. */
  readonly spread?: PointSpread | undefined;
}

/**
 * Layers of circles with a white halo, bottom first. The halos of all circles are below all circles. So they disappear
 * where points are dense, in each renderer and across the borders of tiles.
 */
export function circlesWithHalo(color: Expr, { radius, spread }: CircleOptions): StyleLayer[] {
  const crowding = spread && findCrowding(spread);
  const sized = (small: number, full: number): Expr =>
    crowding === undefined
      ? full
      : ['interpolate', ['linear'], ['zoom'], crowding.zoom, small, crowding.zoom + GROWTH, full];
  const small = crowding?.radius ?? radius;
  return [
    {
      id: 'halo',
      type: 'circle',
      // Without a halo, the layer would only cost time.
      ...(crowding && { minzoom: crowding.zoom }),
      paint: {
        'circle-color': '#ffffff',
        'circle-radius': sized(small, radius + HALO),
        'circle-opacity': 0.9,
      },
    },
    { id: 'point', type: 'circle', paint: { 'circle-color': color, 'circle-radius': sized(small, radius) } },
  ] as StyleLayer[];
}
