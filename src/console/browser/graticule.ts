import type { FeatureCollection, LineString } from 'geojson';

/** Degrees between lines, from coarse to fine. */
const STEPS = [30, 15, 10, 5, 2, 1, 0.5, 0.25, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001];
/** Minimum number of lines across the view. */
const WANTED = 5;
/** Web Mercator ends here. */
const MAX_LATITUDE = 85;

export interface MapView {
  west: number;
  south: number;
  east: number;
  north: number;
}

export function graticuleStep(view: MapView): number {
  const span = view.east - view.west;
  return STEPS.find((step) => span / step >= WANTED) ?? STEPS[STEPS.length - 1]!;
}

/** Meridians and parallels of a view, a little beyond its edges so that small moves need no new ones. */
export function graticule(view: MapView): FeatureCollection<LineString> {
  const step = graticuleStep(view);
  const west = Math.floor(view.west / step - 2) * step;
  const east = Math.ceil(view.east / step + 2) * step;
  const south = Math.max(-MAX_LATITUDE, Math.floor(view.south / step - 2) * step);
  const north = Math.min(MAX_LATITUDE, Math.ceil(view.north / step + 2) * step);
  const lines: [number, number][][] = [];
  for (let i = Math.round(west / step); i * step <= east; i++)
    lines.push([
      [i * step, south],
      [i * step, north],
    ]);
  for (let i = Math.ceil(south / step); i * step <= north; i++)
    lines.push([
      [west, i * step],
      [east, i * step],
    ]);
  return {
    type: 'FeatureCollection',
    features: lines.map((coordinates) => ({
      type: 'Feature',
      properties: {},
      geometry: { type: 'LineString', coordinates },
    })),
  };
}
