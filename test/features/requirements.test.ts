import { Ajv } from 'ajv';
import { beforeAll, describe, expect, it } from 'vitest';
import { type SharedServer, sharedServer } from '../support/shared-server.js';

/** Requirements of OGC API Features that hold for every collection of the demo data, walked by what documents say. */

interface Link {
  rel: string;
  href: string;
  type?: string;
}
// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
type Json = any;

const FEATURES = '/ogc/features';
const COUNTRIES = `${FEATURES}/collections/countries`;
const CRS84 = 'http://www.opengis.net/def/crs/OGC/1.3/CRS84';
const EPSG_4326 = 'http://www.opengis.net/def/crs/EPSG/0/4326';
const MERCATOR = 'http://www.opengis.net/def/crs/EPSG/0/3857';

let server: SharedServer;
let collections: Json[];
let api: Json;

beforeAll(async () => {
  server = await sharedServer();
  ({ collections } = await json(`${FEATURES}/collections`));
  api = await (await get(`${FEATURES}/api`)).json();
});

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(path.startsWith('http') ? path : server.url + path, { headers });
const typeOf = (response: Response) => response.headers.get('content-type')!;
async function json(path: string): Promise<Json> {
  const response = await get(path, { accept: 'application/geo+json, application/json;q=0.9' });
  expect([path, response.status]).toEqual([path, 200]);
  return response.json();
}
const to = ({ links }: { links: Link[] }, rel: string) => links.filter((link) => link.rel === rel);
const parametersOf = (path: string): Json[] => api.paths[path].get.parameters;
const each = async (check: (collection: Json, items: string) => Promise<void>) => {
  expect(collections.length).toBeGreaterThan(2);
  for (const one of collections) await check(one, `${FEATURES}/collections/${one.id}/items`);
};

