import gdal from 'gdal-async';
import { beforeAll, describe, expect, it } from 'vitest';
import { askGeometryServer, GEOMETRY_SERVER, type Json, square } from '../../support/geometry-server.js';
import { type SharedServer, sharedServer } from '../../support/shared-server.js';

/** A GeometryServer computes what GDAL and PROJ do. */

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});

const ask = (operation: string, members: Record<string, unknown>): Promise<Json> =>
  askGeometryServer(server.url, operation, members);

const polygons = (...geometries: object[]) => ({ geometryType: 'esriGeometryPolygon', geometries });

const toGdal = ({ rings }: Json) =>
  gdal.Geometry.fromGeoJson({ type: 'Polygon', coordinates: rings } as never) as gdal.Polygon;

/** Twice the area; clockwise is negative. */
const winding = (ring: number[][]) =>
  ring.slice(1).reduce((sum, [x, y], i) => sum + ring[i]![0]! * y! - x! * ring[i]![1]!, 0);

function expectEqual(answer: Json, oracle: gdal.Geometry): void {
  for (const ring of answer.rings) expect(ring.at(-1)).toEqual(ring[0]);
  expect(winding(answer.rings[0])).toBeLessThan(0);
  const apart = toGdal(answer).symDifference(oracle) as unknown as { getArea?: () => number };
  expect(apart.getArea?.() ?? 0).toBeLessThan(1e-6);
}

