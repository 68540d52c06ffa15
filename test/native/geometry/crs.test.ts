import { describe, expect, it } from 'vitest';
import {
  describeCrs,
  geometryToGeoJSON,
  namesFile,
  transformBox,
  transformPoints,
} from '../../../src/native/index.js';
import { decode, HALF_WORLD, openDatabase, type Position, wkb } from '../support.js';

const db = openDatabase();

function transform(xy: number[], from: string, to: string): number[] {
  const points = Float64Array.from(xy);
  transformPoints(points, from, to);
  return [...points];
}

function degrees(d: number, m: number, s: number): number {
  return Math.sign(d) * (Math.abs(d) + m / 60 + s / 3600);
}

describe('coordinate transformation', () => {
  // The worked examples of the IOGP Guidance Note 7-2.
  it.each([
    ['British National Grid', 'EPSG:4277', 'EPSG:27700', [0.5, 50.5], [577274.99, 69740.5]],
    [
      'Jamaica National Grid',
      'EPSG:4242',
      'EPSG:24200',
      [degrees(-76, 56, 37.26), degrees(17, 55, 55.8)],
      [255966.58, 142493.51],
    ],
    [
      'Australian Antarctic Polar Stereographic',
      'EPSG:4326',
      'EPSG:3032',
      [120, -75],
      [7255380.79, 7053389.56],
    ],
  ])('agrees with the worked example of %s', (_, from, to, input, expected) => {
    const [x, y] = transform(input, from, to) as [number, number];
    expect(Math.abs(x - expected[0]!)).toBeLessThan(0.01);
    expect(Math.abs(y - expected[1]!)).toBeLessThan(0.01);
    const [bx, by] = transform([x, y], to, from) as [number, number];
    expect(Math.abs(bx - input[0]!)).toBeLessThan(1e-8);
    expect(Math.abs(by - input[1]!)).toBeLessThan(1e-8);
  });

  it('computes Web Mercator as PROJ does', () => {
    for (let lat = -85; lat <= 85; lat += 8.5) {
      for (let lon = -179; lon <= 179; lon += 17.9) {
        const closed = transform([lon, lat], 'EPSG:4326', 'EPSG:3857');
        // The same projection as a PROJ string is not recognised, so it goes through PROJ.
        const proj = transform([lon, lat], 'EPSG:4326', '+proj=webmerc +datum=WGS84 +units=km +type=crs');
        expect(Math.abs(closed[0]! - proj[0]! * 1000)).toBeLessThan(1e-6);
        expect(Math.abs(closed[1]! - proj[1]! * 1000)).toBeLessThan(1e-6);
        const [backLon, backLat] = transform(closed, 'EPSG:3857', 'OGC:CRS84') as [number, number];
        expect(Math.abs(backLon - lon)).toBeLessThan(1e-10);
        expect(Math.abs(backLat - lat)).toBeLessThan(1e-10);
      }
    }
  });

  it('shifts NAD27 to WGS 84', () => {
    const [lon, lat] = transform([-80, 35.5], 'EPSG:4267', 'OGC:CRS84') as [number, number];
    expect(Math.abs(lon + 80)).toBeGreaterThan(1e-5);
    expect(Math.hypot(lon + 80, lat - 35.5)).toBeLessThan(1e-3);
  });

  it('clamps latitudes beyond the square world, for every geographic source', () => {
    for (const from of ['EPSG:4326', 'EPSG:4269', 'EPSG:4258']) {
      const [, south, , north] = transform([0, -90, 0, 90], from, 'EPSG:3857');
      expect(south).toBeCloseTo(-HALF_WORLD, 2);
      expect(north).toBeCloseTo(HALF_WORLD, 2);
    }
  });

  it('takes WKT for the CRS it spells', () => {
    const wkt = describeCrs('EPSG:4326').wkt;
    expect(transform([10, 50], wkt, 'EPSG:3857')).toEqual(transform([10, 50], 'EPSG:4326', 'EPSG:3857'));
  });

  it('marks positions without an image, and keeps the others', () => {
    const points = transform([9, 50, 9, 1e6, 10, 51], 'EPSG:4326', 'EPSG:25832');
    expect(points.slice(2, 4)).toEqual([Infinity, Infinity]);
    expect(points.filter(Number.isFinite)).toHaveLength(4);
  });

  it('never lets such a position into the output', () => {
    const line: Position[] = [
      [9, 50],
      [9, 1e6],
      [10, 51],
    ];
    const good: Position[] = [
      [9, 50],
      [10, 51],
    ];
    const blob = wkb({ type: 'MultiLineString', coordinates: [line, good] });
    const geometry = JSON.parse(geometryToGeoJSON(blob, { from: 'EPSG:4326', to: 'EPSG:25832' }));
    expect(geometry.coordinates).toHaveLength(1);
    const options = { layer: 'a', from: 'EPSG:4326', to: 'EPSG:25832', bbox: [0, 5e6, 1e6, 6e6] };
    const tile = db
      .prepare<unknown[], Buffer>('SELECT gr_mvt(?, 1, ?)')
      .pluck()
      .get(JSON.stringify(options), blob)!;
    expect(decode(tile).a!.feature(0).loadGeometry()).toHaveLength(1);
  });

  it('cuts Antarctica outside of the tile instead of losing it', () => {
    const ring: Position[] = [
      [-180, -90],
      [180, -90],
      [180, -70],
      [0, -65],
      [-180, -70],
      [-180, -90],
    ];
    const options = { layer: 'a', from: 'EPSG:4326', to: 'EPSG:3857' };
    const bbox = [-HALF_WORLD, -HALF_WORLD, HALF_WORLD, HALF_WORLD];
    const tile = db
      .prepare<unknown[], Buffer>('SELECT gr_mvt(?, 1, ?)')
      .pluck()
      .get(JSON.stringify({ ...options, bbox }), wkb({ type: 'Polygon', coordinates: [ring] }))!;
    const ys = decode(tile)
      .a!.feature(0)
      .loadGeometry()[0]!
      .map((p) => p.y);
    expect(Math.max(...ys)).toBe(4096 + 64);
  });
});

