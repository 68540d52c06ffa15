import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Geometry } from 'geojson';
import { afterAll, describe, expect, it } from 'vitest';
import { parseRemoteGeometry } from '../../../src/workers/exchange/ingest/geoservices-geometry.js';
import { scratchDirectory } from '../../engine/support.js';

/** Geometries of GeoServices JSON, as GDAL reads the same documents. */

const scratch = scratchDirectory();
afterAll(() => scratch.remove());

const square = (x: number, y: number, side: number) => [
  [x, y],
  [x, y + side],
  [x + side, y + side],
  [x + side, y],
  [x, y],
];
const hole = (x: number, y: number, side: number) => square(x, y, side).reverse();

const CASES: [string, string, object][] = [
  ['a point', 'Point', { x: 1.5, y: -2 }],
  ['a point with a height', 'Point', { x: 1, y: 2, z: 30 }],
  [
    'points',
    'Multipoint',
    {
      points: [
        [1, 2],
        [3, 4],
      ],
    },
  ],
  [
    'points with heights',
    'Multipoint',
    {
      hasZ: true,
      points: [
        [1, 2, 5],
        [3, 4, 6],
      ],
    },
  ],
  [
    'a line',
    'Polyline',
    {
      paths: [
        [
          [0, 0],
          [1, 1],
          [2, 0],
        ],
      ],
    },
  ],
  [
    'lines with heights',
    'Polyline',
    {
      hasZ: true,
      paths: [
        [
          [0, 0, 1],
          [1, 1, 2],
        ],
        [
          [5, 5, 3],
          [6, 6, 4],
        ],
      ],
    },
  ],
  ['a polygon', 'Polygon', { rings: [square(0, 0, 10)] }],
  ['a polygon with holes', 'Polygon', { rings: [square(0, 0, 10), hole(1, 1, 2), hole(5, 5, 2)] }],
  ['a hole before its exterior', 'Polygon', { rings: [hole(1, 1, 2), square(0, 0, 10)] }],
  ['two polygons', 'Polygon', { rings: [square(0, 0, 10), square(20, 0, 10), hole(22, 2, 3)] }],
  [
    'an island in a lake of an island',
    'Polygon',
    { rings: [square(0, 0, 30), hole(5, 5, 20), square(10, 10, 10), hole(12, 12, 2)] },
  ],
  ['a hole that touches its exterior', 'Polygon', { rings: [square(0, 0, 10), hole(0, 0, 4)] }],
  ['a polygon with heights', 'Polygon', { hasZ: true, rings: [square(0, 0, 10).map(([x, y]) => [x, y, 7])] }],
];

function byGdal(type: string, geometry: object): Geometry {
  const path = join(scratch.path, 'document.json');
  writeFileSync(
    path,
    JSON.stringify({
      geometryType: `esriGeometry${type}`,
      spatialReference: { wkid: 4326 },
      ...(/"hasZ":true|"z":/.test(JSON.stringify(geometry)) ? { hasZ: true } : {}),
      fields: [{ name: 'OBJECTID', type: 'esriFieldTypeOID' }],
      features: [{ attributes: { OBJECTID: 1 }, geometry }],
    }),
  );
  const out = execFileSync('ogr2ogr', ['-f', 'GeoJSON', '/vsistdout/', path]);
  return JSON.parse(out.toString()).features[0].geometry;
}

/** Single geometries as multi ones; rings from their least corner on, in one direction. */
function normal(geometry: Geometry): unknown {
  const { type, coordinates } = geometry as { type: string; coordinates: never[] };
  if (!type.startsWith('Multi') && type !== 'Point')
    return normal({ type: `Multi${type}`, coordinates: [coordinates] } as unknown as Geometry);
  if (type !== 'MultiPolygon') return { type, coordinates };
  const ringOf = (ring: number[][]) => ring.slice(1).map(String).sort().join(' ');
  const polygons = (coordinates as number[][][][]).map(([exterior, ...holes]) => [
    ringOf(exterior!),
    ...holes.map(ringOf).sort(),
  ]);
  return { type, polygons: polygons.sort() };
}

describe('a geometry of GeoServices', () => {
  it.each(CASES)('%s is what GDAL reads', (_name, type, geometry) => {
    const hasZ = /"hasZ":true|"z":/.test(JSON.stringify(geometry));
    expect(normal(parseRemoteGeometry(geometry, hasZ)!)).toEqual(normal(byGdal(type, geometry)));
  });

  it.each([
    [null],
    [undefined],
    [{ x: 'NaN', y: 'NaN' }],
    [{ x: null }],
    [{ points: [] }],
    [{ paths: [] }],
    [{ paths: [[]] }],
    [{ rings: [] }],
  ])('%j is none', (geometry) => {
    expect(parseRemoteGeometry(geometry, false)).toBeNull();
  });

  it('has no measures, and a height of 0 where one is missing', () => {
    expect(parseRemoteGeometry({ hasM: true, hasZ: false, points: [[1, 2, 99]] }, true)).toEqual({
      type: 'MultiPoint',
      coordinates: [[1, 2]],
    });
    expect(parseRemoteGeometry({ hasZ: true, points: [[1, 2, null]] }, true)).toEqual({
      type: 'MultiPoint',
      coordinates: [[1, 2, 0]],
    });
  });

  it.each([
    ['x'],
    [{ x: 1 }],
    [{ points: 5 }],
    [{ points: [[1]] }],
    [{ points: [['1', 2]] }],
    [{ paths: [[[0, 0]]] }],
    [
      {
        rings: [
          [
            [0, 0],
            [1, 1],
          ],
        ],
      },
    ],
    [{ curvePaths: [] }],
  ])('%j is refused', (geometry) => {
    expect(() => parseRemoteGeometry(geometry, false)).toThrow(
      expect.objectContaining({ code: 'source-unreadable' }),
    );
  });
});
