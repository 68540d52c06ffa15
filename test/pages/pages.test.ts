import { describe, expect, it } from 'vitest';
import type { Collection, VectorCollection } from '../../src/core/catalog/collection.js';
import type { MapData } from '../../src/core/catalog/page-data.js';
import { itemRows, type RowFeature } from '../../src/core/features/item-rows.js';
import { ANONYMOUS } from '../../src/core/http/operation.js';
import { Markup } from '../../src/core/values/html.js';
import type { Finder } from '../../src/gateway/pages/catalog/finder.js';
import { homePage } from '../../src/gateway/pages/catalog/home.js';
import { buildFrame } from '../../src/gateway/pages/crumbs.js';
import * as pages from '../../src/gateway/pages/index.js';
import { type PageLink, safeHref } from '../../src/gateway/pages/links.js';
import type { ReferenceDocument } from '../../src/gateway/pages/reference/documents.js';
import { docsListPage, interfacePage } from '../../src/gateway/pages/reference/interface-page.js';
import { operationPage } from '../../src/gateway/pages/reference/operation-page.js';
import { REFERENCE_DOCUMENTS, SURFACES } from '../../src/gateway/site/documents.js';
import { BASE, HOSTILE, rasterCollection, vectorCollection, worldCollection } from './collections.js';
import { expectSoundPage, loaded, pageJson } from './structure.js';

/** A reader whose name is as hostile as other texts may be. */
const at = (path: string, query = '', name?: string) => {
  const principal = name === undefined ? ANONYMOUS : ({ ...ANONYMOUS, kind: 'user', name } as const);
  return { baseUrl: BASE, path, query, principal };
};

/** Features as a worker makes rows of them. */
function rowsOf(collection: VectorCollection, features: readonly RowFeature[]) {
  const form = pages.itemRowsForm(at('/ogc/features/collections/roads/items'), collection.source.fields);
  return { returned: features.length, rows: new Markup(itemRows(features, form)) };
}

function links(text: string): PageLink[] {
  return [
    { href: `${BASE}/x?f=html`, rel: 'self', type: 'text/html', title: text },
    { href: `${BASE}/x?f=json`, rel: 'alternate', type: 'application/json', title: text },
    { href: `${BASE}/y`, rel: 'items', type: 'application/geo+json', title: text },
    { href: 'java\tscript:alert(1)', rel: 'related', title: text },
    { href: `${BASE}/t/{tileMatrix}?f=mvt`, rel: 'item', type: text, title: text, templated: true },
  ];
}

/** A list that was searched with a text for everything. */
function finderOf(collections: readonly Collection[], text: string): Finder {
  const shown = collections.map((collection) => ({ collection, name: { source: text, group: text } }));
  return {
    search: { q: text, kind: undefined, place: text, sort: 'source', view: 'cards' },
    placeIsKnown: true,
    // So many that there is a form to search them.
    published: Array.from({ length: 9 }, () => collections[0]!),
    total: 100,
    hits: shown,
    page: 2,
    last: 9,
    path: '/ogc/features/collections',
  };
}

