import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RemoteRaster } from '../../../src/core/rasters/rasters.js';
import type { SceneQuery, SceneSearch } from '../../../src/core/stac/stac-scenes.js';
import { sceneRaster } from '../../../src/services/rasters/stac-imagery/mosaic.js';
import { sceneStamp } from '../../../src/services/rasters/stac-imagery/searches.js';
import { searchScenes } from '../../../src/workers/exchange/ingest/stac/search.js';
import { AllowedHosts } from '../../../src/workers/storage/remote/allowed-hosts.js';
import { Cancellation } from '../../../src/workers/threads/cancellation.js';
import { type StacApi, sendJson, startStacApi } from '../../support/stac-api.js';

/** Answers of public APIs, recorded and abridged: test/fixtures/README.md says where they are from. */

interface Recording {
  landing: unknown;
  pages: { features: Item[]; links: { rel: string; body?: unknown }[] }[];
  'sentinel-2-l2a': { features: Item[] };
}
interface Item {
  id: string;
  assets: Record<string, { href: string; [member: string]: unknown }>;
  properties: Record<string, unknown>;
}

const HOSTS = ['127.0.0.1', 'sentinel-cogs.s3.us-west-2.amazonaws.com', '*.blob.core.windows.net'];

let api: StacApi;
beforeAll(async () => {
  api = await startStacApi();
});
afterAll(() => api.close());
/** Landing pages are remembered: each test has one of its own. */
let count = 0;
beforeEach(() => {
  count += 1;
  api.requests.length = 0;
  api.bodies.length = 0;
});

const recording = (name: string): Recording =>
  JSON.parse(readFileSync(`test/fixtures/stac/${name}.json`, 'utf8'));

/** The API answers as it did, except that its links lead to this machine. */
function replay({ landing, pages }: Recording, base: string): void {
  const here = (document: unknown) =>
    JSON.parse(JSON.stringify(document).replaceAll(base, `${api.origin}/${count}`));
  api.answer = ({ url, method }: IncomingMessage, response, body) => {
    if (!url!.includes('/search')) return sendJson(response, here(landing));
    if (method === 'GET') return sendJson(response, here(pages[0]));
    const next = pages.findIndex(({ links }) => {
      const link = links.find(({ rel }) => rel === 'next');
      return link && JSON.stringify(link.body) === body;
    });
    const empty = { type: 'FeatureCollection', features: [], links: [] };
    return sendJson(response, here(next < 0 ? null : (pages[next + 1] ?? empty)));
  };
}

function search(
  query: Pick<SceneQuery, 'collections' | 'assets'> & Partial<SceneQuery>,
): Promise<SceneSearch> {
  return searchScenes(
    { url: `${api.origin}/${count}`, timeoutMs: 5000, maxScenes: 100, query },
    { allowed: new AllowedHosts(HOSTS), cancellation: new Cancellation() },
  );
}