describe('transformBox and gr_transform_box', () => {
  it('densifies edges', () => {
    const [, miny, , maxy] = transformBox([-10, 40, 30, 60], 'EPSG:4326', 'EPSG:3035');
    const corners = transform([-10, 40, 30, 40, 30, 60, -10, 60], 'EPSG:4326', 'EPSG:3035');
    const ys = [1, 3, 5, 7].map((i) => corners[i]!);
    expect(miny).toBeLessThan(Math.min(...ys));
    expect(maxy).toBeGreaterThanOrEqual(Math.max(...ys));
  });

  it('answers the same in SQL', () => {
    const sql = db.prepare('SELECT gr_transform_box(?, ?, ?, ?, ?, ?)').pluck();
    const box = [-84.3, 33.8, -75.4, 36.6] as const;
    const inSql = JSON.parse(sql.get(...box, 'EPSG:4267', 'EPSG:3857') as string);
    expect(inSql).toEqual(transformBox(box, 'EPSG:4267', 'EPSG:3857'));
    expect(() => sql.get(0, 0, 1, 'x', 'EPSG:4326', 'EPSG:3857')).toThrow(/four numbers/);
    expect(() => sql.get(0, 0, 1, 1, 'EPSG:4326', 'nowhere')).toThrow(
      /unknown coordinate reference system: nowhere/,
    );
  });

  it('crosses the antimeridian with minx > maxx', () => {
    const box = transformBox([1.6e6, 5e6, 3.2e6, 6e6], 'EPSG:2193', 'EPSG:4326');
    expect(box[0]).toBeGreaterThan(box[2]);
  });

  it('covers the whole world in Web Mercator', () => {
    const box = transformBox([-180, -90, 180, 90], 'EPSG:4326', 'EPSG:3857');
    box.forEach((v) => {
      expect(Math.abs(v)).toBeCloseTo(HALF_WORLD, 3);
    });
  });
});

