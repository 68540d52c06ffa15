import { beforeAll, describe, expect, it } from 'vitest';
import { askGeometryServer, type Json } from '../../support/geometry-server.js';
import { type SharedServer, sharedServer } from '../../support/shared-server.js';

/** Places as text are those of Esri's reference and tests, and of GEOTRANS (the package mgrs of PyPI). */

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});

const write = async (coordinates: number[][], members: object): Promise<Json> => {
  const answer = await askGeometryServer(server.url, 'toGeoCoordinateString', {
    sr: 4326,
    coordinates,
    ...members,
  });
  return answer.strings ?? answer;
};
const read = async (strings: string[], members: object): Promise<Json> => {
  const answer = await askGeometryServer(server.url, 'fromGeoCoordinateString', {
    sr: 4326,
    strings,
    ...members,
  });
  return answer.coordinates ?? answer;
};

/** What GEOTRANS writes, cut off to metres. */
const GEOTRANS: [lon: number, lat: number, mgrs: string][] = [
  [-117, 34, '11SNT0000062155'],
  [0, 52, '31UBT9407165288'],
  [-34.9, -8.05, '25LBM9061009688'],
  [5.2, 60.5, '32VKN9133013123'],
  [15.6, 78.2, '33XWG1369680760'],
  [8.999, 75, '31XFD7303932366'],
  [30, 85.5, 'ZCC4992667113'],
  [-120.25, -87.3, 'AXL4100648959'],
  [170, 89.9, 'ZAH0192710933'],
  [45, -80, '38CNS0000018414'],
  [2.2945, 48.8584, '31UDQ4825211954'],
  [151.2153, -33.8568, '56HLH3490052288'],
  [-74.044502, 40.689247, '18TWL8073504700'],
  [0, 0, '31NAA6602100000'],
  [179.9999, -0.0001, '60MZE3396799988'],
  [33, 72, '37XBV9336399233'],
  [170, -45, '59GML2118416563'],
  [6, 83.99, '31XEP3505227890'],
];

describe('toGeoCoordinateString', () => {
  it('answers the example of the reference', async () => {
    const members = { conversionMode: 'mgrsNewWith180InZone01', numOfDigits: 8, addSpaces: true };
    expect(
      await write(
        [
          [180, 0],
          [-117, 34],
          [0, 52],
        ],
        members,
      ),
    ).toEqual(['01N AA 66021443 00000000', '11S NT 00000000 62155978', '31U BT 94071081 65288255']);
    expect(await write([[180, 0]], {})).toEqual(['60NZF3397900000']);
  });

  it('writes MGRS as GEOTRANS does', async () => {
    const places = GEOTRANS.map(([lon, lat]) => [lon, lat]);
    expect(await write(places, { conversionType: 'MGRS', rounding: false })).toEqual(
      GEOTRANS.map(([, , text]) => text),
    );
  });

  it.each([
    ['USNG', '05S QD 50155047 77006597', 8],
    ['UTM', '05S 750155 4377006', 8],
    ['GeoRef', 'BJQK5457069330378216', 8],
    ['GARS', '060LV48', 8],
    ['DMS', '39 30 22.69296N 150 05 25.75842W', 5],
    ['DDM', '39 30.378216N 150 05.429307W', 6],
    ['DD', '39.50630360N 150.09048845W', 8],
  ])('writes %s as Esri does', async (conversionType, text, numOfDigits) => {
    const [written] = await write([[-150.09048845, 39.5063036]], { conversionType, numOfDigits });
    // The position has eight decimals: millimetres are not told.
    const metres = (one: string) => one.replace(/(\d{5})\d{3}\b/g, '$1');
    expect(metres(written)).toBe(metres(text));
  });

  it('rounds to a whole degree or square, and heeds modes', async () => {
    expect(await write([[9.9999999, 49.9999999]], { conversionType: 'DMS' })).toEqual([
      '50 00 00.00N 010 00 00.00E',
    ]);
    expect(await write([[-0.5, -0.25]], { conversionType: 'DD', numOfDigits: 0 })).toEqual(['00S 001W']);
    expect(await write([[-70.5, -33.4]], { conversionType: 'UTM', conversionMode: 'utmNorthSouth' })).toEqual(
      ['19S 360505 6303362'],
    );
    expect(await write([[-70.5, -33.4]], { conversionType: 'UTM', addSpaces: false })).toEqual([
      '19H3605056303362',
    ]);
    expect(await write([[0, 0]], { conversionType: 'UTM', sr: 3857 })).toEqual(['31N 166021 0000000']);
  });

  it.each([
    ['at a pole', [0, 90], { conversionType: 'MGRS' }, 'ZAH0000000000'],
    ['short of a square', [-179.9999999, 84], { numOfDigits: 1, rounding: false }, 'YZP96'],
    ['as a square', [26, -41], { numOfDigits: 0 }, '35GMQ'],
    ['in a square that no part of the band is in', [-24.5679, -0.0204], { numOfDigits: 1 }, '26NQF70'],
    [
      'in minutes of two digits',
      [-150.09048845, 39.5063036],
      { conversionType: 'GeoRef', numOfDigits: 1 },
      'BJQK5530',
    ],
    ['at the end of GEOREF', [180, 90], { conversionType: 'GeoRef', numOfDigits: 4 }, 'ZMQQ59995999'],
    ['at the end of GARS', [180, 90], { conversionType: 'GARS' }, '720QZ23'],
    ['on the equator', [-1e-12, -0], { conversionType: 'DD', numOfDigits: 0 }, '00N 000W'],
  ])('writes a position %s', async (_, position, members, text) => {
    expect(await write([position], members)).toEqual([text]);
  });

  it.each([
    [[[0, 100]], {}, 'coordinates'],
    [[[0]], {}, 'coordinates'],
    [[[0, 0]], { conversionType: 'Maidenhead' }, 'conversionType'],
    [[[0, 0]], { conversionMode: 'mgrsOldStyle' }, 'conversionMode'],
    [[[0, 0]], { numOfDigits: 11 }, 'numOfDigits'],
    [[[0, 89]], { conversionType: 'UTM' }, 'coordinates'],
    [[], {}, 'coordinates'],
  ])('refuses what is wrong', async (coordinates, members, parameter) => {
    const { error } = await write(coordinates, members);
    expect([error.code, JSON.stringify(error)]).toEqual([400, expect.stringContaining(parameter)]);
  });
});

