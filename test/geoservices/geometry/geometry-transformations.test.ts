import { beforeAll, describe, expect, it } from 'vitest';
import { askGeometryServer, type Json, python, square } from '../../support/geometry-server.js';
import { type SharedServer, sharedServer } from '../../support/shared-server.js';

/** Transformations between datums are those of EPSG, and compute what their parameters say. */

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});

const ask = (operation: string, members: Record<string, unknown>): Promise<Json> =>
  askGeometryServer(server.url, operation, members);
const find = async (members: Record<string, unknown>): Promise<Json> => {
  const answer = await ask('findTransformations', members);
  return answer.transformations ?? answer;
};

/** EPSG:1314 and EPSG:1195 as PROJ writes them: position vectors and shifts. */
const PETROLEUM = '+towgs84=446.448,-125.157,542.06,0.15,0.247,0.842,-20.489';
const SHIFT = '+towgs84=375,-111,431';

describe('findTransformations', () => {
  it('names them in either direction', async () => {
    const [there] = await find({ inSR: 4277, outSR: 4326 });
    expect(there).toEqual({ wkid: 1314, latestWkid: 1314, name: 'OSGB36 to WGS 84 (6)' });
    expect(await find({ inSR: 4326, outSR: 27_700 })).toEqual([
      { geoTransforms: [{ ...there, transformForward: false }] },
    ]);
  });

  it('heeds how many, and where', async () => {
    const all = await find({ inSR: 4277, outSR: 4326, numOfResults: -1 });
    expect(all.length).toBeGreaterThan(3);
    expect(await find({ inSR: 4277, outSR: 4326, numOfResults: 2 })).toEqual(all.slice(0, 2));
    const scotland = { xmin: -4, ymin: 57, xmax: -3, ymax: 58 };
    const there = await find({ inSR: 4277, outSR: 4326, numOfResults: -1, extentOfInterest: scotland });
    const names = (list: Json[]) => list.map(({ name }) => name);
    expect(names(all)).toContain('OSGB36 to WGS 84 (5)');
    // Wales.
    expect(names(there)).not.toContain('OSGB36 to WGS 84 (5)');
    expect(await find({ inSR: 4326, outSR: 3857, numOfResults: -1 })).toEqual([]);
  });

  it.each([
    [{ inSR: 4277 }, 'outSR'],
    [{ inSR: 4277, outSR: 4326, numOfResults: 0 }, 'numOfResults'],
    [{ inSR: 4277, outSR: 4326, extentOfInterest: '1,2' }, 'extentOfInterest'],
    [{ inSR: 4277, outSR: 4326, vertical: true }, 'vertical: must be false'],
  ])('refuses what is wrong', async (members, parameter) => {
    const { error } = await find(members);
    expect([error.code, JSON.stringify(error)]).toEqual([400, expect.stringContaining(parameter)]);
  });
});

describe('project', () => {
  const by = async (transformation: unknown, more: object = {}) => {
    const members = { inSR: 27_700, outSR: 4326, geometries: '400000,300000', transformation, ...more };
    const answer = await ask('project', members);
    return answer.geometries?.[0] ?? answer;
  };

  it.each([
    [1314, PETROLEUM],
    [1195, SHIFT],
  ])('takes transformation %d', async (wkid, towgs84) => {
    const [lon, lat] = python(
      `pyproj.Transformer.from_crs("+proj=tmerc +lat_0=49 +lon_0=-2 +k=0.9996012717 +x_0=400000 +y_0=-100000 +ellps=airy ${towgs84} +type=crs", "EPSG:4326", always_xy=True).transform(400000, 300000)`,
      null,
    );
    for (const transformation of [wkid, { wkid }, { geoTransforms: [{ wkid, transformForward: true }] }]) {
      const { x, y } = await by(transformation);
      expect([x, y]).toEqual([expect.closeTo(lon, 8), expect.closeTo(lat, 8)]);
    }
    const members = { inSR: 4326, outSR: 27_700, transformation: wkid, transformForward: false };
    const back = await ask('project', { ...members, geometries: `${lon},${lat}` });
    // Without heights the way back is not exact.
    expect(back.geometries[0].x).toBeCloseTo(400_000, 2);
  });

  it('takes areas, and heights as they are', async () => {
    const { rings, spatialReference } = await by({ wkid: 1314 }, { geometries: [square(4e5, 3e5, 100)] });
    expect([rings[0].length, spatialReference.wkid]).toEqual([5, 4326]);
    expect(rings[0][0]).toEqual(rings[0][4]);
    expect((await by(1314, { geometries: [{ x: 4e5, y: 3e5, z: 12 }] })).z).toBe(12);
  });

  it.each([
    [1173, {}],
    ['1314', { transformForward: false }],
    [{ wkt: 'GEOGTRAN[]' }, {}],
    [{ geoTransforms: [] }, {}],
    ['x', {}],
  ])('refuses a transformation that does not fit', async (transformation, more) => {
    const { error } = await by(transformation, more);
    expect([error.code, JSON.stringify(error)]).toEqual([400, expect.stringContaining('transformation')]);
  });
});