describe('definitions that name files', () => {
  const wkt = describeCrs('EPSG:4326').wkt1!;
  const withExtension = (text: string) =>
    wkt.replace(/,AUTHORITY\["EPSG","4326"\]\]$/, `,EXTENSION["PROJ4","${text}"]]`);
  const bound = (file: string) => `BOUNDCRS[SOURCECRS[${describeCrs('EPSG:4267').wkt}],
    TARGETCRS[${describeCrs('EPSG:4326').wkt}],
    ABRIDGEDTRANSFORMATION["a",METHOD["NTv2"],PARAMETERFILE["Latitude and longitude difference file","${file}"]]]`;
  const json = (file: string) =>
    JSON.stringify({
      type: 'BoundCRS',
      parameters: [{ name: 'Latitude and longitude difference file', value: file }],
    });
  const paths = ['/etc/passwd', '@/etc/passwd', '../grid.gsb', './grid.gsb', '~/grid', 'null,/etc/passwd'];
  const urls = ['https://example.org/grid.tif', '@http://example.org/a', '\\\\host\\share'];

  it('open none', () => {
    for (const path of [...paths, ...urls]) {
      const texts = [
        `+proj=longlat +ellps=GRS80 +nadgrids=${path} +no_defs +type=crs`,
        `+proj=longlat +ellps=GRS80 +NADGRIDS = "${path}" +type=crs`,
        `+proj=longlat +datum=WGS84 +geoidgrids=${path} +type=crs`,
        `+proj=pipeline +step +proj=hgridshift +grids=${path}`,
        `+proj=defmodel +model=${path}`,
        `+init=${path}:4326 +type=crs`,
        `init=${path}:4326`,
        withExtension(`+proj=longlat +nadgrids=${path} +wktext`),
        bound(path),
        json(path),
        `VERT_CS["v",VERT_DATUM["d",2005,EXTENSION["PROJ4_GRIDS","${path}"]],UNIT["m",1.0]]`,
      ];
      for (const text of texts) {
        expect([text, namesFile(text)]).toEqual([text, true]);
        expect(() => describeCrs(text)).toThrow(/unknown coordinate reference system/);
        expect(() => transform([1, 2], text, 'EPSG:3857')).toThrow(/unknown coordinate reference system/);
      }
    }
  });

  it('are no others', () => {
    const plain = [
      ...['EPSG:4326', 'EPSG:3857', 'EPSG:27700', 'EPSG:2056'].flatMap((code) => {
        const { wkt, wkt1 = wkt, projjson = wkt } = describeCrs(code);
        return [code, wkt, wkt1, projjson];
      }),
      ...['urn:ogc:def:crs:EPSG::4326', 'http://www.opengis.net/def/crs/OGC/1.3/CRS84'],
      '+proj=merc +a=6378137 +b=6378137 +lat_ts=0 +lon_0=0 +x_0=0 +y_0=0 +k=1 +units=m +nadgrids=@null +wktext +no_defs',
      '+proj=longlat +ellps=bessel +nadgrids=BETA2007.gsb +type=crs',
      withExtension('+proj=longlat +datum=WGS84 +nadgrids=@null'),
      bound('BETA2007.gsb'),
      '+init=epsg:4326 +type=crs',
    ];
    for (const text of plain) expect([text, namesFile(text)]).toEqual([text, false]);
  });
});

describe('describeCrs', () => {
  it.each([
    ['EPSG:4326', 'EPSG', '4326', true, true, 'degree'],
    ['OGC:CRS84', 'OGC', 'CRS84', true, false, 'degree'],
    ['EPSG:3857', 'EPSG', '3857', false, false, 'metre'],
    ['EPSG:2193', 'EPSG', '2193', false, true, 'metre'],
    ['EPSG:32661', 'EPSG', '32661', false, true, 'metre'],
    ['EPSG:2264', 'EPSG', '2264', false, false, 'US survey foot'],
    ['http://www.opengis.net/def/crs/EPSG/0/25832', 'EPSG', '25832', false, false, 'metre'],
    ['urn:ogc:def:crs:EPSG::3035', 'EPSG', '3035', false, true, 'metre'],
  ])('describes %s', (text, authority, code, isGeographic, axisSwapped, unit) => {
    const crs = describeCrs(text);
    expect(crs).toMatchObject({ authority, code, isGeographic, axisSwapped, unit });
    expect(crs.wkt).toMatch(/CRS\[/);
    expect(JSON.parse(crs.projjson!)).toMatchObject({ name: crs.name });
    expect(crs.name.length).toBeGreaterThan(3);
  });

  it('knows units and areas', () => {
    expect(describeCrs('EPSG:4326').metresPerUnit).toBeCloseTo(111319.4908, 4);
    expect(describeCrs('EPSG:2264').metresPerUnit).toBeCloseTo(0.3048006, 7);
    const [west, , east] = describeCrs('EPSG:25832').areaOfUse!;
    expect(west).toBe(6);
    expect(east).toBe(12.01);
  });

  it('finds the code of WKT that has none', () => {
    const wkt = describeCrs('EPSG:25832').wkt1!.replaceAll(/,AUTHORITY\["EPSG","\d+"\]/g, '');
    expect(describeCrs(wkt)).toMatchObject({ authority: 'EPSG', code: '25832' });
  });

  it.each([
    '',
    'nope',
    'WGS',
    'EPSG:0',
    'EPSG:4326\0',
    '+proj=pipeline +step +proj=merc',
    '{}',
    '[',
    'x'.repeat(1e5),
  ])('refuses %j', (text) => {
    expect(() => describeCrs(text)).toThrow(/unknown coordinate reference system/);
  });
});