describe('fromGeoCoordinateString', () => {
  it('reads MGRS: the lower left corner of a metre', async () => {
    const places = await read(
      GEOTRANS.map(([, , text]) => text),
      {},
    );
    for (const [i, [lon, lat]] of GEOTRANS.entries()) {
      const metres =
        Math.hypot((places[i][0] - lon) * Math.cos((lat * Math.PI) / 180), places[i][1] - lat) * 111_320;
      expect([GEOTRANS[i]![2], metres < Math.SQRT2]).toEqual([GEOTRANS[i]![2], true]);
    }
  });

  it.each([
    ['USNG', '05S QD 50155047 77006597', 8],
    ['UTM', '05S 750155 4377006', 4],
    ['GeoRef', 'BJQK5457069330378216', 7],
    ['DMS', '39 30 22.69294831N 150 05 25.75842234W', 7],
    ['DDM', "39°30.37821581'N, 150°05.42930704'W", 7],
    ['DMS', 'n 39_30_22.69294831 , w150 05 25.75842234', 7],
    ['USNG', '5s qd 50155047 77006597', 7],
    ['DD', '150.09048845W 39.50630360N', 7],
    ['DD', '39.50630360 -150.09048845', 7],
  ])('reads %s', async (conversionType, text, decimals) => {
    const [[lon, lat]] = await read([text], { conversionType });
    expect(lon).toBeCloseTo(-150.09048845, Math.min(decimals, 7));
    expect(lat).toBeCloseTo(39.5063036, Math.min(decimals, 7));
  });

  it('reads cells, and into another reference', async () => {
    const [[x, y]] = await read(['060LV48'], { conversionType: 'GARS' });
    expect([x, y]).toEqual([expect.closeTo(-150.1666667, 6), expect.closeTo(39.5, 6)]);
    const [[cx, cy]] = await read(['060LV48'], { conversionType: 'GARS', conversionMode: 'garsCenter' });
    expect([cx, cy]).toEqual([expect.closeTo(-150.125, 6), expect.closeTo(39.5416667, 6)]);
    const [[mx]] = await read(['0 90'], { conversionType: 'DD', sr: 3857 });
    expect(mx).toBeCloseTo(10_018_754.17, 1);
    const [[, south]] = await read(['19S 360505 6303362'], {
      conversionType: 'UTM',
      conversionMode: 'utmNorthSouth',
    });
    expect(south).toBeCloseTo(-33.4, 4);
  });

  it.each([
    ['MGRS', '99SQD5015577006'],
    ['MGRS', '05SQD5015577'],
    ['MGRS', '05SID5015577006'],
    ['MGRS', '05CQF5015577006'],
    ['UTM', '61S 750155 4377006'],
    ['GeoRef', 'BJQK6157069330378216'],
    ['GARS', '721LV48'],
    ['MGRS', '31U'],
    ['MGRS', 'INVALID'],
    ['GeoRef', 'BJ'],
    ['UTM', '31N 999999 9999999'],
    ['DMS', '39 61 22N 150 05 25W'],
    ['DMS', '39 30 22 150 05'],
    ['DD', '-10N 20E'],
    ['DD', '10N 181E'],
    ['DD', '91N 20E'],
    ['DD', '10N 20N'],
    ['DD', ''],
  ])('refuses %s that tells no place', async (conversionType, text) => {
    const { error } = await read([text], { conversionType });
    expect([error.code, JSON.stringify(error)]).toEqual([400, expect.stringContaining('strings: number 0')]);
  });
});
