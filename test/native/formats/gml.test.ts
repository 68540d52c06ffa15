import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openDatabase, type Shape, WORLD_MAP, wkb } from '../support.js';

const db = openDatabase();
const OPTIONS = { fields: [], from: 'EPSG:4326', to: 'EPSG:4326', type: 'road', geometry: 'geom' };

const gml = (options: object, id: unknown, geometry: Buffer | null, ...values: unknown[]) =>
  (
    db
      .prepare(`SELECT gr_gml(?, ?, ?${', ?'.repeat(values.length)})`)
      .pluck()
      .get(JSON.stringify({ ...OPTIONS, ...options }), id, geometry, ...values) as Buffer
  ).toString();

const geometryOf = (shape: Shape, options = {}, dimension: 'XY' | 'XYZ' = 'XY') =>
  /<app:geom>(.*)<\/app:geom>/.exec(gml(options, 5n, wkb(shape, { dimension })))?.[1];

const HEAD = `<?xml version="1.0" encoding="UTF-8"?>
<sf:FeatureCollection xmlns:sf="http://www.opengis.net/ogcapi-features-1/1.0/sf"
  xmlns:gml="http://www.opengis.net/gml/3.2" xmlns:app="http://example.org/app">`;
const document = (members: string) => `${HEAD}${members}</sf:FeatureCollection>`;

/** Every element and its text, by a parser that refuses what is not well-formed. */
function parsed(xml: string): [name: string, text: string, id: string | null][] {
  const script = `import sys, json, xml.etree.ElementTree as t
print(json.dumps([[e.tag.split('}')[1], e.text or '', e.get('{http://www.opengis.net/gml/3.2}id')] for e in t.fromstring(sys.stdin.buffer.read()).iter()]))`;
  return JSON.parse(execFileSync('python3', ['-c', script], { input: xml, encoding: 'utf8' }));
}

