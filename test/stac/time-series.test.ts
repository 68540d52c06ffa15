import sharp from 'sharp';
import { beforeAll, describe, expect, it } from 'vitest';
import { startServer } from '../support/server.js';
import { type SharedServer, sharedServer } from '../support/shared-server.js';
import { type Json, stacClient } from './support.js';

/** Monthly rain and temperature of 1999, and rasters of no time. */
let server: SharedServer;
const { get, json, found } = stacClient(() => server);

beforeAll(async () => {
  server = await sharedServer();
}, 120_000);

const SERIES = 'bcsd_obs_1999';
const at = (day: string) => `${SERIES}/${SERIES}_1999${day}T000000Z`;
const layerId = async (name: string): Promise<number> => {
  const response = await fetch(`${server.url}/ogc/tiles/collections`);
  const { collections }: Json = await response.json();
  return Number(collections.find((one: Json) => one.name === name).id);
};
const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());

describe('a netCDF series', () => {
  it('has an item for each instant', async () => {
    expect((await json(`/collections/${SERIES}/items?limit=100`)).features).toHaveLength(12);
    const collection = await json(`/collections/${SERIES}`);
    expect(collection.extent.temporal.interval).toEqual([
      ['1999-01-31T00:00:00.000Z', '1999-12-31T00:00:00.000Z'],
    ]);
    expect(await found(`collections=${SERIES}&datetime=1999-02-01T00:00:00Z/1999-03-31T00:00:00Z`)).toEqual([
      at('0228'),
      at('0331'),
    ]);
  });

  it('has items whose assets show their instant', async () => {
    const [first, second] = (await json(`/collections/${SERIES}/items?limit=2`)).features;
    for (const [key, asset] of Object.entries<Json>(first.assets)) {
      const response = await get(asset.href);
      expect(response.status, `${key} ${asset.href}`).toBe(200);
    }
    const images = await Promise.all(
      [first, second].map(async ({ assets }) => bytesOf(await get(assets.thumbnail.href))),
    );
    expect(images[0]!.equals(images[1]!)).toBe(false);
  });
});

describe('a map of a time', () => {
  const map = async (query: string) => {
    const response = await fetch(
      `${server.url}/ogc/maps/collections/${await layerId(SERIES)}/map?f=png&${query}`,
    );
    return { response, image: await bytesOf(response) };
  };

  it('shows the newest instant within the range, and names its item', async () => {
    const { response, image } = await map('datetime=1999-01-01/1999-03-15');
    expect(response.status).toBe(200);
    expect(response.headers.get('graticule-acquired')).toBe('1999-02-28T00:00:00.000Z');
    expect(response.headers.get('graticule-source-items')).toBe(at('0228'));
    const link = /<([^>]+)>; rel="derived_from"/.exec(response.headers.get('link') ?? '')?.[1];
    expect((await json(link!)).id).toBe(at('0228').split('/')[1]);
    expect(image.equals((await map('datetime=1999-02-28T00:00:00Z')).image)).toBe(true);
    expect(image.equals((await map('datetime=1999-03-31T00:00:00Z')).image)).toBe(false);
    expect((await map('')).image.equals((await map('datetime=1999-01-01/..')).image)).toBe(true);
  });

  it('is none when nothing was acquired in the range', async () => {
    expect((await map('datetime=1998-01-01/1998-12-31')).response.status).toBe(404);
    expect((await map('datetime=1999-02-27')).response.status).toBe(404);
  });

  it('of several collections shows rasters of the newest batch only', async () => {
    const url = `${server.url}/ogc/maps/map?f=png&width=64`;
    const rasters = `&collections=${SERIES},l7_etms`;
    const both = await fetch(`${url}${rasters}&datetime=1999-01-01/1999-12-31`);
    expect(both.headers.get('graticule-source-items')).toBe(at('1231'));
    const undated = await fetch(`${url}&collections=l7_etms&datetime=1999-01-01/1999-12-31`);
    expect([undated.status, undated.headers.get('graticule-acquired')]).toEqual([200, null]);
    expect((await fetch(`${url}${rasters}&datetime=1950-01-01`)).status).toBe(404);
    // Features have no batch: the countries are there, the rasters are not.
    expect((await fetch(`${url}${rasters},countries&datetime=1950-01-01`)).status).toBe(200);
  });
});

describe('a tile of a time', () => {
  const tile = async (query: string) => {
    const response = await fetch(`${server.url}/tiles/${SERIES}/4/4/6.png?${query}`);
    return { response, image: await bytesOf(response) };
  };

  it('is that of the newest instant within the range, and is kept', async () => {
    const february = await tile('datetime=1999-01-01/1999-03-15');
    expect(february.response.headers.get('graticule-source-items')).toBe(at('0228'));
    const march = await tile('datetime=1999-03-01/1999-03-31');
    expect(march.response.headers.get('graticule-source-items')).toBe(at('0331'));
    expect(february.image.equals(march.image)).toBe(false);
    expect((await tile('datetime=1999-02-28')).image.equals(february.image)).toBe(true);
    expect((await tile('')).response.headers.get('graticule-source-items')).toBeNull();
  });

  it('is empty when nothing was acquired in the range', async () => {
    const { response, image } = await tile('datetime=1998-01-01');
    expect(response.status).toBe(200);
    expect((await sharp(image).ensureAlpha().stats()).channels[3]!.max).toBe(0);
  });

  it('is described by TileJSON of that time', async () => {
    const response = await fetch(`${server.url}/tiles/${SERIES}?datetime=1999-02-28T00:00:00Z`);
    const { tiles }: Json = await response.json();
    const url = tiles[0].replace('{z}', '4').replace('{x}', '4').replace('{y}', '6');
    const shown = await fetch(`${url}&f=png`.replace('&f=png', ''));
    expect(shown.headers.get('graticule-source-items')).toBe(at('0228'));
  });

  it('has a tileset that says which times there are', async () => {
    const path = `/ogc/tiles/collections/${await layerId(SERIES)}`;
    const collection: Json = await (await fetch(`${server.url}${path}`)).json();
    expect(collection.extent.temporal).toMatchObject({
      interval: [['1999-01-31T00:00:00.000Z', '1999-12-31T00:00:00.000Z']],
      grid: { cellsCount: 12 },
    });
  });
});

it('licensing may withhold maps of a time', async () => {
  const licensed = await startServer({ args: [], env: { SVC_LICENSING__ENABLED: 'true' } });
  try {
    const url = `${licensed.url}/ogc/maps/map?collections=${SERIES}&f=png&width=32`;
    expect((await fetch(`${url}&datetime=1999-01-01/..`)).status).toBe(402);
    expect((await fetch(url)).status).toBe(200);
  } finally {
    await licensed.stop();
  }
}, 60_000);
