import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import Database from '../../src/native/sqlite.js';
import { query } from '../access/policies/support/database.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { startServer, type TestServer } from '../support/server.js';
import { type Json, ProcessClient } from './support.js';

/** Binary attributes and empty geometries in processes, of both stores. */

let folder: string;
let postgres: TestPostgres;
let server: TestServer;
let client: ProcessClient;

const BYTES = ['00ff10', '6869', null, '00ff10'];
const tableOf = (
  name: string,
) => `CREATE TABLE ${name} (id int PRIMARY KEY, geom geometry(Point, 4326), label text, photo bytea);
  ${BYTES.map((hex, i) => `INSERT INTO ${name} VALUES (${i + 1}, ST_SetSRID(ST_MakePoint(${8 + i}, 47), 4326), 'l${i}', ${hex === null ? 'NULL' : `'\\x${hex}'`});`).join('\n')}`;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-binary-'));
  postgres = await startPostgres();
  await query(postgres.url, `${tableOf('pg_photos')} ${tableOf('gp_photos')}`);
  const file = join(folder, 'photos.gpkg');
  execFileSync('ogr2ogr', ['-f', 'GPKG', file, `PG:${postgres.url}`, 'gp_photos']);
  await query(postgres.url, 'DROP TABLE gp_photos');
  server = await startServer({ sources: [file, postgres.url] });
  client = new ProcessClient(server);
});
afterAll(async () => {
  await server?.stop();
  await postgres?.stop();
  rmSync(folder, { recursive: true });
});

const EXPECTED = BYTES.map((hex) => hex && Buffer.from(hex, 'hex').toString('base64'));
const photos = (features: Json[]) => features.map(({ properties }) => properties.photo);

describe.each(['gp_photos', 'pg_photos'])('binary attributes of %s', (collection) => {
  const features = { collection };
  it.each([
    ['geometry.buffer', { distance: 10 }],
    ['geometry.envelope', {}],
    ['geometry.centroid', {}],
    ['geometry.make-valid', {}],
    ['geometry.project', { targetCrs: 'EPSG:3857' }],
    ['analytics.calculate-field', { name: 'twice', expression: '1 + 1' }],
  ])('stay in %s', async (id, inputs) => {
    const { features: made } = (await client.results(id, { inputs: { features, ...inputs } })).features;
    expect(photos(made)).toEqual(EXPECTED);
  });

  it('stay in clips, and in the groups of a summary', async () => {
    const overlay = {
      type: 'Polygon',
      coordinates: [
        [
          [7, 46],
          [20, 46],
          [20, 48],
          [7, 48],
          [7, 46],
        ],
      ],
    };
    const clipped = (await client.results('geometry.clip', { inputs: { features, overlay } })).features
      .features;
    expect(photos(clipped)).toEqual(EXPECTED);
    const inputs = { features, groupBy: ['photo'] };
    const groups = (await client.results('analytics.summary-statistics', { inputs })).features.features;
    expect(groups.map(({ properties }: Json) => [properties.photo, properties.featureCount])).toEqual([
      [EXPECTED[0], 2],
      [EXPECTED[1], 1],
      [null, 1],
    ]);
  });

  it('stay in overlays, joins, dissolved groups and without duplicates', async () => {
    const inputs: [string, Json][] = [
      ['geometry.dissolve', { features, groupBy: ['photo'] }],
      ['geometry.union-overlay', { features, overlay: features }],
      ['geometry.intersect', { features, overlay: { collection: 'pg_photos' } }],
      ['analytics.spatial-join', { features, join: { collection: 'gp_photos' } }],
      ['analytics.deduplicate', { features, fields: ['photo'] }],
      ['geometry.multipart-to-singlepart', { features }],
      ['analytics.data-quality', { features }],
    ];
    for (const [id, input] of inputs) {
      const { features: made } = (await client.results(id, { inputs: input })).features;
      if (id === 'analytics.data-quality') continue;
      const found = new Set(photos(made));
      for (const value of EXPECTED) expect([id, [...found]]).toEqual([id, expect.arrayContaining([value])]);
    }
  });

  const exported = async (format: string) => {
    const status = await client.run('conversion.feature-export', { inputs: { features, format } });
    expect([status.status, status.message]).toEqual(['successful', expect.any(String)]);
    const response = await client.get(`/ogc/processes/jobs/${status.jobID}/results/file`);
    const log = await (await client.get(`/api/v1/admin/jobs/${status.jobID}/logs`)).text();
    return { bytes: Buffer.from(await response.arrayBuffer()), log };
  };

  it('are bytes in exported GeoPackages', async () => {
    const path = join(folder, `${collection}-export.gpkg`);
    writeFileSync(path, (await exported('gpkg')).bytes);
    const db = new Database(path);
    const table = db.prepare('SELECT table_name FROM gpkg_contents').pluck().get() as string;
    const rows = db.prepare(`SELECT typeof(photo), hex(photo) FROM "${table}"`).raw().all();
    expect(rows).toEqual(BYTES.map((hex) => (hex ? ['blob', hex.toUpperCase()] : ['null', ''])));
    const column = db
      .prepare("SELECT type FROM pragma_table_info(?) WHERE name = 'photo'")
      .pluck()
      .get(table);
    expect(column).toBe('BLOB');
    db.close();
  });

  it.each(['shapefile', 'flatgeobuf', 'kml'])(
    'are base64 text in %s, and the log says so',
    async (format) => {
      expect((await exported(format)).log).toContain('Binary values of photo are written as base64 text.');
    },
  );

  it('have no least and no greatest value', async () => {
    const inputs = { features, groupBy: [], statistics: [{ type: 'max', field: 'photo' }] };
    const response = await client.execute('analytics.summary-statistics', { inputs });
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining("'photo' is binary"),
    ]);
  });
});
