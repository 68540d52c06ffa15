import { beforeAll, describe, expect, it } from 'vitest';
import { askGeometryServer, type Json, polyline, python, square } from '../../support/geometry-server.js';
import { type SharedServer, sharedServer } from '../../support/shared-server.js';

/** Spatial references that are spelled out, heights, and lines over the ground: as PROJ has them. */

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});

const ask = (operation: string, members: Record<string, unknown>): Promise<Json> =>
  askGeometryServer(server.url, operation, members);

/** The words of Esri for a plane that no authority has a number for. */
const ALBERS =
  'PROJCS["Custom_Albers",GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137.0,298.257223563]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Albers"],PARAMETER["False_Easting",1000.0],PARAMETER["False_Northing",0.0],PARAMETER["Central_Meridian",-60.5],PARAMETER["Standard_Parallel_1",-5.0],PARAMETER["Standard_Parallel_2",-42.0],PARAMETER["Latitude_Of_Origin",-32.0],UNIT["Meter",1.0]]';

const wkt2 = () => python(`pyproj.CRS.from_wkt(given).to_wkt("WKT2_2019")`, ALBERS) as string;

describe('spatial references', () => {
  it('are spelled out, in either version of WKT', async () => {
    const expected = python(
      'pyproj.Transformer.from_crs("EPSG:4326", pyproj.CRS.from_wkt(given), always_xy=True).transform(-55, -10)',
      ALBERS,
    );
    for (const outSR of [{ wkt: ALBERS }, { wkt2: wkt2() }]) {
      const { geometries } = await ask('project', { inSR: 4326, outSR, geometries: '-55,-10' });
      expect(geometries[0].x).toBeCloseTo(expected[0], 4);
      expect(geometries[0].y).toBeCloseTo(expected[1], 4);
      expect(geometries[0].spatialReference).toEqual({ wkt: Object.values(outSR)[0] });
    }
  });

  it('give units, and go before by number', async () => {
    const foot = ALBERS.replace('UNIT["Meter",1.0]', 'UNIT["Foot",0.3048]');
    const polylines = [
      polyline([
        [0, 0],
        [1000, 0],
      ]),
    ];
    expect((await ask('lengths', { sr: { wkt: foot }, polylines, lengthUnit: 9001 })).lengths[0]).toBeCloseTo(
      304.8,
      6,
    );
    const both = await ask('project', {
      inSR: { wkid: 102_100, latestWkid: 3857, wkt: ALBERS },
      outSR: 4326,
      geometries: '111319.49079327358,0',
    });
    expect(both.geometries[0].x).toBeCloseTo(1, 9);
  });

  it.each([
    ['no WKT', { wkt: 'PROJCS["' }],
    ['a PROJ string', { wkt: '+proj=longlat +nadgrids=/etc/passwd' }],
    ['heights', { wkt: 'VERTCRS["h",VDATUM["d"],CS[vertical,1],AXIS["up",up],LENGTHUNIT["metre",1]]' }],
    [
      'a file',
      { wkt: ALBERS.replace('PRIMEM', 'EXTENSION["PROJ4","+proj=longlat +nadgrids=/etc/passwd"],PRIMEM') },
    ],
    ['a number', { wkt: 4326 }],
    ['nothing', {}],
  ])('are refused in band: %s', async (_what, sr) => {
    const { error } = await ask('simplify', { sr, geometries: [square(0, 0, 1)] });
    expect([error.code, JSON.stringify(error)]).toEqual([400, expect.stringContaining('sr: ')]);
  });

  it('without a way to WGS 84 are no fault of ours', async () => {
    const local = { wkt: 'LOCAL_CS["site",UNIT["metre",1],AXIS["X",EAST],AXIS["Y",NORTH]]' };
    expect((await ask('areasAndLengths', { sr: local, polygons: [square(0, 0, 2)] })).areas).toEqual([4]);
    for (const [operation, members] of [
      ['project', { inSR: local, outSR: 4326, geometries: '1,1' }],
      ['project', { inSR: 4326, outSR: local, geometries: '1,1' }],
      [
        'lengths',
        {
          sr: local,
          polylines: [
            polyline([
              [0, 0],
              [1, 0],
            ]),
          ],
          calculationType: 'geodesic',
        },
      ],
      ['distance', { sr: local, geometry1: { x: 0, y: 0 }, geometry2: { x: 1, y: 0 }, geodesic: true }],
      ['buffer', { inSR: local, geometries: '1,1', distances: 1, geodesic: true }],
      ['toGeoCoordinateString', { sr: local, coordinates: [[1, 1]] }],
      [
        'distance',
        { sr: 32_725, geometry1: { x: 5e5, y: 9e6 }, geometry2: { x: 1e12, y: 1e12 }, geodesic: true },
      ],
    ] as const) {
      const answer = await ask(operation, members);
      expect([operation, answer.error?.code]).toEqual([operation, 400]);
    }
  });
});