/** Every kind of page, with a text put wherever data or configuration can put one. */
function everyPage(text: string): Record<string, string> {
  const vector = vectorCollection({ id: text, title: text, description: text });
  const raster = rasterCollection({ id: text, title: text, description: text });
  vector.source.fields.push({ name: text, type: 'string', nullable: true });
  const feature = { id: text, properties: { name: text, lanes: 4, [text]: { nested: [text] } } };
  const all = [vector, raster, worldCollection()];
  const own = links(text);
  const path = `/ogc/features/collections/${encodeURIComponent(text)}`;
  const document = { id: text, title: text, description: text, [text]: [text, { [text]: text }], links: own };
  const collection = {
    id: text,
    title: text,
    description: text,
    itemType: text,
    extent: { spatial: { bbox: [[170, -10, -170, 10]] } },
    links: own,
  };
  const schema = {
    type: 'object',
    description: text,
    properties: { [text]: { enum: [text, 1], default: text } },
  };
  const parameter = {
    name: 'id',
    in: 'path',
    required: true,
    description: text,
    schema: { type: text },
  } as const;
  const response = { description: text, content: { [text]: { schema } } };
  const api: ReferenceDocument = {
    surface: 'x',
    title: text,
    description: text,
    openapi: '/openapi',
    operations: [
      {
        id: text,
        method: 'GET',
        path: '/x/{id}',
        tag: text,
        summary: text,
        description: text,
        isBuilt: true,
        permission: text,
        parameters: [
          parameter,
          { ...parameter, in: 'query', required: false, schema: schema.properties[text]! },
        ],
        body: { required: true, content: { 'application/json': { schema } } },
        responses: { 200: response },
      },
    ],
  };
  const tileset = { title: text, dataType: text, crs: text, tileMatrixSetId: text, links: own };
  return {
    home: homePage({
      ...buildFrame(at('/', '', text)),
      version: text,
      surfaces: SURFACES,
      collections: all,
      finder: finderOf(all, text),
      links: own,
    }),
    docs: docsListPage({
      ...buildFrame(at('/docs')),
      documents: REFERENCE_DOCUMENTS,
      q: text,
      readable: [api],
    }),
    interface: interfacePage({ ...buildFrame(at('/docs/x')), document: api, q: undefined }),
    operation: operationPage({
      ...buildFrame(at('/docs/x/y', 'a=1')),
      document: api,
      operation: api.operations[0]!,
      values: new URLSearchParams({ 'path.id': text }),
      collections: [text],
      mayCall: false,
    }),
    landing: pages.buildLandingPage(at('/ogc/features/'), { title: text, description: text, links: own }),
    conformance: pages.buildConformancePage(at('/ogc/features/conformance'), {
      conformsTo: [text, 'http://www.opengis.net/spec/a/1.0/conf/b'],
      links: own,
    }),
    collections: pages.buildCollectionsPage(
      at('/ogc/features/collections'),
      {
        collections: [collection],
        links: own,
      },
      finderOf([vector], text),
    ),
    collection: pages.buildCollectionPage(at(path), { links: own }, vector),
    coverage: pages.coveragePage(at(path), { links: own }, raster),
    items: pages.buildItemsPage(
      at(`${path}/items`, `bbox=${encodeURIComponent(text)}`),
      {
        ...{ collection: vector, fields: vector.source.fields, links: own },
        ...{ matched: { count: 3, isExact: true }, limit: 10, offset: 0 },
      },
      rowsOf(vector, [feature]),
    ),
    item: pages.buildItemPage(at(`${path}/items/1`), vector, { ...feature, links: own }),
    tilesets: pages.buildDocumentPage(at('/ogc/tiles/tiles'), text, { tilesets: [tileset], links: own }),
    matrixSets: pages.buildDocumentPage(at('/ogc/tiles/tileMatrixSets'), text, {
      tileMatrixSets: [{ id: text, title: text, uri: text, links: own }],
      links: own,
    }),
    document: pages.buildDocumentPage(at('/stac'), text, document),
  };
}

describe('the header', () => {
  const header = (html: string) => /<a class="account"[^>]*>.*?<\/a>/.exec(html)?.[0];

  it('links the sign-in page, which returns to the page and its query', () => {
    expect(header(pages.buildDocumentPage(at('/stac/search', 'a=1&b=2'), 'W', {}))).toBe(
      `<a class="account" href="${BASE}/account/sign-in?to=${encodeURIComponent('/prefix/stac/search?a=1&b=2')}">Sign in</a>`,
    );
  });

  it('names the reader who is signed in', () => {
    expect(header(pages.buildDocumentPage(at('/stac', '', 'ann'), 'W', {}))).toBe(
      `<a class="account" href="${BASE}/account"><span class="unseen">Account of </span><bdi>ann</bdi></a>`,
    );
  });
});

describe('every page', () => {
  for (const [name, page] of Object.entries(everyPage('Plain'))) {
    it(`${name} is a sound document`, () => expectSoundPage(page));
    it(`${name} loads only its own assets below the public prefix`, () => {
      expect(loaded(page).length).toBeGreaterThan(1);
      for (const source of loaded(page)) expect(source).toMatch(/^\/prefix\/assets\/[\w.-]+$/);
    });
  }

  for (const [name, page] of Object.entries(everyPage(HOSTILE))) {
    it(`${name} shows hostile text as text`, () => {
      expectSoundPage(page);
      expect(page).not.toContain('<script>');
      expect(page).not.toContain('<img src=x');
      expect(page).not.toMatch(/href="[^"]*script:/);
    });
  }

  it('keeps right-to-left data from turning its surroundings', () => {
    for (const name of ['collection', 'items', 'item', 'collections']) {
      expect(everyPage('שלום')[name]).toContain('<bdi>שלום</bdi>');
    }
  });
});