describe('part 1, core', () => {
  it('/req/core/{root-op,root-success}: the landing page leads to the API, the declaration and the collections', async () => {
    const page = await json(`${FEATURES}/`);
    for (const rel of ['service-desc', 'service-doc', 'conformance', 'data'])
      for (const { href, type } of to(page, rel)) {
        const response = await get(href, { accept: type! });
        expect([rel, response.status]).toEqual([rel, 200]);
      }
    expect([to(page, 'conformance').length > 0, to(page, 'data').length > 0]).toEqual([true, true]);
  });

  it('/req/core/{api-definition-op,api-definition-success}: the API definition is of the type of its link', async () => {
    const [link] = to(await json(`${FEATURES}/`), 'service-desc');
    const response = await get(link!.href, { accept: link!.type! });
    expect([response.status, typeOf(response)]).toEqual([200, link!.type]);
  });

  it('/req/core/{conformance-op,conformance-success}: the declaration names the core', async () => {
    const { conformsTo } = await json(`${FEATURES}/conformance`);
    expect(conformsTo).toContain('http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/core');
  });

  it('/req/core/http: methods and headers of HTTP 1.1 are obeyed', async () => {
    const path = `${server.url}${COUNTRIES}/items?limit=1`;
    const head = await fetch(path, { method: 'HEAD' });
    expect([head.status, (await head.arrayBuffer()).byteLength]).toEqual([200, 0]);
    const refused = await fetch(`${server.url}${COUNTRIES}`, { method: 'DELETE' });
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
    expect((await get(path, { accept: 'image/gif' })).status).toBe(406);
  });

  it('/req/core/{query-param-unknown,query-param-invalid}: are 400, at every resource', async () => {
    for (const path of [`${FEATURES}/`, `${FEATURES}/conformance`, `${FEATURES}/collections`, COUNTRIES])
      expect([path, (await get(`${path}?bbox=1,2,3,4`)).status]).toEqual([path, 400]);
    for (const path of [`${COUNTRIES}/items`, `${COUNTRIES}/items/1`])
      for (const query of ['nobody=knows', 'crs=x', 'f=nothing', 'Limit=1'])
        expect([path, query, (await get(`${path}?${query}`)).status]).toEqual([path, query, 400]);
  });

  it('/req/core/crs84: without crs, coordinates are longitude and latitude', async () => {
    await each(async ({ extent }, items) => {
      const response = await get(`${items}?limit=1`);
      expect(response.headers.get('content-crs')).toBe(`<${CRS84}>`);
      expect(extent.spatial.crs ?? CRS84).toBe(CRS84);
    });
  });

  it('/req/core/{fc-md-op,fc-md-success,fc-md-links,fc-md-items,fc-md-items-links}: every collection is listed once, and leads to its features', async () => {
    const list = await json(`${FEATURES}/collections`);
    expect([to(list, 'self').length, to(list, 'alternate').length > 0]).toEqual([1, true]);
    for (const { rel, type } of list.links) expect([rel, type]).not.toContain(undefined);
    expect(new Set(list.collections.map(({ id }: Json) => id)).size).toBe(list.collections.length);
    for (const one of list.collections) {
      const types = to(one, 'items').map(({ type }) => type);
      expect(types).toEqual(expect.arrayContaining(['application/geo+json', 'text/html']));
      for (const { href, type } of to(one, 'items')) {
        const response = await get(href, { accept: type! });
        expect([href, response.status]).toEqual([href, 200]);
        expect(typeOf(response).split(';')[0]).toBe(type!.split(';')[0]);
        await response.arrayBuffer();
      }
    }
  });

  it('/req/core/fc-md-extent-multi: where there are several boxes, the first holds the others', async () => {
    await each(async ({ extent }) => {
      const [first, ...others] = extent.spatial.bbox;
      for (const box of others) {
        expect([box[0] >= first[0], box[1] >= first[1]]).toEqual([true, true]);
        expect([box[2] <= first[2], box[3] <= first[3]]).toEqual([true, true]);
      }
    });
  });

  it('/req/core/{sfc-md-op,sfc-md-success}: a collection says of itself what the list says of it', async () => {
    await each(async (listed) => {
      const { id, title, description, extent, crs, itemType } = await json(
        `${FEATURES}/collections/${listed.id}`,
      );
      const { links: _, ...own } = listed;
      expect(own).toMatchObject({ id, title, description, extent, crs, itemType });
      const rels = new Set(listed.links.map(({ rel }: Link) => rel));
      expect([...rels]).toEqual(expect.arrayContaining(['items']));
    });
  });

  it('/req/core/{fc-op,fc-timeStamp,fc-numberMatched,fc-numberReturned}: a page says when, how many, and of how many', async () => {
    await each(async (_, items) => {
      const before = Date.now() - 1000;
      const page = await json(`${items}?limit=3`);
      const time = Date.parse(page.timeStamp);
      expect([time >= before, time <= Date.now() + 1000]).toEqual([true, true]);
      expect(page.numberReturned).toBe(page.features.length);
      let count = 0;
      for (let at: string | undefined = `${items}?limit=500`; at; ) {
        const next: Json = await json(at);
        count += next.features.length;
        expect(next.numberMatched).toBe(page.numberMatched);
        at = to(next, 'next')[0]?.href;
      }
      expect(page.numberMatched).toBe(count);
    });
  });

  it('/req/core/{f-op,f-success,f-links}: a feature is what the page shows of it, with links to itself and its collection', async () => {
    await each(async ({ id }, items) => {
      const { features } = await json(`${items}?limit=2`);
      for (const listed of features) {
        const one = await json(`${items}/${encodeURIComponent(listed.id)}`);
        const { type, geometry, properties } = one;
        expect({ type, geometry, properties, id: one.id }).toEqual({
          type: 'Feature',
          geometry: listed.geometry,
          properties: listed.properties,
          id: listed.id,
        });
        expect([to(one, 'self').length, to(one, 'alternate').length > 0]).toEqual([1, true]);
        const [collection] = to(one, 'collection');
        expect((await json(collection!.href)).id).toBe(id);
      }
      expect((await get(`${items}/999999999`)).status).toBe(404);
    });
  });
});

