import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VectorTile } from '@mapbox/vector-tile';
import { PbfReader } from 'pbf';
import { afterAll, beforeAll, expect, it } from 'vitest';
import Database from '../../src/native/sqlite.js';
import { randomNumbers } from '../support/random.js';
import { startServer, type TestServer } from '../support/server.js';

/** Copies store rows along a Hilbert curve; for everybody who reads them, order and ids are those of the file. */

const ROWS = 12_000;
const random = randomNumbers(16);
const points = Array.from({ length: ROWS }, (_, i) => ({
  n: i + 1,
  x: Math.round(random() * 3600 - 1800) / 10,
  y: Math.round(random() * 1600 - 800) / 10,
}));
const NUMBERED = [17, 5, 99, 40];

/** Fields in other scripts, of which GDAL makes the same name, and times of both kinds. */
const KML = `<kml xmlns="http://www.opengis.net/kml/2.2"><Document>
  <Placemark><name>span</name><TimeSpan><begin>2020-01-01T00:00:00Z</begin><end>2020-02-01T00:00:00Z</end></TimeSpan>
    <ExtendedData><Data name="名前"><value>x</value></Data><Data name="年齢"><value>y</value></Data>
      <Data name="plain"><value>z</value></Data></ExtendedData>
    <Point><coordinates>1,2</coordinates></Point></Placemark>
  <Placemark><name>stamp</name><TimeStamp><when>2020-03-01T10:00:00Z</when></TimeStamp>
    <ExtendedData><Data name="&#x43F;&#1086;&amp;"><value>w</value></Data></ExtendedData>
    <Point><coordinates>3,4</coordinates></Point></Placemark>
  <Placemark><name>year</name><TimeSpan><begin>1998</begin><end> 1999-07Z
    </end></TimeSpan><Point><coordinates>3,4</coordinates></Point></Placemark>
  <Placemark><name>first day</name><TimeStamp><when>1997</when></TimeStamp><Point><coordinates>3,4</coordinates></Point></Placemark>
  <Placemark><name>never</name><Point><coordinates>3,4</coordinates></Point></Placemark>
</Document></kml>`;

const TYPED_KML = `<kml xmlns="http://www.opengis.net/kml/2.2"><Document>
  <Schema name="s" id="s"><SimpleField type="int" name="Höhe"/><SimpleField type="string" name="Breit"/></Schema>
  <Placemark><ExtendedData><SchemaData schemaUrl="#s"><SimpleData name='Höhe'>12</SimpleData>
    <SimpleData name="Breit">b</SimpleData></SchemaData></ExtendedData><Point><coordinates>1,2</coordinates></Point></Placemark>
</Document></kml>`;

/** Ids of GeoJSON files as their text has them; none where it is undefined. */
const IDS: Record<string, (string | undefined)[]> = {
  from_zero: ['0', '1', '2'],
  some: [undefined, '1'],
  taken: [undefined, undefined, '1', '7'],
  twice: ['5', '5', '6'],
  long: ['9007199254740993', '9223372036854775807'],
  too_long: ['9223372036854775808', '3'],
  words: ['"b"', '"a"'],
};

/** GeoJSON whose features say by `place` which one they are, with what only looks like ids. */
function numbered(ids: readonly (string | undefined)[]): string {
  const features = ids.map((id, place) => {
    const nested = `{"place":${place},"deep":{"type":"Feature","id":98},"text":"\\"id\\":97,{["}`;
    const members = [
      '"type":"Feature"',
      `"properties":${nested}`,
      '"geometry":{"type":"Point","coordinates":[1,2]}',
    ];
    if (id !== undefined) members.splice(place % 3, 0, `"id" : ${id}`);
    return `{${members.join(', ')}}`;
  });
  return `{"type":"FeatureCollection","id":96,"features":[${features.join(',\n')}]}`;
}