describe('heights', () => {
  const slope = {
    hasZ: true,
    paths: [
      [
        [0, 0, 10],
        [4, 0.1, 11],
        [8, 0, 14],
      ],
    ],
  };

  it('stay through project, generalize and densify', async () => {
    const inSR = 3857;
    const there = await ask('project', { inSR, outSR: 4326, geometries: [slope] });
    expect(there.geometries[0].hasZ).toBe(true);
    expect(there.geometries[0].paths[0].map(([, , z]: number[]) => z)).toEqual([10, 11, 14]);
    const point = await ask('project', { inSR, outSR: 4326, geometries: [{ x: 0, y: 0, z: 7 }] });
    expect(point.geometries[0].z).toBe(7);
    const thin = await ask('generalize', { sr: inSR, geometries: [slope], maxDeviation: 1 });
    expect(thin.geometries[0].paths).toEqual([
      [
        [0, 0, 10],
        [8, 0, 14],
      ],
    ]);
    const dense = await ask('densify', { sr: inSR, geometries: thin.geometries, maxSegmentLength: 2 });
    expect(dense.geometries[0].paths).toEqual([
      [
        [0, 0, 10],
        [2, 0, 11],
        [4, 0, 12],
        [6, 0, 13],
        [8, 0, 14],
      ],
    ]);
  });

  it('are not made up', async () => {
    const flat = await ask('project', {
      inSR: 3857,
      outSR: 3857,
      geometries: [
        polyline([
          [0, 0],
          [4, 0],
        ]),
      ],
    });
    expect(flat.geometries[0]).not.toHaveProperty('hasZ');
    expect(flat.geometries[0].paths[0][0]).toHaveLength(2);
    const measure = {
      hasM: true,
      paths: [
        [
          [0, 0, 5],
          [4, 0, 6],
        ],
      ],
    };
    const { geometries } = await ask('project', { inSR: 3857, outSR: 3857, geometries: [measure] });
    expect(geometries[0].paths[0][0]).toHaveLength(2);
    expect((await ask('simplify', { sr: 3857, geometries: [slope] })).geometries[0].paths[0][0]).toHaveLength(
      2,
    );
  });
});

describe('densify over the ground', () => {
  it('takes the geodesic, as GeographicLib does', async () => {
    const [from, to] = [
      [-73.8, 40.6],
      [-0.5, 51.6],
    ];
    const answer = await ask('densify', {
      ...{ sr: 4326, geometries: [polyline([from!, to!])], maxSegmentLength: 1000, lengthUnit: 9036 },
      geodesic: true,
    });
    const [path] = answer.geometries[0].paths;
    // 5551.76 km: six equal parts.
    const expected = python('[list(p) for p in pyproj.Geod(ellps="WGS84").npts(*given[0], *given[1], 5)]', [
      from,
      to,
    ]);
    expect(path).toHaveLength(7);
    for (const [i, [lon, lat]] of expected.entries()) {
      expect(path[i + 1][0]).toBeCloseTo(lon, 8);
      expect(path[i + 1][1]).toBeCloseTo(lat, 8);
    }
  });

  it('works in a plane, across the antimeridian, and within bounds', async () => {
    const members = {
      sr: 3857,
      geometries: [
        polyline([
          [0, 8e6],
          [5e6, 8e6],
        ]),
      ],
      maxSegmentLength: 100_000,
      geodesic: true,
    };
    const { geometries } = await ask('densify', members);
    expect(Math.max(...geometries[0].paths[0].map(([, y]: number[]) => y))).toBeGreaterThan(8.1e6);
    const pacific = await ask('densify', {
      ...members,
      sr: 4326,
      geometries: [
        polyline([
          [170, 0],
          [190, 0],
        ]),
      ],
      maxSegmentLength: 600_000,
    });
    expect(pacific.geometries[0].paths[0].map(([x]: number[]) => Math.round(x!))).toEqual([
      170, 175, 180, 185, 190,
    ]);
    const { error } = await ask('densify', { ...members, maxSegmentLength: 1e-3 });
    expect([error.code, error.message]).toEqual([400, expect.stringContaining('maxSegmentLength')]);
  });
});
