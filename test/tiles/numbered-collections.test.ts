import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';

/** Collections of tiles and maps have numbers; the ids of the other surfaces lead to the same. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-numbers-'));
let server: TestServer;
const numbers = new Map<string, string>();

beforeAll(async () => {
  cpSync('demo/data/world_map.gpkg', join(folder, 'world_map.gpkg'));
  cpSync('demo/data/olinda_dem_utm25s.tif', join(folder, '2020.tif'));
  server = await startServer({ sources: [folder] });
  const { collections } = await (await fetch(`${server.url}/ogc/maps/collections?f=json`)).json();
  for (const { id, name } of collections) numbers.set(name, id);
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const VALUES: Record<string, string> = {
  tileMatrixSetId: 'WebMercatorQuad',
  tileMatrix: '1',
  tileRow: '0',
  tileCol: '1',
  styleId: 'default',
};

async function answer(path: string): Promise<[status: number, type: string | null, body: string]> {
  const response = await fetch(`${server.url}${path}`);
  const body = Buffer.from(await response.arrayBuffer()).toString('base64');
  return [response.status, response.headers.get('content-type'), body];
}

/** Reads of collections that an interface document tells of. */
async function reads(document: string): Promise<string[]> {
  const { paths } = await (await fetch(`${server.url}${document}`)).json();
  const found = Object.entries<{ get?: object }>(paths).filter(
    ([path, { get }]) => get && path.includes('{collectionId}'),
  );
  return found.map(([path]) => path.replaceAll(/\{(\w+)\}/g, (whole, name) => VALUES[name] ?? whole));
}

describe.each(['/ogc/tiles/openapi.json', '/ogc/maps/openapi.json'])('%s', (document) => {
  it('answers the same for the id of a collection as for its number', async () => {
    const paths = await reads(document);
    expect(paths.length).toBeGreaterThan(3);
    for (const path of paths) {
      const byNumber = await answer(path.replace('{collectionId}', numbers.get('countries')!));
      expect([path, byNumber[0]]).toEqual([path, 200]);
      expect([path, ...(await answer(path.replace('{collectionId}', 'countries')))]).toEqual([
        path,
        ...byNumber,
      ]);
      expect((await answer(path.replace('{collectionId}', 'no-such')))[0]).toBe(404);
    }
  });
});

it('a file that is named by a number has an id that no number can mean', async () => {
  const own = numbers.get('data-2020')!;
  for (const path of ['/ogc/tiles/collections/{}', '/ogc/maps/collections/{}']) {
    expect(await answer(path.replace('{}', 'data-2020'))).toEqual(await answer(path.replace('{}', own)));
    expect((await answer(path.replace('{}', '2020')))[0]).toBe(404);
  }
});