describe('a GeometryServer', () => {
  it('is in the catalogue', async () => {
    const json = async (path: string): Promise<Json> => (await fetch(`${server.url}${path}?f=json`)).json();
    expect((await json('/arcgis/rest/services')).folders).toEqual(['Utilities']);
    const { services } = await json('/rest/services/Utilities');
    expect(services).toEqual([{ name: 'Utilities/Geometry', type: 'GeometryServer' }]);
    expect((await json(GEOMETRY_SERVER)).currentVersion).toBeGreaterThan(10);
  });

  it('projects as GDAL does', async () => {
    const answer = await ask('project', { inSR: 4326, outSR: 32_725, geometries: '-34.9,-8,-35,-7.9' });
    const transformation = new gdal.CoordinateTransformation(
      gdal.SpatialReference.fromProj4('+proj=longlat +datum=WGS84'),
      gdal.SpatialReference.fromEPSG(32_725),
    );
    for (const [i, [x, y]] of [
      [-34.9, -8],
      [-35, -7.9],
    ].entries()) {
      const at = transformation.transformPoint(x!, y!);
      expect(answer.geometries[i].x).toBeCloseTo(at.x, 4);
      expect(answer.geometries[i].y).toBeCloseTo(at.y, 4);
    }
    expect(answer.geometryType).toBe('esriGeometryPoint');
  });

  it('buffers by each distance, in units', async () => {
    const members = { geometries: polygons(square(0, 0, 100)), inSR: 3857, distances: '0.01,20' };
    const { geometries } = await ask('buffer', members);
    expectEqual(geometries[1], toGdal(square(0, 0, 100)).buffer(20, 16));
    const far = await ask('buffer', { ...members, distances: 0.02, unit: 9036 });
    expectEqual(far.geometries[0], toGdal(square(0, 0, 100)).buffer(20, 16));
    expect((await ask('buffer', { ...members, unionResults: true })).geometries).toHaveLength(1);
  });

  it('buffers over the ground', async () => {
    const { geometries } = await ask('buffer', { geometries: '10,50', inSR: 4326, distances: 1, unit: 9036 });
    const { areas } = await ask('areasAndLengths', {
      polygons: geometries,
      sr: 4326,
      calculationType: 'geodesic',
    });
    // A polygon of 32 corners within a circle of a kilometre.
    expect(areas[0] / (Math.PI * 1e6)).toBeGreaterThan(0.98);
    expect(areas[0] / (Math.PI * 1e6)).toBeLessThan(1.002);
  });

  it('lays geometries over each other', async () => {
    const [a, b] = [square(0, 0, 10), square(5, 5, 10)];
    const members = {
      sr: 3857,
      geometries: polygons(a),
      geometry: { geometryType: 'esriGeometryPolygon', geometry: b },
    };
    expectEqual((await ask('intersect', members)).geometries[0], toGdal(a).intersection(toGdal(b)));
    expectEqual((await ask('difference', members)).geometries[0], toGdal(a).difference(toGdal(b)));
    const both = { sr: 3857, geometries: polygons(a, b) };
    expectEqual((await ask('union', both)).geometry, toGdal(a).union(toGdal(b)));
    expectEqual((await ask('convexHull', both)).geometry, toGdal(a).union(toGdal(b)).convexHull());
  });

  it('answers what is empty with its type', async () => {
    const lines = {
      geometryType: 'esriGeometryPolyline',
      geometries: [
        {
          paths: [
            [
              [50, 50],
              [60, 60],
            ],
          ],
        },
      ],
    };
    const answer = await ask('intersect', { sr: 3857, geometries: lines, geometry: square(0, 0, 10) });
    expect(answer).toEqual({ geometryType: 'esriGeometryPolyline', geometries: [{ paths: [] }] });
  });

  it('repairs, thins and densifies', async () => {
    const bow = {
      rings: [
        [
          [0, 0],
          [10, 10],
          [10, 0],
          [0, 10],
          [0, 0],
        ],
      ],
    };
    const [whole] = (await ask('simplify', { sr: 3857, geometries: polygons(bow) })).geometries;
    expect(whole.rings).toHaveLength(2);
    const line = {
      paths: [
        [
          [0, 0],
          [5, 0.1],
          [10, 0],
        ],
      ],
    };
    const lines = { geometryType: 'esriGeometryPolyline', geometries: [line] };
    const thin = await ask('generalize', { sr: 3857, geometries: lines, maxDeviation: 1 });
    expect(thin.geometries[0].paths).toEqual([
      [
        [0, 0],
        [10, 0],
      ],
    ]);
    const straight = {
      geometryType: 'esriGeometryPolyline',
      geometries: [
        {
          paths: [
            [
              [0, 0],
              [10, 0],
            ],
          ],
        },
      ],
    };
    const dense = await ask('densify', { sr: 3857, geometries: straight, maxSegmentLength: 2.5 });
    expect(dense.geometries[0].paths).toEqual([
      [
        [0, 0],
        [2.5, 0],
        [5, 0],
        [7.5, 0],
        [10, 0],
      ],
    ]);
  });

  it('measures', async () => {
    const polylines = [
      {
        paths: [
          [
            [0, 0],
            [0, 1],
          ],
        ],
      },
    ];
    const ground = await ask('lengths', { sr: 4326, polylines, calculationType: 'geodesic' });
    // A degree of the meridian at the equator on WGS 84.
    expect(ground.lengths[0]).toBeCloseTo(110_574.389, 2);
    const plane = await ask('lengths', {
      sr: 3857,
      polylines: [
        {
          paths: [
            [
              [0, 0],
              [3, 4],
            ],
          ],
        },
      ],
      lengthUnit: 9036,
    });
    expect(plane.lengths[0]).toBeCloseTo(0.005, 9);
    const sizes = await ask('areasAndLengths', {
      sr: 3857,
      polygons: [square(0, 0, 100)],
      areaUnit: { areaUnit: 'esriHectares' },
    });
    expect(sizes).toEqual({ areas: [1], lengths: [400] });
    const [a, b] = [{ geometry: { x: 0, y: 0 } }, { geometry: { x: 0, y: 1 } }];
    const far = await ask('distance', { sr: 4326, geometry1: a, geometry2: b, geodesic: true });
    expect(far.distance).toBeCloseTo(110_574.389, 2);
    const { labelPoints } = await ask('labelPoints', { sr: 3857, polygons: [square(0, 0, 10)] });
    expect(toGdal(square(0, 0, 10)).contains(new gdal.Point(labelPoints[0].x, labelPoints[0].y))).toBe(true);
  });

  it.each([
    ['project', { inSR: 4326, outSR: 999_999, geometries: '1,2' }, 'outSR'],
    ['project', { inSR: 4326, outSR: 3857, geometries: '1,NaN' }, 'geometries'],
    ['project', { inSR: 4326, outSR: 3857, geometries: '{"geometries":[' }, 'geometries'],
    [
      'simplify',
      {
        sr: 3857,
        geometries: {
          geometries: [
            {
              rings: [
                [
                  [0, 0],
                  [1, 1],
                ],
              ],
            },
          ],
        },
      },
      'geometries',
    ],
    ['simplify', { sr: 3857, geometries: { geometries: [{ rings: [] }] } }, 'geometries'],
    ['buffer', { inSR: 3857, geometries: '1,2', distances: 1e300 }, 'distances'],
    [
      'densify',
      { sr: 3857, geometries: polygons(square(0, 0, 10)), maxSegmentLength: 1e-12 },
      'maxSegmentLength',
    ],
    ['union', { geometries: polygons(square(0, 0, 10)) }, 'sr'],
  ])('%s refuses what is wrong', async (operation, members, parameter) => {
    const { error } = await ask(operation, members);
    expect(error.code).toBeGreaterThanOrEqual(400);
    expect(error.code).toBeLessThan(500);
    expect(JSON.stringify(error)).toContain(parameter);
  });
});