describe('links', () => {
  it.each([
    'javascript:alert(1)',
    ' JAVASCRIPT:alert(1)',
    'java\nscript:alert(1)',
    '\u0001javascript:x',
    'data:text/html,x',
    'vbscript:x',
  ])('refuses %j', (href) => expect(safeHref(href)).toBe('#'));

  it.each(['https://a.example/b?c=d', '/x', 'items/5:6', '?f=json', '#main', 'http://a.example'])(
    'keeps %j',
    (href) => expect(safeHref(href)).toBe(href),
  );

  it('lead to other formats of the page, and show templates without linking them', () => {
    const page = pages.buildLandingPage(at('/ogc/tiles/'), {
      title: 'T',
      description: '',
      links: links('text'),
    });
    expect(page).toContain(`<a href="${BASE}/x?f=json" rel="alternate">JSON</a>`);
    expect(page).toContain(`<code class="template">${BASE}/t/{tileMatrix}?f=mvt</code>`);
    expect(page).not.toContain(`href="${BASE}/t/`);
  });
});

describe('a map', () => {
  const mapOf = (page: string) => pageJson<MapData>(page, 'map-data');

  it('draws a collection from its own tiles, row before column', () => {
    const data = mapOf(
      pages.buildCollectionPage(at('/ogc/features/collections/roads'), { links: [] }, vectorCollection()),
    );
    const [layer] = data.layers;
    expect(layer).toMatchObject({ kind: 'vector', sourceLayers: ['roads'], geometry: 'polygon' });
    expect(layer!.tiles).toBe(`${BASE}/tiles/7/{z}/{x}/{y}.mlt`);
    expect(data.bounds).toEqual([5, 45, 11, 48]);
    expect(data.basemap).toMatchObject({ kind: 'own', tiles: `${BASE}/basemap/{z}/{x}/{y}`, maxZoom: 6 });
  });

  it('draws rasters as image tiles', () => {
    const data = mapOf(
      pages.coveragePage(at('/ogc/coverages/collections/dem'), { links: [] }, rasterCollection()),
    );
    expect(data.layers[0]).toMatchObject({
      kind: 'raster',
      tiles: expect.stringMatching(/\/tiles\/8\/.*\.png$/),
    });
  });

  it('shows points above lines above polygons above rasters on the start page, with one checkbox each', () => {
    const collections = [
      rasterCollection(),
      vectorCollection({ id: 'areas', featureCount: 5 }),
      vectorCollection({ id: 'parts', featureCount: 50 }),
      vectorCollection({ id: 'stops' }, 'Point'),
      vectorCollection({ id: 'ways' }, 'MultiLineString'),
    ];
    const finder = finderOf(collections, '');
    const page = homePage({
      ...buildFrame(at('/')),
      version: '1',
      surfaces: SURFACES,
      collections,
      finder,
      links: [],
    });
    const order = ['stops', 'ways', 'parts', 'areas', 'dem'];
    expect(mapOf(page).layers.map((layer) => layer.id)).toEqual(order);
    expect([...page.matchAll(/data-layer="(\w+)"/g)].map((match) => match[1])).toEqual(order);
  });

  it('fetches exactly the features of an items page, in CRS84 whatever the page asked for', () => {
    const query = 'f=html&bbox=5,45,6,46&crs=http://www.opengis.net/def/crs/EPSG/0/3857';
    const page = {
      collection: vectorCollection(),
      fields: vectorCollection().source.fields,
      links: [],
      matched: undefined,
      limit: 50,
      offset: 100,
    };
    const request = at('/ogc/features/collections/roads/items', query);
    const html = pages.buildItemsPage(request, page, rowsOf(page.collection, [{ id: 1, properties: {} }]));
    const url = new URL(mapOf(html).features!.href!);
    expect(url.pathname).toBe('/prefix/ogc/features/collections/roads/items');
    expect(Object.fromEntries(url.searchParams)).toEqual({
      f: 'json',
      bbox: '5,45,6,46',
      limit: '50',
      offset: '100',
    });
  });

  it('has a rendered picture in its place where there are no scripts', () => {
    const page = pages.buildCollectionPage(
      at('/ogc/features/collections/roads'),
      { links: [] },
      vectorCollection(),
    );
    expect(page).toMatch(
      /<noscript><img class="map-picture" src="[^"]+\/ogc\/maps\/collections\/7\/map\?f=png&amp;crs=CRS84&amp;width=1024&amp;height=\d+"/,
    );
  });
});

