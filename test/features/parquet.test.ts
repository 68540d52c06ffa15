import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { zip } from '../support/zip.js';

/** GeoParquet as GeoPandas and PyArrow write it (test/fixtures/parquet/make.py), in three row groups. */

const FIXTURES = 'test/fixtures/parquet';
const folder = mkdtempSync(join(tmpdir(), 'graticule-parquet-'));
const at = (name: string) => join(folder, name);
let server: TestServer;

beforeAll(async () => {
  for (const name of ['types', 'areas', 'native', 'rings', 'parts', 'plain'])
    copyFileSync(`${FIXTURES}/${name}.parquet`, at(`${name}.parquet`));
  const bytes = readFileSync(`${FIXTURES}/types.parquet`);
  writeFileSync(at('zipped.zip'), zip([{ name: 'zipped.geoparquet', content: bytes }]));
  writeFileSync(at('cut.parquet'), bytes.subarray(0, bytes.length >> 1));
  const changed = (change: (copy: Buffer) => void) => {
    const copy = Buffer.from(bytes);
    change(copy);
    return copy;
  };
  writeFileSync(
    at('claims.parquet'),
    changed((copy) => copy.writeUInt32LE(0x7fffffff, copy.length - 8)),
  );
  writeFileSync(
    at('locked.parquet'),
    changed((copy) => copy.write('PARE', copy.length - 4)),
  );
  writeFileSync(
    at('noise.parquet'),
    changed((copy) => copy.fill(0x5a, 4, 3000)),
  );
  server = await startServer({ sources: [folder] });
}, 60_000);
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The text of the answer: JavaScript's numbers would round integers of 64 bits. */
async function items(id: string, query = ''): Promise<string> {
  const answer = await fetch(`${server.url}/ogc/features/collections/${id}/items?f=json&limit=100${query}`);
  expect(answer.status, id).toBe(200);
  return answer.text();
}

interface Page {
  features: {
    id: number;
    geometry: { type: string; coordinates: unknown } | null;
    properties: Record<string, unknown>;
  }[];
}
const features = async (id: string) => (JSON.parse(await items(id)) as Page).features;

describe('GeoParquet', () => {
  it.each(['types', 'zipped'])(
    'of %s has every row in its order, with every value of every type',
    async (id) => {
      const found = await features(id);
      expect(found.map(({ id: number }) => number)).toEqual(Array.from({ length: 12 }, (_, i) => i + 1));
      for (const [i, { properties, geometry }] of found.entries()) {
        const { big, owner, raw, ...rest } = properties;
        expect(big === null).toBe(i === 2);
        expect(owner).toMatchObject({ name: 'x' });
        expect(Buffer.from(raw as string, 'base64')).toEqual(Buffer.from([i, 255]));
        expect(rest).toEqual({
          row: i,
          name: i === 3 ? null : `Ort ${i} "é"`,
          code: String(i).padStart(5, '0'),
          small: i - 5,
          huge: String(2n ** 64n - 1n - BigInt(i)),
          ratio: i / 7,
          half: i / 4,
          price: Number((12345.67 * (i - 3)).toFixed(2)),
          exact: `${1234567890123456789n + BigInt(i)}.012345`,
          open: i % 2 === 0,
          day: new Date(Date.UTC(1969, 11, 25 + i)).toISOString().slice(0, 10),
          at: new Date(Date.UTC(1969, 11, 31, 23 + i, 59, 59, 123))
            .toISOString()
            .replace('.123Z', '.123456Z'),
          clock: `10:15:30.${String(i).padStart(3, '0')}`,
          tags: ['a', String(i)],
          kind: i % 2 ? 'road' : 'rail',
          fid: 100 + i,
        });
        const [x, y] = geometry!.coordinates as [number, number];
        expect(x).toBeCloseTo(7 + i / 8, 7);
        expect(y).toBeCloseTo(50 + i / 16, 7);
      }
    },
  );

  it('keeps integers of 64 bits, nested ones too', async () => {
    const text = await items('types');
    expect(text).toContain('"big":9007199254740993,');
    expect(text).toMatch(/"owner":\{"id":1152921504606846977,/);
  });

  it('is in the CRS of the file', async () => {
    const answer = await fetch(`${server.url}/ogc/features/collections/types?f=json`);
    expect(await answer.json()).toMatchObject({ storageCrs: 'http://www.opengis.net/def/crs/EPSG/0/25832' });
  });

  it('has the types of the columns', async () => {
    const answer = await fetch(`${server.url}/ogc/features/collections/types/schema?f=json`);
    const { properties } = (await answer.json()) as {
      properties: Record<string, { type?: string; format?: string }>;
    };
    expect(properties).toMatchObject({
      big: { type: 'integer' },
      huge: { type: 'string' },
      price: { type: 'number' },
      exact: { type: 'string' },
      open: { type: 'boolean' },
      day: { type: 'string', format: 'date' },
      at: { type: 'string', format: 'date-time' },
    });
    // The boxes of the geometries are no attribute of theirs.
    expect(properties).not.toHaveProperty('bbox');
  });

  it('is found by place', async () => {
    const page = JSON.parse(await items('types', '&bbox=7.2,50,7.4,51')) as Page;
    expect(page.features.map(({ properties }) => properties['row'])).toEqual([2, 3]);
  });

  it('has multipolygons where some are, and features without a geometry', async () => {
    const found = await features('areas');
    expect(found.map(({ geometry }) => geometry?.type ?? null)).toEqual([
      'MultiPolygon',
      'MultiPolygon',
      null,
    ]);
    expect(found[1]!.geometry!.coordinates).toHaveLength(2);
  });

  it('may have coordinates in place of WKB', async () => {
    const found = await features('native');
    expect(found.map(({ geometry }) => geometry)).toEqual([
      { type: 'Point', coordinates: [1, 2, 3] },
      { type: 'Point', coordinates: [3, 4, 5] },
    ]);
    const sorted = (rings: unknown) => (rings as number[][][]).map((ring) => ring.map(String).sort());
    const hole = ['1,0.5', '1,0.5', '2,0.5', '2,1'];
    const [rings] = await features('rings');
    expect(sorted(rings!.geometry!.coordinates)).toEqual([['0,0', '0,0', '4,0', '4,4'], hole]);
    const [parts] = await features('parts');
    const [first, second] = parts!.geometry!.coordinates as unknown[];
    expect(sorted(first)[1]).toEqual(hole);
    expect(sorted(second)).toEqual([['8,0', '8,0', '9,0', '9,1']]);
  });

  it.each([
    ['plain', /No geometry/],
    ['cut', /not published: \S+\/cut\.parquet: The file is not a Parquet file, or is truncated\./],
    [
      'claims',
      /not published: \S+\/claims\.parquet: The metadata of the Parquet file contradict the size of the file\./,
    ],
    ['locked', /is encrypted/],
    ['noise', /damaged/],
  ])('%s is not published, with the reason', (name, reason) => {
    const line = server
      .log()
      .split('\n')
      .find((text) => /not published: /.test(text) && text.includes(`/${name}.parquet`));
    expect(line).toMatch(reason);
  });
});
