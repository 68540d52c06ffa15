import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import Database from '../../src/native/sqlite.js';
import { startServer, type TestServer } from '../support/server.js';
import { run } from './support/http.js';

/** GDAL copies layers through the server: every column keeps its type, and no value changes. */

const WORLD = 'demo/data/world_map.gpkg';
const ROWS = 60;
let folder: string;
let server: TestServer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-round-trip-'));
  await run('ogr2ogr', ['-f', 'GPKG', join(folder, 'late.gpkg'), await lateColumns(folder), '-nln', 'late']);
  server = await startServer({ sources: [WORLD, join(folder, 'late.gpkg')] });
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true });
});

/** Columns whose first values say nothing of their type, or the wrong thing. */
async function lateColumns(directory: string): Promise<string> {
  const path = join(directory, 'columns.gpkg');
  const first = (i: number, early: unknown, late: unknown) => (i < 20 ? early : late);
  const features = Array.from({ length: ROWS }, (_, i) => ({
    type: 'Feature',
    properties: {
      id: i + 100,
      whole: 22.5,
      population: first(i, 7.5, 2_356_370_000.5),
      count: i,
      seen: first(i, null, `2020-01-01T10:00:${i}Z`),
      day: first(i, null, '2020-02-03'),
      code: first(i, '12', `0${i}`),
      open: first(i, null, i % 2 === 0),
      'height (m)': i / 4,
    },
    geometry: { type: 'Point', coordinates: [i, i / 2] },
  }));
  const json = join(directory, 'columns.geojson');
  writeFileSync(json, JSON.stringify({ type: 'FeatureCollection', features }));
  await run('ogr2ogr', ['-f', 'GPKG', path, json, '-nln', 'late', '-lco', 'SPATIAL_INDEX=NO']);
  const db = new Database(path);
  // Whole values in columns of reals, then large ones; small integers, then some beyond 2^53.
  db.exec(`UPDATE late SET whole = 22.0, population = CASE WHEN count < 20 THEN 7.0 ELSE 2356370000.0 END;
    ALTER TABLE late ADD COLUMN large INTEGER;
    UPDATE late SET large = CASE WHEN count < 20 THEN count ELSE 9007199254740993 + count END;`);
  db.close();
  return path;
}

interface Summary {
  type: string;
  values: number;
  sum: unknown;
  least: unknown;
  greatest: unknown;
}

/** Widths of integers and texts are the reader's choice; kinds are not. */
const KINDS: [RegExp, string][] = [
  [/^BOOL/, 'boolean'],
  [/INT/, 'integer'],
  [/^(REAL|DOUBLE|FLOAT)/, 'real'],
  [/^TEXT/, 'text'],
];

function summaries(path: string, table: string): Record<string, Summary> {
  const db = new Database(path, { readonly: true }).defaultSafeIntegers();
  const columns = db.prepare('SELECT name, type, pk FROM pragma_table_info(?)').all(table) as {
    name: string;
    type: string;
    pk: bigint;
  }[];
  const geometry = db.prepare('SELECT column_name FROM gpkg_geometry_columns').pluck().get() as string;
  const attributes = columns.filter(({ name, pk }) => pk === 0n && name !== geometry);
  const all = attributes.map(({ name, type }) => {
    const column = `"${name}"`;
    const row = db
      .prepare(
        `SELECT count(${column}) "values", total(${column}) sum, min(${column}) least, max(${column}) greatest FROM "${table}"`,
      )
      .get() as Omit<Summary, 'type'>;
    const kind = KINDS.find(([pattern]) => pattern.test(type))?.[1] ?? type;
    return [name, { type: kind, ...row }] as const;
  });
  db.close();
  return Object.fromEntries(all);
}

async function copy(layer: string, size: number): Promise<string> {
  const output = join(folder, `${layer}-${size}.gpkg`);
  const source = ['-oo', `PAGE_SIZE=${size}`, `OAPIF:${server.url}/ogc/features`, layer];
  await run('ogr2ogr', ['-f', 'GPKG', output, ...source, '-nln', 'copy']);
  return output;
}

describe.each([
  ['late', 'late.gpkg', [1, 2, 19, 21, 2000]],
  ['countries', WORLD, [1, 100, 2000]],
  ['states_provinces', WORLD, [500, 2000]],
  ['disputed_borders', WORLD, [1, 2000]],
] as const)('%s', (layer, file, sizes) => {
  it.each(sizes)('keeps type, sum, least and greatest value of each column in pages of %i', async (size) => {
    expect(summaries(await copy(layer, size), 'copy')).toEqual(
      summaries(file === WORLD ? WORLD : join(folder, file), layer),
    );
  });
});

describe('a page read as a file of its own', () => {
  it('says by its numbers which columns are real', async () => {
    const page = await fetch(`${server.url}/ogc/features/collections/late/items?limit=5`);
    const file = join(folder, 'page.geojson');
    writeFileSync(file, await page.text());
    const description = await run('ogrinfo', ['-so', '-al', file]);
    expect(description).toContain('whole: Real');
    expect(description).toContain('population: Real');
    expect(description).toContain('height (m): Real');
    expect(description).toContain('count: Integer');
  });
});

describe('a page in a CRS of its own choice', () => {
  const read = async (crs: string, path = 'items?limit=2&') => {
    const url = `${server.url}/ogc/features/collections/late/${path}crs=http://www.opengis.net/def/crs/EPSG/0/${crs}`;
    const file = join(folder, 'projected.geojson');
    const text = await (await fetch(url)).text();
    writeFileSync(file, text);
    return { text, description: await run('ogrinfo', ['-al', file]) };
  };

  it('is labelled for readers of the file alone, and so is a feature', async () => {
    const { text, description } = await read('3857');
    expect(description).toContain('ID["EPSG",3857]');
    const [{ id }] = (JSON.parse(text) as { features: [{ id: number }] }).features;
    expect((await read('3857', `items/${id}?`)).description).toContain('ID["EPSG",3857]');
    // GDAL 3.12 takes what has this member for JSON-FG, whose geometries are elsewhere.
    expect(text).not.toContain('coordRefSys');
  });

  it('is not labelled where northing comes first: readers of files would swap the axes', async () => {
    expect((await read('3035')).text).not.toContain('"crs"');
    expect((await read('4326')).text).not.toContain('"crs"');
  });
});

describe('the schema as XML Schema', () => {
  const link = async () => {
    const document = (await (await fetch(`${server.url}/ogc/features/collections/late`)).json()) as {
      links: { rel: string; href: string }[];
    };
    return document.links.find(({ rel }) => rel === 'describedBy')!.href;
  };

  it('is linked, and names the type of each column that has a name in XML', async () => {
    const response = await fetch(await link());
    expect(response.headers.get('content-type')).toBe('application/xml; charset=utf-8');
    const text = await response.text();
    const columns = [...text.matchAll(/<xs:element name="(\w+)" type="xs:(\w+)"/g)].map(
      ([, ...pair]) => pair,
    );
    expect(Object.fromEntries(columns)).toEqual({
      whole: 'double',
      population: 'double',
      count: 'long',
      seen: 'dateTime',
      day: 'date',
      code: 'string',
      open: 'boolean',
      large: 'long',
    });
  });

  it('is not sent again to who has it', async () => {
    const url = await link();
    const etag = (await fetch(url)).headers.get('etag')!;
    expect((await fetch(url, { headers: { 'if-none-match': etag } })).status).toBe(304);
  });
});
