import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import Database from '../../../src/native/sqlite.js';
import { eventually } from '../../e2e/support/http.js';
import {
  type EditableStore,
  type Editor,
  geoPackageStore,
  postgisStore,
  startEditor,
} from '../../edits/support.js';

/** An edit is seen in the next tile, and only the tiles that it touches are made anew. */

const point = (x: number, y: number, name: string) => ({
  type: 'Feature',
  geometry: { type: 'Point', coordinates: [x, y] },
  properties: { name },
});

/** An empty tile; or none, once the extent has shrunk in the background and the tile lies outside of it. */
const NOTHING_THERE = [204, 404];

const STORES: [string, () => Promise<EditableStore>, string[]][] = [
  ['a GeoPackage', async () => geoPackageStore(), []],
  ['PostGIS', () => postgisStore(), []],
  ['a GeoPackage and two gateways', async () => geoPackageStore(), ['--processes', '2']],
];

describe.each(STORES)('tiles of %s', (_name, open, args) => {
  let store: EditableStore;
  let editor: Editor;
  let layer: number;
  const NEAR = '4/6/8';
  const FAR = '4/6/2';

  beforeAll(async () => {
    store = await open();
    editor = await startEditor(store, args);
    const { collections } = await (await fetch(`${editor.server.url}/ogc/tiles/collections?f=json`)).json();
    layer = collections.find(({ title }: { title: string }) => title === 'Spots').id;
  });
  afterAll(async () => {
    await editor?.server.stop();
    await store.release();
  });

  /** A connection of its own may reach any process. */
  async function tile(address: string, format = 'mvt', headers = {}) {
    const url = `${editor.server.url}/ogc/tiles/collections/${layer}/tiles/WebMercatorQuad/${address}?f=${format}`;
    const response = await fetch(url, { headers: { connection: 'close', ...headers } });
    return {
      status: response.status,
      text: Buffer.from(await response.arrayBuffer()).toString('latin1'),
      etag: response.headers.get('etag'),
      made: response.headers.get('server-timing')?.includes('vector-tile') ?? false,
    };
  }
  const edit = (...request: Parameters<Editor['send']>) => editor.send(...request);
  /** Asks until every process has answered from its cache. */
  const warm = (address: string, format?: string) =>
    eventually(async () => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => tile(address, format)));
      expect(answers.map(({ made }) => made)).not.toContain(true);
    });
  /** All processes have heard of the edit once none of them has the old tile. */
  const settled = (address: string, check: (answer: Awaited<ReturnType<typeof tile>>) => void) =>
    eventually(async () => {
      for (const answer of await Promise.all(Array.from({ length: 8 }, () => tile(address)))) check(answer);
    });

  it('show a new, moved and deleted feature, and keep the others', async () => {
    await edit('POST', 'spots/items', point(-120, 35, 'stays'));
    await settled(FAR, ({ text }) => expect(text).toContain('stays'));
    await warm(NEAR);
    // Who shows an edit in a tile that was kept has heard of the edits before it too: none is late for FAR.
    const before = (await edit('POST', 'spots/items', point(12, 35, 'before'))).body;
    await settled(NEAR, ({ text }) => expect(text).toContain('before'));
    await edit('DELETE', `spots/items/${before.id}`);
    await settled(NEAR, ({ status }) => expect(NOTHING_THERE).toContain(status));
    await warm(FAR);
    await warm(NEAR);
    const far = await tile(FAR);

    const { id } = (await edit('POST', 'spots/items', point(10, 35, 'new'))).body;
    if (args.length === 0) expect((await tile(NEAR)).text).toContain('new');
    await settled(NEAR, ({ text }) => expect(text).toContain('new'));
    expect(await tile(FAR)).toEqual({ ...far, made: false });

    await edit('PATCH', `spots/items/${id}`, { geometry: { type: 'Point', coordinates: [-10, 35] } });
    await settled(NEAR, ({ status }) => expect(NOTHING_THERE).toContain(status));
    await settled('4/6/7', ({ text }) => expect(text).toContain('new'));

    await edit('PATCH', `spots/items/${id}`, { properties: { name: 'renamed' } });
    await settled('4/6/7', ({ text }) => expect(text).toContain('renamed'));

    await edit('DELETE', `spots/items/${id}`);
    await settled('4/6/7', ({ status }) => expect(NOTHING_THERE).toContain(status));
    expect(await tile(FAR)).toEqual({ ...far, made: false });
  });

  it('keep their entity tag when an edit elsewhere drops them, and answer 304', async () => {
    await settled(FAR, ({ text }) => expect(text).toContain('stays'));
    const { etag } = await tile(FAR);
    const { id } = (await edit('POST', 'spots/items', point(-120, 36, 'guest'))).body;
    await settled(FAR, ({ text }) => expect(text).toContain('guest'));
    await edit('DELETE', `spots/items/${id}`);
    await settled(FAR, ({ text }) => expect(text).not.toContain('guest'));
    expect((await tile(FAR)).etag).toBe(etag);
    expect((await tile(FAR, 'mvt', { 'if-none-match': etag! })).status).toBe(304);
  });

  it('of images are drawn anew too', async () => {
    await warm(NEAR, 'png');
    const blank = await tile(NEAR, 'png');
    const { id } = (await edit('POST', 'spots/items', point(10, 35, 'drawn'))).body;
    await eventually(async () => {
      const { status, etag } = await tile(NEAR, 'png');
      expect([status, etag === blank.etag]).toEqual([200, false]);
    });
    await edit('DELETE', `spots/items/${id}`);
    await settled(NEAR, ({ status }) => expect(NOTHING_THERE).toContain(status));
  });

  it('are read anew after a batch far apart, as far as it reaches', async () => {
    await warm('4/11/2');
    const operations = Array.from({ length: 1000 }, (_, i) => ({
      type: 'CREATE',
      feature: point(((i * 7) % 340) - 170, (i * 3) % 60, 'batch'),
    }));
    const { status } = await edit(
      'POST',
      'spots/items/batch',
      { operations },
      {
        'content-type': 'application/json',
      },
    );
    expect(status).toBe(200);
    await settled(NEAR, ({ text }) => expect(text).toContain('batch'));
    expect((await tile('4/11/2')).made).toBe(false);
  });
});

describe('a GeoPackage that another program writes to', () => {
  const store = geoPackageStore();
  let editor: Editor;
  beforeAll(async () => {
    editor = await startEditor(store);
  });
  afterAll(async () => {
    await editor?.server.stop();
    await store.release();
  });

  it('loses all its tiles, also while the change is in its log only', async () => {
    const { collections } = await (await fetch(`${editor.server.url}/ogc/tiles/collections?f=json`)).json();
    const { id } = collections.find(({ title }: { title: string }) => title === 'Untended');
    const text = async () => {
      const url = `${editor.server.url}/ogc/tiles/collections/${id}/tiles/WebMercatorQuad/0/0/0?f=mvt`;
      return Buffer.from(await (await fetch(url)).arrayBuffer()).toString('latin1');
    };
    // Our writer is open from now on, so that the log stays when others close the file.
    await editor.send('POST', 'untended/items', point(1, 1, 'ours'));
    expect(await text()).toContain('ours');
    const other = new Database(store.file);
    other.exec("UPDATE untended SET name = 'theirs'");
    other.close();
    await eventually(async () => expect(await text()).toContain('theirs'));
  });
});