describe('part 1, encodings', () => {
  it('/req/html/{definition,content}: every resource is a page, with what its JSON has and its links', async () => {
    for (const path of [
      `${FEATURES}/`,
      `${FEATURES}/conformance`,
      `${FEATURES}/collections`,
      COUNTRIES,
      `${COUNTRIES}/items?limit=2`,
      `${COUNTRIES}/items/1`,
    ]) {
      const response = await get(path, { accept: 'text/html' });
      expect([path, response.status, typeOf(response).split(';')[0]]).toEqual([path, 200, 'text/html']);
      const text = await response.text();
      expect(text).toContain('href=');
    }
    const { features } = await json(`${COUNTRIES}/items?limit=2`);
    const page = await (await get(`${COUNTRIES}/items?limit=2&f=html`)).text();
    for (const { properties } of features) expect(page).toContain(properties.NAME);
    const { title } = await json(COUNTRIES);
    expect(await (await get(`${COUNTRIES}?f=html`)).text()).toContain(title);
  });

  it('/req/geojson/definition: features are application/geo+json, the rest application/json', async () => {
    const types: [string, string][] = [
      [`${FEATURES}/`, 'application/json'],
      [`${FEATURES}/conformance`, 'application/json'],
      [`${FEATURES}/collections`, 'application/json'],
      [COUNTRIES, 'application/json'],
      [`${COUNTRIES}/items`, 'application/geo+json'],
      [`${COUNTRIES}/items/1`, 'application/geo+json'],
    ];
    for (const [path, type] of types)
      for (const accept of [type, '*/*'])
        expect([path, typeOf(await get(path, { accept })).split(';')[0]]).toEqual([path, type]);
  });

  it('/req/gmlsf0/headers: GML says how many, when, and where it goes on in headers', async () => {
    const response = await get(`${COUNTRIES}/items?limit=2&f=gml`);
    const page = await json(`${COUNTRIES}/items?limit=2`);
    expect(response.headers.get('ogc-numbermatched')).toBe(String(page.numberMatched));
    expect(response.headers.get('ogc-numberreturned')).toBe('2');
    expect(response.headers.get('link')).toContain('rel="next"');
  });
});

describe('part 1, OpenAPI 3.0', () => {
  it('/req/oas30/{oas-definition-2,oas-impl}: the document is one of OpenAPI 3.0, and the server does what it says', async () => {
    expect(api.openapi).toMatch(/^3\.0\.\d+$/);
    const ids = new Set<string>();
    for (const [path, methods] of Object.entries<Json>(api.paths)) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      for (const operation of Object.values<Json>(methods)) {
        ids.add(operation.operationId);
        const declared = (operation.parameters ?? []).filter((one: Json) => one.in === 'path');
        expect(declared.map(({ name }: Json) => name).sort()).toEqual([...inPath].sort());
        for (const one of declared) expect(one.required).toBe(true);
        for (const response of Object.values<Json>(operation.responses))
          expect(response.description).toEqual(expect.any(String));
      }
    }
    expect(ids.size).toBe(Object.values<Json>(api.paths).flatMap((methods) => Object.keys(methods)).length);
  });

  it('/req/oas30/{completeness,exceptions-codes,security}: every answer is documented, errors too, and how to sign in', async () => {
    const ajv = new Ajv({ strict: false, validateFormats: false });
    const problem = ajv.compile(api.components.schemas.Problem);
    const wrong: [path: string, template: string, status: number][] = [
      [`${COUNTRIES}/items?limit=x`, '/collections/{collectionId}/items', 400],
      [`${FEATURES}/collections/none/items`, '/collections/{collectionId}/items', 404],
      [`${COUNTRIES}/items/none`, '/collections/{collectionId}/items/{featureId}', 404],
      [`${COUNTRIES}?f=none`, '/collections/{collectionId}', 400],
    ];
    for (const [path, template, status] of wrong) {
      const response = await get(path);
      expect([path, response.status]).toEqual([path, status]);
      expect(typeOf(response)).toBe('application/problem+json');
      expect(problem(await response.json())).toBe(true);
      const documented = api.paths[FEATURES + template].get.responses[status];
      expect(Object.keys(documented.content)).toEqual(['application/problem+json']);
    }
    const { post } = api.paths[`${FEATURES}/collections/{collectionId}/items`];
    const schemes = post.security.flatMap((one: object) => Object.keys(one));
    expect(Object.keys(api.components.securitySchemes)).toEqual(expect.arrayContaining(schemes));
    expect([post.responses[401], post.responses[403]]).not.toContain(undefined);
  });
});

