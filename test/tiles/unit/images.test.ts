import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Editor, geoPackageStore, startEditor } from '../../edits/support.js';

/** Tiles as images: drawn many at a time, whole at their edges. */

describe('image tiles', () => {
  const store = geoPackageStore();
  let editor: Editor;
  let layer: number;

  beforeAll(async () => {
    editor = await startEditor(store);
    const places = [
      [0, 0],
      [-45, 0],
    ];
    for (const coordinates of places) {
      const feature = {
        type: 'Feature',
        geometry: { type: 'Point', coordinates },
        properties: { name: 'p' },
      };
      expect((await editor.send('POST', 'spots/items', feature)).status).toBe(201);
    }
    const { collections } = await (await fetch(`${editor.server.url}/ogc/tiles/collections?f=json`)).json();
    layer = collections.find(({ title }: { title: string }) => title === 'Spots').id;
  });
  afterAll(async () => {
    await editor?.server.stop();
    await store.release();
  });

  const get = async (address: string, query = 'f=png') => {
    const url = `${editor.server.url}/ogc/tiles/collections/${layer}/tiles/WebMercatorQuad/${address}?${query}`;
    const response = await fetch(url);
    const data = Buffer.from(await response.arrayBuffer());
    const drawn = response.headers.get('server-timing')?.includes('map-render') ?? false;
    return { status: response.status, type: response.headers.get('content-type'), data, drawn };
  };
  /** Whether anything is in a tile. */
  async function shows(address: string): Promise<boolean> {
    const { status, data } = await get(address);
    if (status !== 200) return false;
    const { channels } = await sharp(data).ensureAlpha().stats();
    return channels[3]!.max > 0;
  }
  /** Whether a pixel is drawn; negative coordinates count from the other side. */
  async function isDrawn(data: Buffer, x: number, y: number): Promise<boolean> {
    const { data: pixels, info } = await sharp(data)
      .ensureAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true });
    const at = (n: number, size: number) => (n < 0 ? size + n : n);
    return pixels[(at(y, info.height) * info.width + at(x, info.width)) * 4 + 3]! > 200;
  }

  it.each([
    // At the corner of four metatiles, and within one.
    ['4/7/7', '4/7/8', '4/8/7', '4/8/8'],
    ['3/3/2', '3/3/3', '3/4/2', '3/4/3'],
  ])('show a symbol on the corner of %s whole', async (...corner) => {
    const [topLeft, topRight, bottomLeft, bottomRight] = await Promise.all(corner.map((one) => get(one)));
    expect(await isDrawn(topLeft!.data, -2, -2)).toBe(true);
    expect(await isDrawn(topRight!.data, 1, -2)).toBe(true);
    expect(await isDrawn(bottomLeft!.data, -2, 1)).toBe(true);
    expect(await isDrawn(bottomRight!.data, 1, 1)).toBe(true);
  });

  it('are drawn with their neighbours, and kept', async () => {
    expect(await get('6/32/32')).toMatchObject({ status: 200, drawn: true });
    for (const address of ['6/32/33', '6/33/32', '6/35/35'])
      expect(await get(address)).toMatchObject({ status: 404, drawn: false });
    expect((await get('6/32/36')).drawn).toBe(true);
  });

  it('are drawn once for all who ask at the same time', async () => {
    const places = Array.from({ length: 16 }, (_, i) => `7/${64 + Math.floor(i / 4)}/${64 + (i % 4)}`);
    const all = await Promise.all(places.map((place) => get(place)));
    expect(all.filter(({ drawn }) => drawn)).toHaveLength(1);
    expect(all.map(({ status }) => status)).toEqual([200, ...Array(15).fill(404)]);
  });

  it('come as WebP', async () => {
    const { type, data } = await get('5/16/16', 'f=webp');
    expect(type).toBe('image/webp');
    expect(await sharp(data).metadata()).toMatchObject({ format: 'webp', width: 256, height: 256 });
    expect(await isDrawn(data, 1, 1)).toBe(true);
  });

  it('have twice the pixels and symbols twice as large with scale=2', async () => {
    const [single, double] = [await get('5/16/16'), await get('5/16/16', 'f=png&scale=2')];
    expect(await sharp(double.data).metadata()).toMatchObject({ width: 512, height: 512 });
    expect([await isDrawn(single.data, 3, 0), await isDrawn(single.data, 6, 0)]).toEqual([true, false]);
    expect([await isDrawn(double.data, 6, 0), await isDrawn(double.data, 12, 0)]).toEqual([true, false]);
  });

  it.each(['f=mvt&scale=2', 'f=png&scale=3', 'f=png&scale=0', 'f=png&scale=x'])(
    'answer 400 to %s',
    async (query) => {
      expect((await get('5/16/16', query)).status).toBe(400);
    },
  );

  it('are drawn anew after an edit, all of a metatile that it touches', async () => {
    const before = await get('8/128/128');
    expect(await shows('8/128/129')).toBe(false);
    const feature = {
      type: 'Feature',
      geometry: { type: 'Point', coordinates: [2, -0.5] },
      properties: { name: 'new' },
    };
    const { id } = (await editor.send('POST', 'spots/items', feature)).body;
    expect(await shows('8/128/129')).toBe(true);
    await editor.send('DELETE', `spots/items/${id}`);
    expect(await shows('8/128/129')).toBe(false);
    expect((await get('8/128/128')).data).toEqual(before.data);
  });
});
