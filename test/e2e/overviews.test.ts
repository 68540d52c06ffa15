import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { connect } from '../../src/workers/providers/geopackage/connection.js';
import { createSpatialIndex, prepareStore } from '../../src/workers/providers/geopackage/schema/create.js';
import { decode, geoPackageBlob, wkb } from '../native/support.js';
import { startServer, type TestServer } from '../support/server.js';

const POINTS = 50_000;
const ACROSS = 250;
const folder = mkdtempSync(join(tmpdir(), 'graticule-many-'));
let server: TestServer;

beforeAll(async () => {
  const db = connect(join(folder, 'many.gpkg'), false);
  prepareStore(db);
  db.exec(`CREATE TABLE many (fid INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, geom POINT, name TEXT);
    INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('many', 'features', 'many', 4326);
    INSERT INTO gpkg_geometry_columns VALUES ('many', 'geom', 'POINT', 4326, 0, 0);`);
  const insert = db.prepare('INSERT INTO many (geom, name) VALUES (?, ?)');
  db.transaction(() => {
    for (let i = 0; i < POINTS; i++) {
      const coordinates = [(i % ACROSS) * 0.04, Math.floor(i / ACROSS) * 0.04];
      insert.run(geoPackageBlob(wkb({ type: 'Point', coordinates })), `place ${i % 50}`);
    }
  })();
  createSpatialIndex(db, 'many', 'geom', 'fid');
  db.close();
  server = await startServer({ sources: [folder] });
}, 90_000);

afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function tile(zoom: number) {
  const { collections } = (await (await fetch(`${server.url}/ogc/tiles/collections`)).json()) as {
    collections: { id: string }[];
  };
  const [{ id }] = collections as [{ id: string }];
  const middle = 2 ** (zoom - 1);
  const url = `${server.url}/ogc/tiles/collections/${id}/tiles/WebMercatorQuad/${zoom}/${middle - 1}/${middle}?f=mvt`;
  const response = await fetch(url);
  expect(response.status).toBe(200);
  const layers = Object.values(decode(new Uint8Array(await response.arrayBuffer())));
  const names = layers.flatMap((layer) =>
    Array.from({ length: layer.length }, (_, i) => String(layer.feature(i).properties['name'])),
  );
  return { names, dropped: Number(response.headers.get('graticule-dropped-features') ?? 0) };
}

const overviews = () => {
  const path = join(server.dataDir, 'overviews');
  return existsSync(path) ? readdirSync(path).filter((name) => name.endsWith('.overview')) : [];
};

describe('a table that is much to read', () => {
  it('gets an overview after its first tile, and tiles say what they leave out', {
    timeout: 60_000,
  }, async () => {
    const first = await tile(4);
    expect(first.names.length + first.dropped).toBe(POINTS);
    await vi.waitFor(() => expect(overviews()).toHaveLength(1), { timeout: 50_000, interval: 100 });
    const second = await tile(3);
    expect(second.names.length).toBeLessThanOrEqual(128 * 256);
    expect(second.names.length + second.dropped).toBe(POINTS);
  });

  it('shows an edit in the next tile', async () => {
    const { collections } = (await (await fetch(`${server.url}/ogc/features/collections?f=json`)).json()) as {
      collections: { id: string }[];
    };
    const created = await fetch(`${server.url}/ogc/features/collections/${collections[0]!.id}/items`, {
      method: 'POST',
      headers: { 'content-type': 'application/geo+json', 'x-api-key': server.adminKey },
      body: JSON.stringify({
        type: 'Feature',
        geometry: { type: 'Point', coordinates: [3.333, 3.333] },
        properties: { name: 'fresh' },
      }),
    });
    expect(created.status).toBe(201);
    const { names, dropped } = await tile(3);
    expect(names.filter((name) => name === 'fresh')).toHaveLength(1);
    expect(dropped).toBeGreaterThan(POINTS / 4);
  });
});