describe('part 2, coordinate reference systems', () => {
  it('/req/crs/{fc-md-crs-list,fc-md-crs-list-global,fc-md-storageCrs,fc-md-storageCrs-valid-value}: lists of CRS start with the default, and hold that of the data', async () => {
    await each(async ({ crs, storageCrs }) => {
      expect(crs[0]).toBe(CRS84);
      expect(new Set(crs).size).toBe(crs.length);
      expect(crs).toContain(storageCrs);
      // No list refers to a global one.
      expect(crs.filter((uri: string) => uri.startsWith('#'))).toEqual([]);
    });
  });

  it('/req/crs/{fc-bbox-crs-definition,fc-crs-definition}: crs and bbox-crs are described as URIs', () => {
    for (const name of ['crs', 'bbox-crs']) {
      const described = parametersOf(`${FEATURES}/collections/{collectionId}/items`).find(
        (one) => one.name === name,
      );
      expect(described).toMatchObject({ in: 'query', required: false, style: 'form', explode: false });
      expect(described.schema).toMatchObject({ type: 'string', format: 'uri' });
    }
  });

  it('/req/crs/{fc-crs-valid-value,ogc-crs-header,ogc-crs-header-value}: each CRS of the list is taken, and named by the header, of pages and of features', async () => {
    await each(async ({ crs }, items) => {
      const { features } = await json(`${items}?limit=1`);
      for (const uri of crs)
        for (const path of [`${items}?limit=1&`, `${items}/${features[0].id}?`]) {
          const response = await get(`${path}crs=${encodeURIComponent(uri)}`);
          expect([path, response.status]).toEqual([path, 200]);
          expect(response.headers.get('content-crs')).toBe(`<${uri}>`);
        }
    });
  });

  it('/req/crs/{fc-crs-default-value,fc-bbox-crs-default-value}: without them, it is CRS84', async () => {
    const ids = async (query: string) =>
      (await json(`${COUNTRIES}/items?limit=300${query}`)).features.map(({ id }: Json) => id);
    const found = await ids('&bbox=5,40,20,50');
    expect(found.length).toBeGreaterThan(5);
    expect(await ids(`&bbox=5,40,20,50&bbox-crs=${encodeURIComponent(CRS84)}`)).toEqual(found);
    expect(await ids(`&bbox=40,5,50,20&bbox-crs=${encodeURIComponent(EPSG_4326)}`)).toEqual(found);
    const [plain] = (await json(`${COUNTRIES}/items?limit=1`)).features;
    const [asked] = (await json(`${COUNTRIES}/items?limit=1&crs=${encodeURIComponent(CRS84)}`)).features;
    expect(asked.geometry).toEqual(plain.geometry);
  });

  it('/req/crs/fc-bbox-crs-valid-value: each CRS of the list is taken for boxes', async () => {
    await each(async ({ crs }, items) => {
      for (const uri of crs)
        expect((await get(`${items}?limit=1&bbox=1,1,2,2&bbox-crs=${encodeURIComponent(uri)}`)).status).toBe(
          200,
        );
    });
  });

  it('/req/crs/{crs-exception,bbox-crs-exception}: others are refused with 400', async () => {
    for (const uri of ['http://www.opengis.net/def/crs/EPSG/0/999999', 'x', `${MERCATOR}1`, '']) {
      const value = encodeURIComponent(uri);
      expect([uri, (await get(`${COUNTRIES}/items?crs=${value}`)).status]).toEqual([uri, 400]);
      expect([uri, (await get(`${COUNTRIES}/items/1?crs=${value}`)).status]).toEqual([uri, 400]);
      const box = `${COUNTRIES}/items?bbox=1,1,2,2&bbox-crs=${value}`;
      expect([uri, (await get(box)).status]).toEqual([uri, 400]);
    }
  });
});

