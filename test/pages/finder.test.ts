import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Collection } from '../../src/core/catalog/collection.js';
import { defaultRasterStyle } from '../../src/core/styles/default-style.js';
import { cardMapUrl, computeWindow } from '../../src/gateway/pages/catalog/card-map.js';
import { selectInitialCollections } from '../../src/gateway/pages/maps/initial-collections.js';
import { searchCollections } from '../../src/services/catalog/collection-search.js';
import { qualifiers, sourceNames } from '../../src/services/catalog/source-names.js';
import { startServer, type TestServer } from '../support/server.js';
import { rasterCollection, vectorCollection } from './collections.js';
import { expectSoundPage } from './structure.js';

const roads = (file: string, over: Partial<Collection> = {}) =>
  vectorCollection({ id: file, title: 'Roads', file, ...(over as object) }, 'MultiLineString');

describe('a search', () => {
  const all: Collection[] = [
    roads('/data/berlin/roads.gpkg', { extent84: [13, 52, 14, 53], featureCount: 5 }),
    vectorCollection(
      { id: 'cafés', title: 'Cafés', file: '/data/paris/c.gpkg', extent84: [2, 48, 3, 49] },
      'Point',
    ),
    rasterCollection({ file: '/data/dem.tif' }),
    vectorCollection({ id: 'fiji', title: 'Fiji 10', file: '/data/f.gpkg', extent84: [177, -20, -178, -15] }),
    vectorCollection({ id: 'fiji2', title: 'Fiji 9', file: '/data/f.gpkg', extent84: undefined }),
  ];
  const ids = (search: Partial<Parameters<typeof searchCollections>[1]>) =>
    searchCollections(all, { words: [], order: 'title', ...search }).map(({ collection }) => collection.id);

  it.each([
    [['cafes'], ['cafés']],
    [['BERLIN', 'road'], ['/data/berlin/roads.gpkg']],
    [['lanes', 'multilinestring'], ['/data/berlin/roads.gpkg']],
    [['height'], ['dem']],
    [['nothing'], []],
  ])('for %j looks into names, attributes and sources', (words, expected) => {
    expect(ids({ words })).toEqual(expected);
  });

  it('is for a kind, and for a place, across the antimeridian too', () => {
    expect(ids({ kind: 'line' })).toEqual(['/data/berlin/roads.gpkg']);
    expect(ids({ kind: 'raster' })).toEqual(['dem']);
    expect(ids({ boxes: [[-179, -18, -178.5, -17]] })).toEqual(['fiji']);
    expect(ids({ boxes: [] })).toEqual([]);
  });

  it('has an order in which 9 comes before 10, and one by size', () => {
    expect(ids({}).slice(-3)).toEqual(['fiji2', 'fiji', '/data/berlin/roads.gpkg']);
    expect(ids({ order: 'size' }).at(-1)).toBe('/data/berlin/roads.gpkg');
  });
});

describe('the map of a card', () => {
  it.each([
    ['the world', [-180, -90, 180, 90], [-180, 180]],
    ['a point', [7, 47, 7, 47], [6.99, 7.01]],
    ['Fiji, across the antimeridian', [177, -20, -178, -15], [174, -175]],
    ['a pole', [-180, -90, 180, -60], [-180, 180]],
  ] as const)('has a window of its shape around %s', (_, box, [west, east]) => {
    const window = computeWindow(box);
    const [w, south, e, north] = window;
    expect([w, e]).toEqual([expect.closeTo(west, 0), expect.closeTo(east, 0)]);
    expect(south).toBeGreaterThanOrEqual(-85.01);
    expect(north).toBeLessThanOrEqual(85.01);
    const y = (latitude: number) =>
      Math.log(Math.tan(((45 + latitude / 2) * Math.PI) / 180)) * (180 / Math.PI);
    expect((w > e ? e + 360 - w : e - w) / (y(north) - y(south))).toBeCloseTo(2, 6);
  });

  it('exists for maps only, and for a plane has no window', () => {
    const roads = vectorCollection({ extent84: [7, 46, 8, 47] });
    expect(cardMapUrl('/prefix', roads)).toMatch(
      /^\/prefix\/ogc\/maps\/collections\/7\/map\?f=webp&transparent=true&width=480&height=240&crs=EPSG:3857&bbox=/,
    );
    const plane = { ...roads, storageCrs: { ...roads.storageCrs, isPlane: true } };
    expect(cardMapUrl('', plane)).not.toContain('bbox');
  });
});