/** Shapefiles with texts in several encodings, and times without a zone. */
function writeTexts(): void {
  const source = join(folder, '..', `texts-${process.pid}.geojson`);
  const features = ['Zürich Größe Straße', 'Düsseldorf Äpfel'].map((name) => ({
    type: 'Feature',
    properties: { name, when: '2020-01-01T00:00:00' },
    geometry: { type: 'Point', coordinates: [1, 1] },
  }));
  writeFileSync(source, JSON.stringify({ type: 'FeatureCollection', features }));
  const shape = (name: string, encoding: string, label?: string, language = 0) => {
    const file = (extension: string) => join(folder, name + extension);
    execFileSync('ogr2ogr', ['-lco', `ENCODING=${encoding}`, file('.shp'), source, '-select', 'name']);
    rmSync(file('.cpg'), { force: true });
    if (label !== undefined) writeFileSync(file('.cpg'), label);
    const table = readFileSync(file('.dbf'));
    table[29] = language;
    writeFileSync(file('.dbf'), table);
  };
  shape('unlabelled', 'CP1252');
  shape('ansi', 'CP1252', 'ANSI 1252');
  shape('wrong', 'CP1252', 'UTF-8');
  shape('unicode', 'UTF-8');
  shape('stated', 'CP1252', undefined, 0x57);
  for (const [extension, driver] of [
    ['fgb', 'FlatGeobuf'],
    ['gml', 'GML'],
    ['tab', 'MapInfo File'],
    ['geojsonl', 'GeoJSONSeq'],
  ])
    execFileSync('ogr2ogr', [
      '-f',
      driver!,
      join(folder, `times_${extension}.${extension}`),
      source,
      '-nln',
      `times_${extension}`,
    ]);
  writeFileSync(join(folder, 'times_json.geojson'), readFileSync(source));
  const place =
    '<Placemark><TimeStamp><when>2020-01-01T00:00:00</when></TimeStamp><Point><coordinates>1,1</coordinates></Point></Placemark>';
  writeFileSync(
    join(folder, 'times_kml.kml'),
    `<kml xmlns="http://www.opengis.net/kml/2.2"><Document>${place}${place}</Document></kml>`,
  );
  rmSync(source);
}

/** Times of several zones in files of several formats. The feature 4 is of the same instant as 1, and 5 has none. */
function writeZones(): void {
  const times = [
    ...['2020-05-05T10:00:00+02:00', '2020-05-05T09:00:00Z', '2020-05-05T09:30:00', '2020-05-05T08:00:00Z'],
    null,
  ];
  const far = ['2020-05-05T23:00:00-05:00', '2020-05-05T00:30:00+14:00'];
  const features = [...times, ...far].map((t, i) => ({
    ...{ type: 'Feature', id: i + 1, properties: { t } },
    geometry: { type: 'Point', coordinates: [i, i] },
  }));
  const json = join(folder, 'zones.geojson');
  writeFileSync(json, JSON.stringify({ type: 'FeatureCollection', features }));
  execFileSync('ogr2ogr', [join(folder, 'zones_file.gpkg'), json, '-nln', 'zones_file']);
  const marks = times.map((t) => {
    const stamp = t === null ? '' : `<TimeStamp><when>${t}</when></TimeStamp>`;
    return `<Placemark>${stamp}<Point><coordinates>1,1</coordinates></Point></Placemark>`;
  });
  const kml = `<kml xmlns="http://www.opengis.net/kml/2.2"><Document>${marks.join('')}</Document></kml>`;
  writeFileSync(join(folder, 'zones_kml.kml'), kml);
}

const folder = mkdtempSync(join(tmpdir(), 'graticule-order-'));
let server: TestServer;