describe('part 3, filters', () => {
  it('/req/queryables/{queryables-link,get-queryables-op}, /req/features-filter/{queryables-link,get-queryables-op}: every collection leads to its queryables, which filters take', async () => {
    await each(async (listed, items) => {
      const one = await json(`${FEATURES}/collections/${listed.id}`);
      const links = one.links.filter(({ rel }: Link) => /queryables$/.test(rel));
      expect(links.length).toBeGreaterThan(0);
      for (const { href, type } of links) {
        const response = await get(href, { accept: type });
        expect([href, response.status, typeOf(response).split(';')[0]]).toEqual([href, 200, type]);
      }
      const schema = await (await get(links[0].href, { accept: 'application/schema+json' })).json();
      expect(schema).toMatchObject({ type: 'object', $schema: expect.stringContaining('json-schema.org') });
      for (const [name, { format }] of Object.entries<Json>(schema.properties)) {
        if (format?.startsWith('geometry')) continue;
        const filter = encodeURIComponent(`"${name}" IS NULL OR NOT ("${name}" IS NULL)`);
        expect([name, (await get(`${items}?limit=1&filter=${filter}`)).status]).toEqual([name, 200]);
      }
    });
  });

  it('/req/queryables/schema: the queryables are what the schema of the features has', async () => {
    await each(async ({ id }) => {
      const { properties: all } = await json(`${FEATURES}/collections/${id}/schema`);
      const { properties } = await json(`${FEATURES}/collections/${id}/queryables`);
      for (const name of Object.keys(properties)) expect([name, name in all]).toEqual([name, true]);
    });
  });

  it('/req/filter/mixing-expressions: filter, bbox and queryables are joined by AND', async () => {
    const ids = async (query: string) =>
      new Set<number>(
        (await json(`${COUNTRIES}/items?limit=300&${query}`)).features.map(({ id }: Json) => id),
      );
    const filter = `filter=${encodeURIComponent("NAME LIKE 'S%'")}`;
    const [byFilter, byBox, both] = [
      await ids(filter),
      await ids('bbox=0,30,30,60'),
      await ids(`${filter}&bbox=0,30,30,60`),
    ];
    expect([...both].sort()).toEqual([...byFilter].filter((id) => byBox.has(id)).sort());
    expect([both.size > 1, both.size < byFilter.size, both.size < byBox.size]).toEqual([true, true, true]);
    expect((await ids(`${filter}&bbox=0,30,30,60&NAME=France`)).size).toBe(0);
  });
});

describe('CQL2', () => {
  const names = async (filter: string) =>
    (await json(`${COUNTRIES}/items?limit=300&filter=${encodeURIComponent(filter)}`)).features.map(
      ({ properties }: Json) => properties.NAME,
    );

  it('/req/basic-cql2/{property,binary-comparison-predicate,null-predicate}: compare attributes with values', async () => {
    expect(await names("NAME = 'France'")).toEqual(['France']);
    expect(await names("'France' = NAME")).toEqual(['France']);
    const [all, none, not] = [
      await names('TRUE'),
      await names('NAME IS NULL'),
      await names("NAME <> 'France'"),
    ];
    expect([none.length > 0, all.length - not.length - none.length]).toEqual([true, 1]);
    expect((await names('NAME IS NOT NULL')).length + none.length).toBe(all.length);
    expect(await names("NAME < 'B' AND NAME >= 'A'")).toEqual(
      all.filter((name: string | null) => name?.startsWith('A')),
    );
  });

  it('/req/cql2-text/escaping: a quote in a text is doubled, or has a backslash', async () => {
    const [name] = (await names("NAME LIKE '%Ivoire'")) as string[];
    expect(name).toContain("'");
    expect(await names(`NAME = '${name!.replace("'", "''")}'`)).toEqual([name]);
    expect(await names(`NAME = '${name!.replace("'", "\\'")}'`)).toEqual([name]);
    expect((await get(`${COUNTRIES}/items?filter=${encodeURIComponent(`NAME = '${name}'`)}`)).status).toBe(
      400,
    );
  });
});