describe('the names of sources', () => {
  it('begin below the folder that all share, and say nothing of users and passwords', () => {
    const some = [
      roads('/srv/data/berlin/roads.gpkg'),
      roads('/srv/data/paris/roads.gpkg'),
      roads('postgresql://reader:secret@db.example:5432/city'),
      roads('https://tiles.example/a/b/world.pmtiles?key=1'),
    ];
    const names = [...sourceNames(some).values()].map(({ source }) => source);
    expect(names).toEqual(['berlin/roads.gpkg', 'paris/roads.gpkg', 'city', 'tiles.example/world.pmtiles']);
  });

  it('are the ends of paths that share no folder, as long as it takes to tell them apart', () => {
    const names = (...files: string[]) =>
      [...sourceNames(files.map((file) => roads(file))).values()].map(({ source }) => source);
    expect(names('/srv/data/a.gpkg', '/home/me/b.gpkg')).toEqual(['a.gpkg', 'b.gpkg']);
    expect(names('/srv/old/a.gpkg', '/home/me/a.gpkg')).toEqual(['old/a.gpkg', 'me/a.gpkg']);
  });

  it('tell equal titles apart, by folder, else by file, else by id', () => {
    const apart = (files: string[]) => [...qualifiers(files.map((file) => roads(file))).values()];
    expect(apart(['/d/berlin/r.gpkg', '/d/paris/r.gpkg'])).toEqual(['berlin', 'paris']);
    expect(apart(['/d/x/a.gpkg', '/d/x/b.gpkg'])).toEqual(['a.gpkg', 'b.gpkg']);
    const same = roads('/d/x.gpkg');
    expect([
      ...qualifiers([
        { ...same, id: 'one' },
        { ...same, id: 'two' },
      ]).values(),
    ]).toEqual(['one', 'two']);
    expect([...qualifiers([roads('/d/x.gpkg')]).values()]).toEqual([]);
  });
});

describe('the layers that a map begins with', () => {
  it('are a few that lie together, and of rasters two', () => {
    const many = [
      ...Array.from({ length: 3 }, (_, i) => roads(`lima${i}`, { extent84: [-77, -12, -76, -11] })),
      ...Array.from({ length: 40 }, (_, i) => roads(`oslo${i}`, { extent84: [10, 59, 11, 60] })),
      ...Array.from({ length: 5 }, (_, i) => rasterCollection({ id: `r${i}`, extent84: [10, 59, 11, 60] })),
    ];
    const first = selectInitialCollections(many);
    expect(first).toHaveLength(8);
    expect(first.every(({ id }) => !id.startsWith('lima'))).toBe(true);
    expect(selectInitialCollections(many.slice(43)).filter(({ kind }) => kind === 'raster').length).toBe(5);
    expect(
      selectInitialCollections([...many.slice(43), ...many.slice(0, 8)]).filter(
        ({ kind }) => kind === 'raster',
      ).length,
    ).toBeLessThan(3);
  });
});

describe('a raster without a style', () => {
  const look = (types: [type: string, color: string][]) => {
    const bands = types.map(([type, colorInterpretation], i) => ({
      ...{ band: i + 1, type, colorInterpretation },
      ...{ noData: null, description: '', unit: '' },
    }));
    return defaultRasterStyle(bands).layers[0]!.metadata;
  };

  it.each<[string, [string, string][]]>([
    ['one measured band', [['Float32', 'Gray']]],
    [
      'two',
      [
        ['Float32', 'Gray'],
        ['Float32', 'Undefined'],
      ],
    ],
    ['six measured bands', Array.from({ length: 6 }, () => ['Float32', 'Undefined'] as [string, string])],
  ])('of %s is coloured by a perceptual ramp of the first', (_, bands) => {
    expect(look(bands)).toMatchObject({ 'graticule:look': { bands: [1], colormap: { kind: 'ramp' } } });
  });

  it.each<[string, [string, string][]]>([
    ['a colour table', [['Byte', 'Palette']]],
    ['bytes of gray', [['Byte', 'Gray']]],
    [
      'red, green and blue',
      [
        ['Byte', 'Red'],
        ['Byte', 'Green'],
        ['Byte', 'Blue'],
        ['Byte', 'Alpha'],
      ],
    ],
    [
      'the four bands of a camera',
      Array.from({ length: 4 }, () => ['UInt16', 'Undefined'] as [string, string]),
    ],
  ])('of %s is shown as it is', (_, bands) => {
    expect(look(bands)).toBeUndefined();
  });
});

