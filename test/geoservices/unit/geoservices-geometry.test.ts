import type { Geometry } from 'geojson';
import { describe, expect, it } from 'vitest';
import {
  createEsriGeometry,
  GeoServicesGeometryError,
  parseEsriGeometry,
} from '../../../src/core/geometry/geoservices-geometry.js';

/** Counterclockwise, as GeoJSON wants exteriors. */
const square = (x: number, y: number, side: number) => [
  [x, y],
  [x + side, y],
  [x + side, y + side],
  [x, y + side],
  [x, y],
];
const reversed = (ring: number[][]) => [...ring].reverse();

describe('geometries of GeoServices', () => {
  it('have exteriors that run clockwise, whatever they ran before', () => {
    const [exterior, hole] = [square(0, 0, 10), square(2, 2, 3)];
    for (const coordinates of [
      [exterior, reversed(hole)],
      [reversed(exterior), hole],
    ])
      expect(createEsriGeometry({ type: 'Polygon', coordinates }, 4326)).toEqual({
        rings: [reversed(exterior), hole],
        spatialReference: { wkid: 4326 },
      });
  });

  it.each<Geometry>([
    { type: 'Point', coordinates: [1, 2] },
    { type: 'Point', coordinates: [1, 2, 3] },
    {
      type: 'MultiPoint',
      coordinates: [
        [1, 2],
        [3, 4],
      ],
    },
    {
      type: 'MultiLineString',
      coordinates: [
        [
          [1, 2],
          [3, 4],
        ],
        [
          [5, 6],
          [7, 8],
        ],
      ],
    },
    {
      type: 'MultiLineString',
      coordinates: [
        [
          [1, 2, 9],
          [3, 4, 9],
        ],
      ],
    },
    {
      type: 'MultiPolygon',
      coordinates: [[reversed(square(0, 0, 10)), square(2, 2, 3)], [reversed(square(20, 0, 5))]],
    },
  ])('come back as they were: $type', (geometry) => {
    const hasZ = /\[\d+,\d+,\d+\]/.test(JSON.stringify(geometry));
    const written: unknown = JSON.parse(JSON.stringify(createEsriGeometry(geometry, 4326)));
    expect(parseEsriGeometry(written, hasZ)).toEqual(geometry);
  });

  it('are no collections', () => {
    const collection: Geometry = { type: 'GeometryCollection', geometries: [] };
    expect(() => createEsriGeometry(collection, 4326)).toThrow(GeoServicesGeometryError);
  });
});
