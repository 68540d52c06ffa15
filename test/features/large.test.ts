import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connect } from '../../src/workers/providers/geopackage/connection.js';
import { createSpatialIndex, prepareStore } from '../../src/workers/providers/geopackage/schema/create.js';
import { json } from '../e2e/support/http.js';
import { geoPackageBlob } from '../native/support.js';
import { gateways, residentBytes } from '../support/processes.js';
import { startServerProcess, type TestServer } from '../support/server.js';

/** 2,000 polygons of 2,000 vertices: about 100 MB as GeoJSON. */
const FEATURES = 2000;
const VERTICES = 2000;

let server: TestServer;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-large-'));
  const db = connect(join(folder, 'large.gpkg'), false);
  prepareStore(db);
  db.exec(`CREATE TABLE large (fid INTEGER PRIMARY KEY, geom GEOMETRY, kind TEXT(8), grade INTEGER);
    INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('large', 'features', 'large', 4326);
    INSERT INTO gpkg_geometry_columns VALUES ('large', 'geom', 'POLYGON', 4326, 0, 0);
    CREATE TABLE gpkg_data_columns (table_name TEXT, column_name TEXT, name TEXT, title TEXT, description TEXT,
      mime_type TEXT, constraint_name TEXT);
    CREATE TABLE gpkg_data_column_constraints (constraint_name TEXT, constraint_type TEXT, value TEXT, min NUMERIC,
      min_is_inclusive BOOLEAN, max NUMERIC, max_is_inclusive BOOLEAN, description TEXT);
    INSERT INTO gpkg_data_columns VALUES ('large', 'kind', 'kind', 'Kind', 'What it is', NULL, 'kinds'),
      ('large', 'grade', 'grade', 'Grade', NULL, NULL, 'grades');
    INSERT INTO gpkg_data_column_constraints VALUES ('kinds', 'enum', 'a', NULL, NULL, NULL, NULL, NULL),
      ('kinds', 'enum', 'b', NULL, NULL, NULL, NULL, NULL), ('grades', 'range', NULL, 1, 1, 5, 1, NULL);`);
  const insert = db.prepare("INSERT INTO large VALUES (?, ?, 'a', 3)");
  db.transaction(() => {
    for (let i = 0; i < FEATURES; i++) insert.run(i + 1, geoPackageBlob(circle(i / 50, i % 40)));
  })();
  createSpatialIndex(db, 'large', 'geom', 'fid');
  db.close();
  server = await startServerProcess({ sources: [folder] });
}, 120_000);
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true });
});

function circle(x: number, y: number): Buffer {
  const wkb = Buffer.alloc(13 + VERTICES * 16);
  wkb.writeUInt8(1, 0);
  wkb.writeUInt32LE(3, 1);
  wkb.writeUInt32LE(1, 5);
  wkb.writeUInt32LE(VERTICES, 9);
  for (let i = 0; i < VERTICES; i++) {
    const angle = (2 * Math.PI * i) / (VERTICES - 1);
    wkb.writeDoubleLE(x + Math.cos(angle), 13 + i * 16);
    wkb.writeDoubleLE(y + (i === VERTICES - 1 ? 0 : Math.sin(angle)), 21 + i * 16);
  }
  return wkb;
}

it('a page of 2,000 large polygons is sent in parts: memory stays flat, every feature comes once', async () => {
  const url = `${server.url}/ogc/features/collections/large/items?limit=2000`;
  const [gateway] = gateways(server.process.pid!);
  const before = residentBytes(gateway!);
  let peak = before;
  const chunks: Buffer[] = [];
  await new Promise<void>((resolve, reject) => {
    // The server would close a connection that is idle while the page is parsed, unseen by who uses it next.
    request(url, { agent: false }, (response) => {
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        peak = Math.max(peak, residentBytes(gateway!));
      });
      response.on('end', resolve);
      response.on('error', reject);
    }).end();
  });
  const body = Buffer.concat(chunks);
  expect(body.length).toBeGreaterThan(60_000_000);
  const page = JSON.parse(body.toString()) as { features: { id: number }[]; numberReturned: number };
  expect(page.numberReturned).toBe(FEATURES);
  expect(page.features.map(({ id }) => id)).toEqual(Array.from({ length: FEATURES }, (_, i) => i + 1));
  expect(peak - before).toBeLessThan(body.length);
}, 120_000);

it('the schema extension of GeoPackage gives titles, enumerations, ranges and lengths', async () => {
  // Not by fetch: while the page was parsed nobody saw that the server closed the connection that was idle since its start.
  const schema = await json(`${server.url}/ogc/features/collections/large/schema`);
  expect(schema.properties['kind']).toMatchObject({
    title: 'Kind',
    description: 'What it is',
    enum: ['a', 'b'],
    maxLength: 8,
  });
  expect(schema.properties['grade']).toMatchObject({ title: 'Grade', minimum: 1, maximum: 5 });
});