describe('an items page', () => {
  const request = at('/ogc/features/collections/roads/items');
  const next = { href: `${BASE}/next?offset=20&f=html`, rel: 'next', type: 'text/html' };
  const page = {
    ...{ collection: vectorCollection(), fields: vectorCollection().source.fields },
    ...{ links: [next], matched: { count: 12345, isExact: true }, limit: 10, offset: 10 },
  };

  it('counts, pages and links every feature without scripts', () => {
    const feature = { id: 'a/b', properties: { name: 'Main St', lanes: 2 } };
    const html = pages.buildItemsPage(request, page, rowsOf(page.collection, [feature]));
    expect(html).toContain('Features 11 to 11 of 12,345.');
    expect(html).toContain(`rel="next" href="${BASE}/next?offset=20&amp;f=html"`);
    expect(html).toContain(`<a href="${BASE}/ogc/features/collections/roads/items/a%2Fb">`);
    expect(html).toContain('<td class="num">2</td>');
  });

  it('sorts by the heads of columns, shows chosen columns, and tells ids from attributes', () => {
    const fields = page.collection.source.fields.filter(({ name }) => name === 'name');
    const sorted = at(
      '/ogc/features/collections/roads/items',
      'f=html&limit=5&offset=10&sortby=name&lanes=2',
    );
    const matched = { count: 100_000, isExact: false };
    const html = pages.buildItemsPage(sorted, { ...page, fields, matched }, rowsOf(page.collection, []));
    const shown = pages.buildItemsPage(
      sorted,
      { ...page, fields, matched },
      { ...rowsOf(page.collection, [{ id: 1, properties: { name: 'a' } }]), returned: 1 },
    );
    expect(html).toContain('No features after number 10; more than 100,000 in total.');
    expect(shown).toContain('Features 11 to 11 of more than 100,000.');
    const heads = [...shown.matchAll(/<th scope="col"[^>]*>.*?<\/th>/g)].map(([head]) => head);
    const items = `${BASE}/ogc/features/collections/roads/items`;
    expect(heads[1]).toBe(
      `<th scope="col" aria-sort="ascending"><a class="sort" href="${items}?f=html&amp;limit=5&amp;lanes=2&amp;sortby=-name" rel="nofollow"><bdi>name</bdi></a></th>`,
    );
    expect(heads[0]).toContain('<bdi>Feature id</bdi>');
    expect(heads.length).toBe(2);
    expect(shown).toContain(`action="/prefix/ogc/features/collections/roads/export?f=gpkg&amp;lanes=2"`);
    expect(shown).toContain('<input type="checkbox" name="properties" value="name" checked>');
  });

  it('says so when nothing matches, and draws no map then', () => {
    const empty = { ...page, links: [], matched: { count: 0, isExact: true }, offset: 0 };
    const html = pages.buildItemsPage(request, empty, rowsOf(page.collection, []));
    expect(html).toContain('No features match.');
    expect(html).not.toContain('data-map');
    expectSoundPage(html);
  });
});

describe('a document page', () => {
  it('shows lists of like objects as a table', () => {
    const tileMatrices = [0, 1].map((zoom) => ({
      id: String(zoom),
      cellSize: 156543 / 2 ** zoom,
      pointOfOrigin: [-1, 1],
    }));
    const page = pages.buildDocumentPage(at('/ogc/tiles/tileMatrixSets/W'), 'W', { id: 'W', tileMatrices });
    expect(page).toContain('<th scope="col"><bdi>cellSize</bdi></th>');
    expect(page).toContain('<td class="num">78271.5</td>');
  });

  it('stays small for a document without end', () => {
    const wide = Array.from({ length: 200_000 }, (_, i) => [`x${i}`]);
    let deep: unknown = 'bottom';
    for (let i = 0; i < 2000; i++) deep = { deep };
    const page = pages.buildDocumentPage(at('/stac'), 'W', { deep, wide });
    expectSoundPage(page);
    expect(page.length).toBeLessThan(300_000);
  });
});