describe('gr_gml', () => {
  it('writes a feature with its properties', () => {
    const fields = [{ name: 'open', type: 'boolean' }, 'name', 'lanes', 'width', 'none', 'blob'];
    const text = gml(
      { fields, srsName: 'urn:x?a&b' },
      5n,
      wkb({ type: 'Point', coordinates: [1, 2] }),
      1n,
      'a<b>&"c"',
      2n,
      0.5,
      null,
      Buffer.from('hi'),
    );
    expect(text).toBe(
      '<sf:featureMember><app:road gml:id="f.5"><app:geom>' +
        '<gml:Point gml:id="g0.5" srsName="urn:x?a&amp;b"><gml:pos>1 2</gml:pos></gml:Point></app:geom>' +
        '<app:open>true</app:open><app:name>a&lt;b&gt;&amp;&quot;c&quot;</app:name><app:lanes>2</app:lanes>' +
        '<app:width>0.5</app:width><app:blob>aGk=</app:blob></app:road></sf:featureMember>',
    );
  });

  it('writes every type of geometry of the Simple Features profile', () => {
    const square = [
      [0, 0],
      [1, 0],
      [1, 1],
      [0, 0],
    ];
    const ring = '<gml:LinearRing><gml:posList>0 0 1 0 1 1 0 0</gml:posList></gml:LinearRing>';
    const polygon = (n: number) =>
      `<gml:Polygon gml:id="g${n}.5"><gml:exterior>${ring}</gml:exterior></gml:Polygon>`;
    expect(
      geometryOf({
        type: 'LineString',
        coordinates: [
          [0, 0],
          [1, 1],
        ],
      }),
    ).toBe('<gml:LineString gml:id="g0.5"><gml:posList>0 0 1 1</gml:posList></gml:LineString>');
    expect(geometryOf({ type: 'Polygon', coordinates: [square, square] })).toBe(
      `<gml:Polygon gml:id="g0.5"><gml:exterior>${ring}</gml:exterior><gml:interior>${ring}</gml:interior></gml:Polygon>`,
    );
    expect(
      geometryOf({
        type: 'MultiPoint',
        coordinates: [
          [1, 2],
          [3, 4],
        ],
      }),
    ).toBe(
      '<gml:MultiPoint gml:id="g0.5"><gml:pointMember><gml:Point gml:id="g1.5"><gml:pos>1 2</gml:pos></gml:Point></gml:pointMember>' +
        '<gml:pointMember><gml:Point gml:id="g2.5"><gml:pos>3 4</gml:pos></gml:Point></gml:pointMember></gml:MultiPoint>',
    );
    expect(geometryOf({ type: 'MultiPolygon', coordinates: [[square], [square]] })).toBe(
      `<gml:MultiSurface gml:id="g0.5"><gml:surfaceMember>${polygon(1)}</gml:surfaceMember><gml:surfaceMember>${polygon(2)}</gml:surfaceMember></gml:MultiSurface>`,
    );
    expect(
      geometryOf({
        type: 'MultiLineString',
        coordinates: [
          [
            [0, 0],
            [1, 1],
          ],
        ],
      }),
    ).toContain('<gml:MultiCurve gml:id="g0.5"><gml:curveMember>');
    const collection: Shape = {
      type: 'GeometryCollection',
      geometries: [{ type: 'Point', coordinates: [1, 2, 3] }],
    };
    expect(geometryOf(collection, { srsName: 's' }, 'XYZ')).toBe(
      '<gml:MultiGeometry gml:id="g0.5" srsName="s" srsDimension="3"><gml:geometryMember><gml:Point gml:id="g1.5">' +
        '<gml:pos>1 2 3</gml:pos></gml:Point></gml:geometryMember></gml:MultiGeometry>',
    );
    expect(geometryOf({ type: 'Point', coordinates: [11, 48] }, { swap: true })).toContain(
      '<gml:pos>48 11</gml:pos>',
    );
    expect(geometryOf({ type: 'MultiPoint', coordinates: [] })).toBeUndefined();
  });

  it('makes well-formed documents of any text, with ids that differ', () => {
    const texts = ['\u0000\u0001a\u0008', 'a\r\nb\tc', ']]>', '<!--', '\ufffe\uffff', 'é😀', "'"];
    const ids = [
      'abc-1.x',
      'f.1',
      'g0.1',
      'g',
      'f',
      '1',
      '1.g0',
      '_x0031_',
      'a b',
      'a_b',
      'ä',
      '😀',
      'a_x0020_b',
      '',
      '"><x/>',
    ];
    const members = ids.flatMap((id) =>
      gml({ fields: ['t'] }, id, wkb({ type: 'MultiPoint', coordinates: [[1, 2]] }), texts.join('|')),
    );
    members.push(
      gml({ fields: ['t'] }, null, null, db.prepare("SELECT CAST(x'61ff' AS TEXT)").pluck().get()),
    );
    const elements = parsed(document(members.join('')));
    const found = elements.map(([, , id]) => id).filter((id) => id !== null);
    expect(new Set(found).size).toBe(found.length);
    for (const id of found) expect(id).toMatch(/^[A-Za-z_][\w.-]*$/);
    for (const id of ['abc-1.x', '_x0031_', 'a_b', 'g', 'f']) expect(found).toContain(id);
    for (const id of ['f.f.1', 'f.g0.1', 'f.1', 'f.a_x0020_b']) expect(found).toContain(id);
    expect(elements.find(([name]) => name === 't')?.[1]).toBe("a|a\r\nb\tc|]]>|<!--||é😀|'");
    expect(elements.at(-1)?.[1]).toBe('a\ufffd');
  });

  it('refuses names that are no XML names', () => {
    for (const options of [{ type: '' }, { type: 'a b' }, { geometry: '1' }, { fields: ['a>'] }])
      expect(
        () => gml(options, 1n, null, ...('fields' in options ? [1n] : [])),
        JSON.stringify(options),
      ).toThrow(/XML name/);
  });

  it('is read by GDAL: as many features, the same areas', () => {
    const options = JSON.stringify({
      ...OPTIONS,
      fields: ['name'],
      srsName: 'http://www.opengis.net/def/crs/EPSG/0/4326',
      swap: true,
      precision: 15,
    });
    const world = openDatabase(WORLD_MAP);
    const members = world
      .prepare('SELECT gr_gml(?, fid, geom, name) FROM countries')
      .pluck()
      .get(options) as Buffer;
    const folder = mkdtempSync(join(tmpdir(), 'graticule-gml-'));
    try {
      writeFileSync(join(folder, 'c.gml'), document(members.toString()));
      const area = (file: string, table: string, geometry: string) => {
        const sql = `SELECT count(*) AS n, sum(ST_Area(${geometry})) AS area FROM ${table}`;
        const text = execFileSync('ogrinfo', ['-q', '-dialect', 'SQLite', '-sql', sql, file], {
          encoding: 'utf8',
        });
        return [/n \(\w+\) = (\d+)/.exec(text)?.[1], Number(/area \(\w+\) = ([\d.]+)/.exec(text)?.[1])];
      };
      const [n, sum] = area(join(folder, 'c.gml'), 'road', 'geom');
      const [expectedN, expectedSum] = area(WORLD_MAP, 'countries', 'geom');
      expect(n).toBe(expectedN);
      expect(sum).toBeCloseTo(expectedSum as number, 4);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