describe('the pages of lists', () => {
  let server: TestServer;
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'graticule-finder-'));
    const places = { berlin: [13.4, 52.5], paris: [2.3, 48.9], lima: [-77, -12], oslo: [10.7, 59.9] };
    for (const [name, coordinates] of Object.entries(places)) {
      mkdirSync(join(folder, name));
      for (let i = 0; i < 13; i++) {
        const properties = { [`depth_${i}`]: i };
        const feature = { type: 'Feature', properties, geometry: { type: 'Point', coordinates } };
        const text = JSON.stringify({ type: 'FeatureCollection', features: [feature] });
        writeFileSync(join(folder, name, `wells ${i}.geojson`), text);
      }
    }
    server = await startServer({ sources: [folder] });
  }, 120_000);

  afterAll(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true });
  });

  const html = async (path: string) => {
    const answer = await fetch(`${server.url}${path}`, { headers: { accept: 'text/html' } });
    return { status: answer.status, text: await answer.text() };
  };

  it.each(['/', '/ogc/features/collections', '/ogc/tiles/collections', '/ogc/maps/collections'])(
    'at %s have pages, groups by source, and at most 300 kB',
    async (path) => {
      const { text } = await html(path);
      expectSoundPage(text);
      expect(text.length).toBeLessThan(300_000);
      expect(text).toContain('52 collections; 1 to 48 on this page.');
      expect(text).toMatch(/<h[23]><bdi>berlin<\/bdi>/);
      const last = (await html(`${path}?page=2`)).text;
      expect(last).toContain('52 collections; 49 to 52 on this page.');
    },
  );

  it.each([
    ['q=depth_3', 4],
    ['q=oslo', 13],
    ['place=Germany', 13],
    ['place=-80,-20,-70,0', 13],
    ['kind=raster', 0],
    ['kind=point&place=france&q=wells+7', 1],
  ])('are searched by %s', async (query, expected) => {
    const { text } = await html(`/ogc/features/collections?${query}`);
    expectSoundPage(text);
    expect(text.match(/<li class="card">/g)?.length ?? 0).toBe(expected);
  });

  it('are tables on request, also on further pages', async () => {
    const { text } = await html('/ogc/features/collections?view=table&q=oslo');
    expectSoundPage(text);
    expect(text).not.toContain('<li class="card">');
    expect(text.match(/<th scope="row">/g)).toHaveLength(13);
    expect(text).toContain('<td>Point, 1 feature</td>');
    expect((await html('/?view=table')).text).toMatch(/href="[^"]*view=table&amp;page=2"/);
    expect((await html('/?view=list')).status).toBe(400);
    expect((await fetch(`${server.url}/ogc/features/collections?f=json&view=table`)).status).toBe(400);
  });

  it('say when a place is not known, and refuse what makes no sense', async () => {
    expect((await html('/?place=Atlantis')).text).toContain('No country or region is called Atlantis');
    expect((await html('/?page=0')).status).toBe(400);
    expect((await html('/?kind=cube')).status).toBe(400);
  });

  it.each([
    ['', 52],
    ['q=depth_3', 4],
    ['place=Germany', 13],
    ['kind=point&place=france&q=wells+7&sort=title', 1],
    ['kind=raster', 0],
  ])('search documents too: %s', async (query, expected) => {
    for (const path of ['/ogc/features/collections', '/ogc/tiles/collections', '/']) {
      const { collections } = (await (await fetch(`${server.url}${path}?f=json&${query}`)).json()) as {
        collections: unknown[];
      };
      expect(collections, path).toHaveLength(expected);
    }
  });

  it('refuse what documents do not have: pages, and places that are not known', async () => {
    for (const [query, name] of [
      ['page=2', 'page'],
      ['place=Atlantis', 'place'],
    ] as const) {
      const refused = await fetch(`${server.url}/ogc/features/collections?f=json&${query}`);
      expect(refused.status).toBe(400);
      expect(((await refused.json()) as { detail: string }).detail).toContain(name);
    }
  });
});
