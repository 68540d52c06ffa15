import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BUILT_IN_SETS } from '../../../src/core/tiles/tile-matrix.js';
import Database from '../../../src/native/sqlite.js';
import { appendTiles, finishArchive, openArchive } from '../../../src/workers/tiles/archive/write.js';
import { startServer, type TestServer } from '../../support/server.js';

const folder = mkdtempSync(join(tmpdir(), 'graticule-gpkg-tiles-'));
const COLOURS = ['#ff0000', '#00ff00', '#0000ff', '#ffff00'];
let server: TestServer;
let ids: Map<string, string>;

/** Four tiles of one colour each, at zoom 1, as an export writes them. */
async function quarters(): Promise<void> {
  const set = BUILT_IN_SETS.byId('WebMercatorQuad')!;
  const draft = {
    output: join(folder, 'quarters.gpkg'),
    container: 'gpkg',
    format: 'png',
    plan: 'p',
  } as const;
  const { cursor } = openArchive({ draft });
  const tiles = await Promise.all(
    COLOURS.map(async (background, i) => {
      const image = sharp({ create: { width: 256, height: 256, channels: 4, background } });
      return { zoom: 1, row: i >> 1, column: i & 1, data: await image.png().toBuffer() };
    }),
  );
  appendTiles({ draft, tiles, from: cursor, to: 'all' });
  const { matrixWidth, matrixHeight, cellSize } = set.matrices[1]!;
  const half = 20037508.342789244;
  const matrices = [
    { zoom: 1, columns: matrixWidth, rows: matrixHeight, tileWidth: 256, tileHeight: 256, cellSize },
  ];
  const grid = { id: set.id, crs: set.crs.proj, extent: [-half, -half, half, half] as const, matrices };
  const about = { name: 'quarters', title: 'Quarters', bounds: [-180, -85, 180, 85] as const };
  finishArchive({ draft, description: { ...about, minZoom: 1, maxZoom: 1, grid } });
}

/** A raster in another grid, as GDAL writes it. */
function foreign(): void {
  const path = join(folder, 'foreign.gpkg');
  for (const [program, ...args] of [
    ['gdal_translate', '-of', 'GPKG', 'demo/data/olinda_dem_utm25s.tif', path, '-co', 'TILE_FORMAT=PNG'],
  ] as const) {
    const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`${program}: ${stderr}`);
  }
}

beforeAll(async () => {
  await quarters();
  foreign();
  const damaged = join(folder, 'damaged.gpkg');
  copyFileSync(join(folder, 'quarters.gpkg'), damaged);
  new Database(damaged).exec('DELETE FROM gpkg_tile_matrix').close();
  new Database(join(folder, 'nothing.gpkg')).exec('CREATE TABLE t (a)').close();
  server = await startServer({ sources: [folder] });
  const answer = await fetch(`${server.url}/ogc/tiles/collections?f=json`);
  const { collections } = (await answer.json()) as { collections: { id: string; name: string }[] };
  ids = new Map(collections.map(({ id, name }) => [name, id]));
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const tile = (name: string, address: string) =>
  fetch(`${server.url}/ogc/tiles/collections/${ids.get(name)}/tiles/WebMercatorQuad/${address}?f=png`);

describe('tiles of a GeoPackage', () => {
  it('are served in their place', async () => {
    for (const [i, colour] of COLOURS.entries()) {
      const answer = await tile('quarters', `2/${i >> 1 ? 2 : 1}/${i & 1 ? 2 : 1}`);
      expect(answer.status).toBe(200);
      const { dominant } = await sharp(Buffer.from(await answer.arrayBuffer())).stats();
      const expected = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
      for (const [k, value] of [dominant.r, dominant.g, dominant.b].entries())
        expect(Math.abs(value - expected[k]!)).toBeLessThan(16);
    }
  });

  it('may lie in any grid', async () => {
    const answer = await fetch(
      `${server.url}/ogc/maps/collections/${ids.get('foreign')}/map?f=png&bbox=-34.95,-8.1,-34.8,-7.9`,
    );
    expect(answer.status).toBe(200);
    const { channels } = await sharp(Buffer.from(await answer.arrayBuffer())).stats();
    expect(channels[0]!.stdev).toBeGreaterThan(1);
  });

  it('are quarantined when there are none, or none that can be read', () => {
    expect([...ids.keys()].sort()).toEqual(['foreign', 'quarters']);
    expect(server.log()).toMatch(/nothing\.gpkg.*no GeoPackage feature tables/);
    expect(server.log()).toMatch(/damaged\.gpkg.*not a raster/);
  });
});
