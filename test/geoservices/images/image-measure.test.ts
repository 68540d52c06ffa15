import { beforeAll, expect, it } from 'vitest';
import { type Json, python } from '../../support/geometry-server.js';
import { type SharedServer, sharedServer } from '../../support/shared-server.js';

/** Measures of an image service are those of PROJ's geodesics. */

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});

async function measure(members: Record<string, unknown>): Promise<Json> {
  const query = new URLSearchParams({ f: 'json' });
  for (const [name, value] of Object.entries(members))
    query.set(name, typeof value === 'string' ? value : JSON.stringify(value));
  const path = `/rest/services/olinda_dem_utm25s/ImageServer/measure?${query}`;
  return (await fetch(`${server.url}${path}`)).json();
}

const FROM = { x: -34.9, y: -8.02, spatialReference: { wkid: 4326 } };
const TO = { x: -34.86, y: -7.98, spatialReference: { wkid: 4326 } };
const DISTANCE = 'esriMensurationDistanceAndAngle';

it('tells how far a place is, and in which direction', async () => {
  const [azimuth, , metres] = python(
    `pyproj.Geod(ellps="WGS84").inv(given[0], given[1], given[2], given[3])`,
    [FROM.x, FROM.y, TO.x, TO.y],
  ) as [number, number, number];
  const answer = await measure({ fromGeometry: FROM, toGeometry: TO, measureOperation: DISTANCE });
  expect(answer).toMatchObject({
    ...{ sensorName: '', distance: { unit: 'esriMeters', uncertainty: null } },
    azimuthAngle: { unit: 'esriDUDecimalDegrees' },
  });
  expect(answer.distance.value).toBeCloseTo(metres, 4);
  expect(answer.azimuthAngle.value).toBeCloseTo(azimuth, 6);
  const miles = await measure({
    ...{ fromGeometry: FROM, toGeometry: TO, measureOperation: DISTANCE },
    ...{ linearUnit: 'esriMiles', angularUnit: 'esriDURadians' },
  });
  expect(miles.distance.value).toBeCloseTo(metres / 1609.344, 6);
  expect(miles.azimuthAngle.value).toBeCloseTo((azimuth * Math.PI) / 180, 8);
});

it('tells areas and perimeters of what is sent in any spatial reference', async () => {
  const [west, south, east, north] = [290_500, 9_114_500, 291_500, 9_115_500];
  const ring = [
    [west, south],
    [west, north],
    [east, north],
    [east, south],
    [west, south],
  ];
  const [area, perimeter] = python(
    `pyproj.Geod(ellps="WGS84").geometry_area_perimeter(shapely.ops.transform(pyproj.Transformer.from_crs("EPSG:31985", "EPSG:4674", always_xy=True).transform, shapely.geometry.Polygon(given)))`,
    ring,
  ) as [number, number];
  const answer = await measure({
    ...{
      fromGeometry: { rings: [ring], spatialReference: { wkid: 31_985 } },
      geometryType: 'esriGeometryPolygon',
    },
    ...{ measureOperation: 'esriMensurationAreaAndPerimeter', areaUnit: 'esriHectares' },
  });
  expect(answer.error).toBeUndefined();
  expect(answer.area.value).toBeCloseTo(Math.abs(area) / 10_000, 3);
  expect(answer.perimeter.value).toBeCloseTo(perimeter, 2);
});

it('tells middles', async () => {
  const { point } = await measure({ fromGeometry: '-34.9,-8.02' });
  expect(point.value).toMatchObject({ x: -34.9, y: -8.02 });
  const rings = [
    [0, 0],
    [0, 3],
    [3, 0],
    [0, 0],
  ];
  const centroid = await measure({
    ...{ fromGeometry: { rings: [rings], spatialReference: { wkid: 4326 } } },
    ...{ geometryType: 'esriGeometryPolygon', measureOperation: 'esriMensurationCentroid' },
  });
  expect(centroid.point.value.x).toBeCloseTo(1, 9);
});

it.each([
  ['fromGeometry', {}],
  ['fromGeometry', { fromGeometry: 'nonsense' }],
  ['toGeometry', { fromGeometry: FROM, measureOperation: DISTANCE }],
  ['measureOperation', { fromGeometry: FROM, measureOperation: 'esriMensurationHeightFromBaseAndTop' }],
  ['fromGeometry', { fromGeometry: FROM, measureOperation: 'esriMensurationAreaAndPerimeter' }],
  ['toGeometry', { fromGeometry: FROM, toGeometry: { ...TO, y: 95 }, measureOperation: DISTANCE }],
  ['linearUnit', { fromGeometry: FROM, toGeometry: TO, measureOperation: DISTANCE, linearUnit: 'ells' }],
])('names what is wrong: %s', async (name, members) => {
  const { error } = await measure(members);
  expect([error?.code, error?.message]).toEqual([400, expect.stringContaining(name)]);
});