beforeAll(async () => {
  const lines = points.map(({ n, x, y }) => `${n},${n % 7},${x},${y}`);
  writeFileSync(join(folder, 'places.csv'), `n,rest,lon,lat\n${lines.join('\n')}\n`);
  const features = NUMBERED.map((id, i) => ({
    type: 'Feature',
    id,
    properties: { place: i },
    geometry: { type: 'Point', coordinates: [10 - i, 50 + i] },
  }));
  writeFileSync(join(folder, 'numbered.geojson'), JSON.stringify({ type: 'FeatureCollection', features }));
  const property = (id: number, place: number) =>
    `{"type":"Feature","properties":{"id":${id},"place":${place}},"geometry":{"type":"Point","coordinates":[1,2]}}`;
  for (const [name, ids] of Object.entries({ properties: [7, 5], repeated_properties: [7, 7] }))
    writeFileSync(
      join(folder, `${name}.geojson`),
      `{"type":"FeatureCollection","features":[${ids.map(property).join()}]}`,
    );
  for (const [name, ids] of Object.entries(IDS))
    writeFileSync(join(folder, `${name}.geojson`), numbered(ids));
  writeTexts();
  writeFileSync(join(folder, 'scripts.kml'), KML);
  writeFileSync(join(folder, 'typed.kml'), TYPED_KML);
  writeZones();
  server = await startServer({ sources: [folder] });
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Page {
  features: { id: number; properties: { n: number } }[];
  links: { rel: string; href: string }[];
  numberMatched?: number;
}

const get = async (url: string) => (await (await fetch(url)).json()) as Page;
const items = (query: string, id = 'places') =>
  `${server.url}/ogc/features/collections/${id}/items${query && '?'}${query}`;

/** Ids of all features of a listing, page by page. */
async function walk(query: string): Promise<number[]> {
  const ids: number[] = [];
  for (let next: string | undefined = items(query); next; ) {
    const page: Page = await get(next);
    for (const { id, properties } of page.features) {
      expect(properties.n).toBe(id);
      ids.push(id);
    }
    next = page.links.find(({ rel }) => rel === 'next')?.href;
  }
  return ids;
}

const inside = (side: number) =>
  points.filter(({ x, y }) => Math.abs(x) <= side && Math.abs(y) <= side).map(({ n }) => n);

it('pages come in the order of the rows of the file', async () => {
  expect(await walk('limit=1999')).toEqual(points.map(({ n }) => n));
  expect(await walk('limit=700&filter=rest=3')).toEqual(
    points.filter(({ n }) => n % 7 === 3).map(({ n }) => n),
  );
});

it.each(['zones', 'zones_file', 'zones_kml'])('times of %s sort as instants, page by page', async (id) => {
  const sorted = async (query: string) => {
    const found: number[] = [];
    for (let next: string | undefined = items(query, id); next; ) {
      const page = await get(next);
      found.push(...page.features.map((feature) => feature.id));
      next = page.links.find(({ rel }) => rel === 'next')?.href;
    }
    return found;
  };
  const name = id === 'zones_kml' ? 'timestamp' : 't';
  const ascending = id === 'zones_kml' ? [1, 4, 2, 3, 5] : [7, 1, 4, 2, 3, 6, 5];
  for (const limit of [1, 2, 100]) {
    expect(await sorted(`sortby=${name}&limit=${limit}`)).toEqual(ascending);
    expect(await sorted(`sortby=-${name}&limit=${limit}`)).toEqual(
      // Features of the same instant, and those without one, come in the order of their ids.
      id === 'zones_kml' ? [5, 3, 2, 1, 4] : [5, 6, 3, 2, 1, 4, 7],
    );
  }
});

it.each([5, 60, 170])('so do those of a box of %i degrees', async (side) => {
  expect(
    await walk(`limit=500&bbox=${[-side, -Math.min(side, 90), side, Math.min(side, 90)].join()}`),
  ).toEqual(inside(side));
});

it('backwards, by number and sorted, too', async () => {
  const third = await get(items('limit=10&offset=20'));
  expect(third.features.map(({ id }) => id)).toEqual([21, 22, 23, 24, 25, 26, 27, 28, 29, 30]);
  const back = third.links.find(({ rel }) => rel === 'prev')!;
  expect((await get(back.href)).features.map(({ id }) => id)).toEqual([
    11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
  ]);
  const sorted = await get(items('limit=3&sortby=-rest&filter=n%20<%2020'));
  expect(sorted.features.map(({ id }) => id)).toEqual([6, 13, 1 + 4]);
  expect((await get(items('ids=7,4711'))).features.map(({ id }) => id)).toEqual([7, 4711]);
});

it('an id names the row of its number', async () => {
  const feature = (await (await fetch(items('').replace('/items', '/items/4711'))).json()) as {
    properties: { n: number };
  };
  expect(feature.properties.n).toBe(4711);
  const none = await fetch(items('').replace('/items', `/items/${ROWS + 1}`));
  expect(none.status).toBe(404);
});

it('ids that a file gives stay', async () => {
  const page = await get(items('', 'numbered'));
  expect(page.features.map(({ id }) => id)).toEqual([...NUMBERED].sort((a, b) => a - b));
  const { properties } = (await (await fetch(`${items('', 'numbered')}/99`)).json()) as {
    properties: Record<string, unknown>;
  };
  expect(properties).toEqual({ place: 2 });
});

it.each([0, 6])('tiles of zoom %i have the same ids, and no column of the store', async (zoom) => {
  const cell = 2 ** zoom / 2;
  const response = await fetch(
    `${server.url}/ogc/tiles/collections/places/tiles/WebMercatorQuad/${zoom}/${Math.floor(cell)}/${Math.floor(cell)}`,
  );
  const layer = new VectorTile(new PbfReader(await response.arrayBuffer())).layers['places']!;
  expect(layer.length).toBeGreaterThan(0);
  for (let i = 0; i < layer.length; i++) {
    const { id, properties } = layer.feature(i);
    expect(properties).toEqual({ n: id, rest: id! % 7 });
  }
});

it('rows that are neighbours in the file of the copy are neighbours on Earth', () => {
  const copies = readdirSync(join(server.dataDir, 'converted')).filter((file) => file.endsWith('.gpkg'));
  const distances = copies.flatMap((file) => {
    const db = new Database(join(server.dataDir, 'converted', file), { readonly: true });
    const has = db.prepare("SELECT count(*) FROM sqlite_master WHERE name = 'places'").pluck().get();
    const ids = has
      ? (db.prepare('SELECT n FROM places ORDER BY graticule_row').pluck().all() as number[])
      : [];
    db.close();
    return ids.slice(1).map((id, i) => {
      const [a, b] = [points[id - 1]!, points[ids[i]! - 1]!];
      return Math.hypot(a.x - b.x, a.y - b.y);
    });
  });
  expect(distances).toHaveLength(ROWS - 1);
  expect(distances.reduce((sum, one) => sum + one, 0) / distances.length).toBeLessThan(10);
});

it('an export has the rows in the order of the file, and no column of the store', () => {
  const out = join(folder, 'out.csv');
  execFileSync(process.execPath, [
    'dist/cli/main.js',
    'export',
    'places',
    out,
    '--source',
    folder,
    '--data-dir',
    join(folder, 'data'),
  ]);
  const text = execFileSync('ogrinfo', ['-q', '-al', out], { encoding: 'utf8', maxBuffer: 1 << 26 });
  const numbers = [...text.matchAll(/ n \(String\) = (\d+)/g)].map(([, n]) => Number(n));
  expect(numbers).toEqual(points.map(({ n }) => n));
  expect(text).not.toMatch(/graticule_row|fid \(/);
});

const warnings = async (): Promise<Record<string, string>> => {
  const answer = await fetch(`${server.url}/healthz/metrics`, { headers: { 'x-api-key': server.adminKey } });
  const { catalog } = (await answer.json()) as {
    catalog: { warnings: { collection: string; warning: string }[] };
  };
  return Object.fromEntries(catalog.warnings.map(({ collection, warning }) => [collection, warning]));
};

it.each([
  ['from_zero', { 0: 0, 1: 1, 2: 2 }, undefined],
  ['some', { 0: 0, 1: 1 }, 'Some features of the file have no id'],
  ['taken', { 1: 0, 2: 1, 3: 2, 4: 3 }, 'the numbers of the rows take the place of all ids'],
  ['twice', { 1: 0, 2: 1, 3: 2 }, 'repeated'],
  ['long', { '9007199254740993': 0, '9223372036854775807': 1 }, undefined],
  ['too_long', { 1: 0, 2: 1 }, 'greater than 9223372036854775807'],
  ['words', { 1: 0, 2: 1 }, undefined],
  ['properties', { 7: 0, 5: 1 }, undefined],
  ['repeated_properties', { 1: 0, 2: 1 }, 'Some ids of features are repeated. Row numbers replace the ids.'],
])(
  'features of %s.geojson have the ids of the file, or the numbers of their rows',
  async (name, places, warning) => {
    for (const [id, place] of Object.entries(places)) {
      const answer = await fetch(`${items('', name)}/${id}`, { headers: { connection: 'close' } });
      expect([id, answer.status]).toEqual([id, 200]);
      expect([id, JSON.parse(await answer.text()).properties.place]).toEqual([id, place]);
    }
    expect((await get(items('', name))).features).toHaveLength(Object.keys(places).length);
    const told = (await warnings())[name];
    if (warning === undefined) expect(told).toBeUndefined();
    else expect(told).toContain(warning);
  },
);

it.each([
  ['unlabelled', 'read as windows-1252, because the file names no encoding and this fits best'],
  ['ansi', undefined],
  ['wrong', 'read as windows-1252, because they are not UTF-8, as the .cpg file says'],
  ['unicode', 'read as utf-8, because the file names no encoding and all of them are valid'],
  ['stated', undefined],
])('texts of the shapefile %s are read in their encoding, and a guess is reported', async (name, warning) => {
  const { features } = (await get(items('', name))) as unknown as {
    features: { properties: { name: string } }[];
  };
  expect(features.map(({ properties }) => properties.name)).toEqual([
    'Zürich Größe Straße',
    'Düsseldorf Äpfel',
  ]);
  const told = (await warnings())[name];
  if (warning === undefined) expect(told).toBeUndefined();
  else expect(told).toContain(warning);
});

it.each(['json', 'geojsonl', 'fgb', 'gml', 'kml', 'tab'])(
  'times without a zone are UTC, and say so: %s',
  async (name) => {
    const { features } = (await get(items('', `times_${name}`))) as unknown as {
      features: { properties: Record<string, string> }[];
    };
    expect(features).toHaveLength(2);
    const texts = Object.values(features[0]!.properties).filter((value) => /^2020-/.test(String(value)));
    expect([...new Set(texts)]).toEqual(['2020-01-01T00:00:00.000Z']);
  },
);

it('fields of KML keep their names in every script, and none takes the place of another', async () => {
  const { features } = (await get(items('', 'scripts'))) as unknown as {
    features: { properties: Record<string, unknown> }[];
  };
  expect(features[0]!.properties).toMatchObject({ 名前: 'x', 年齢: 'y', plain: 'z' });
  expect(features[1]!.properties).toMatchObject({ 'по&': 'w', 名前: null });
});

it('fields of KML that a schema declares keep name and type', async () => {
  const { features } = (await get(items('', 'typed'))) as unknown as {
    features: { properties: Record<string, unknown> }[];
  };
  expect(features[0]!.properties).toMatchObject({ Höhe: 12, Breit: 'b' });
});

it('features of KML are found by their TimeSpan and their TimeStamp', async () => {
  const names = async (datetime: string) => {
    const { features } = (await get(items(`datetime=${datetime}`, 'scripts'))) as unknown as {
      features: { properties: { Name: string } }[];
    };
    return features.map(({ properties }) => properties.Name);
  };
  expect(await names('2020-01-15T00:00:00Z')).toEqual(['span']);
  expect(await names('2020-03-01')).toEqual(['stamp']);
  expect(await names('2020-01-20T00:00:00Z/..')).toEqual(['span', 'stamp']);
  expect(await names('2020-02-10T00:00:00Z')).toEqual([]);
  expect(await names('1998-01-01T00:00:00Z')).toEqual(['year']);
  expect(await names('1999-06-30T00:00:00Z/1999-12-31T00:00:00Z')).toEqual(['year']);
  expect(await names('1999-07-02T00:00:00Z')).toEqual([]);
  expect(await names('1997-01-01')).toEqual(['first day']);
  expect(await names('1997-01-02')).toEqual([]);
});