describe('Earth Search', () => {
  const SENTINEL = { collections: ['sentinel-2-l2a'], assets: ['visual'] };
  const COGS = 'https://sentinel-cogs.s3.us-west-2.amazonaws.com/sentinel-s2-l2a-cogs';

  it('has its scenes on pages whose bodies stand alone', async () => {
    replay(recording('earth-search'), 'https://earth-search.aws.element84.com/v1');
    const answer = await search(SENTINEL);
    expect(answer.scenes.map(({ id }) => id)).toEqual([
      'S2B_20EPT_20250731_0_L2A',
      'S2B_24MUV_20250731_0_L2A',
      'S2B_24MVV_20250731_0_L2A',
      'S2B_24MWV_20250731_0_L2A',
    ]);
    expect(answer.scenes[2]).toEqual({
      ...{ id: 'S2B_24MVV_20250731_0_L2A', collection: 'sentinel-2-l2a', epsg: 32724, cloudCover: 34.760532 },
      ...{ bbox: [-39.902043, -4.938762, -38.911974, -4.522829], acquired: '2025-07-31T13:03:25.899Z' },
      hrefs: [`${COGS}/24/M/VV/2025/7/S2B_24MVV_20250731_0_L2A/TCI.tif`],
      self: `${api.origin}/${count}/collections/sentinel-2-l2a/items/S2B_24MVV_20250731_0_L2A`,
    });
    // Radar scenes have no such asset.
    expect(answer).toMatchObject({ refused: 1, matched: 115_912_757 });
    expect(api.bodies).toEqual([
      { next: '2025-07-31T13:03:25.899000Z,S2B_T24MVV_20250731T130245_L2A,sentinel-2-c1-l2a' },
      { next: '2025-07-31T13:03:19.635000Z,S2B_24MUA_20250731_0_L2A,sentinel-2-l2a' },
    ]);
  });

  it('is asked for the newest of few clouds', async () => {
    replay(recording('earth-search'), 'https://earth-search.aws.element84.com/v1');
    await search({ ...SENTINEL, prefers: 'newest', filter: '"eo:cloud_cover" < 40' });
    const query = new URL(api.requests[1]!.slice(4), api.origin).searchParams;
    expect(query.get('sortby')).toBe('-properties.datetime');
    expect(query.get('query')).toBe('{"eo:cloud_cover":{"lt":40}}');
  });

  it('has assets in buckets', async () => {
    replay(recording('earth-search'), 'https://earth-search.aws.element84.com/v1');
    const { scenes } = await search({ collections: ['sentinel-1-grd'], assets: ['hh'] });
    expect(scenes[0]!.hrefs[0]).toMatch(/^s3:\/\/sentinel-s1-l1c\/GRD\/2025\/7\/31\/.*\/iw-hh\.tiff$/);
    const { url } = sceneRaster({ credentials: 'none' }, scenes[0]!) as RemoteRaster;
    expect(url).toMatch(/^https:\/\/sentinel-s1-l1c\.s3\.[-\w.]*amazonaws\.com\/GRD\/2025\/7\/31\//);
  });
});

describe('the Planetary Computer', () => {
  const BASE = 'https://planetarycomputer.microsoft.com/api/stac/v1';
  const NAIP = { collections: ['naip'], assets: ['image'] };

  it('has its scenes on pages whose bodies repeat the search', async () => {
    const { pages, landing, ...rest } = recording('planetary-computer');
    replay({ landing, pages, ...rest }, BASE);
    const answer = await search(NAIP);
    expect(answer).toMatchObject({ refused: 0, problems: [] });
    expect(answer.scenes.map(({ id }) => id)).toEqual(
      pages.flatMap(({ features }) => features.map(({ id }) => id)),
    );
    expect(api.bodies).toEqual(pages.map(({ links }) => links.find(({ rel }) => rel === 'next')!.body));
    expect(answer.scenes[0]).toMatchObject({ epsg: 26918, acquired: '2023-06-22T16:00:00.000Z' });
  });

  it('takes filters as text', async () => {
    replay(recording('planetary-computer'), BASE);
    await search({ ...NAIP, filter: `"naip:state" = 'vt'` });
    const query = new URL(api.requests[1]!.slice(4), api.origin).searchParams;
    expect(query.get('filter')).toBe(`"naip:state" = 'vt'`);
  });

  it('signs addresses, which do not make scenes others', async () => {
    const { landing, 'sentinel-2-l2a': page, ...rest } = recording('planetary-computer');
    const signed = async (signature: string) => {
      count += 1;
      const copy = structuredClone(page);
      for (const { assets } of copy.features) assets['B04']!.href += `?se=2025-08-01&sig=${signature}`;
      replay({ ...rest, landing, pages: [{ ...copy, links: [] }], 'sentinel-2-l2a': page }, BASE);
      const { scenes } = await search({ collections: ['sentinel-2-l2a'], assets: ['B04'] });
      return scenes.map(({ self: _, ...scene }) => scene);
    };
    const [first, second] = [await signed('one%2B'), await signed('two')];
    expect(first[0]!.hrefs[0]).toMatch(/_B04_10m\.tif\?se=2025-08-01&sig=one%2B$/);
    expect(sceneStamp(first)).toBe(sceneStamp(second));
    expect(sceneStamp(first)).not.toContain('sig=');
  });

  it('may say nothing of projections, and of other places of assets', async () => {
    const { landing, 'sentinel-2-l2a': page, ...rest } = recording('planetary-computer');
    const [item] = structuredClone(page.features);
    const { datetime } = item!.properties;
    item!.properties = { datetime };
    const { href } = item!.assets['B04']!;
    item!.assets['B04'] = { href, alternate: { s3: { href: 's3://elsewhere/B04.tif' } } };
    replay(
      { ...rest, landing, pages: [{ ...page, features: [item!], links: [] }], 'sentinel-2-l2a': page },
      BASE,
    );
    const [scene] = (await search({ collections: ['sentinel-2-l2a'], assets: ['B04'] })).scenes;
    expect(Object.keys(scene!).sort()).toEqual(['acquired', 'bbox', 'collection', 'hrefs', 'id', 'self']);
    expect(scene!.hrefs).toEqual([href]);
  });
});
