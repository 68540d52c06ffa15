import { describe, expect, it } from 'vitest';
import {
  computeBounds,
  findClosestZoom,
  panelMargins,
  viewBounds,
} from '../../src/console/browser/bounds.js';
import { graticule, graticuleStep } from '../../src/console/browser/graticule.js';

describe('the graticule', () => {
  it.each([
    [{ west: -180, south: -80, east: 180, north: 80 }, 30],
    [{ west: 0, south: 40, east: 30, north: 55 }, 5],
    [{ west: -0.2, south: 51.4, east: 0, north: 51.6 }, 0.02],
  ])('of %j has lines every %d degrees', (view, step) => {
    expect(graticuleStep(view)).toBe(step);
    const lines = graticule(view).features.map((feature) => feature.geometry.coordinates);
    expect(lines.length).toBeGreaterThan(8);
    expect(lines.length).toBeLessThan(60);
    for (const [x, y] of lines.flat()) {
      expect(Math.abs(y!)).toBeLessThanOrEqual(85);
      expect(x).toBeGreaterThan(view.west - 4 * step);
    }
  });
});

describe('bounds', () => {
  it('are found in nested geometries, and not in empty ones', () => {
    const point = { type: 'Point' as const, coordinates: [7, 46, 400] };
    const line = {
      type: 'MultiLineString' as const,
      coordinates: [
        [
          [1, 2],
          [3, 4],
        ],
        [
          [-5, 6],
          [0, 0],
        ],
      ],
    };
    expect(computeBounds([null, { type: 'GeometryCollection', geometries: [point, line] }])).toEqual([
      -5, 0, 7, 46,
    ]);
    expect(computeBounds([null, { type: 'MultiPoint', coordinates: [] }])).toBeUndefined();
  });

  it('leave room for a panel where there is room, but for the whole world', () => {
    expect(panelMargins([5, 45, 10, 50], 1280).left).toBeGreaterThan(300);
    expect(panelMargins([170, -20, -170, 20], 1280).left).toBeGreaterThan(300);
    expect(panelMargins([5, 45, 10, 50], 360).left).toBeLessThan(40);
    expect(panelMargins([-180, -90, 180, 90], 1280).left).toBeLessThan(40);
  });

  it('unroll a box across the antimeridian and leave out what Mercator cannot show', () => {
    expect(viewBounds([170, -20, -170, 20])).toEqual([170, -20, 190, 20]);
    expect(viewBounds([-180, -90, 180, 90])).toEqual([-180, -62, 180, 80]);
    expect(viewBounds([10, 70, 20, 90])).toEqual([10, 70, 20, 85]);
  });
});

it('maps show features closely, and a single point with its surroundings', () => {
  expect(findClosestZoom([-0.14, 51.5, -0.1, 51.53])).toBe(16);
  expect(findClosestZoom([-0.1, 51.5, -0.1, 51.5])).toBe(9);
});
