import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { beforeAll, describe, expect, it } from 'vitest';
import { computeEnvelope } from '../../src/core/geometry/box.js';
import { type SharedServer, sharedServer } from '../support/shared-server.js';

/** Conformance classes of Features that are declared, by tests named after their requirements: see requirements.test.ts too. */

interface Link {
  rel: string;
  href: string;
  type?: string;
}
type Json = Record<string, unknown> & { links: Link[] };

const FEATURES = '/ogc/features';
const COUNTRIES = `${FEATURES}/collections/countries`;

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(path.startsWith('http') ? path : server.url + path, { headers });
const json = async (path: string) => {
  const response = await get(path);
  expect(response.status, path).toBe(200);
  return (await response.json()) as Json;
};
const names = async (filter: string, language = 'cql2-text') => {
  const query = `filter=${encodeURIComponent(filter)}&filter-lang=${language}&properties=NAME&limit=2000`;
  const { features } = (await json(`${COUNTRIES}/items?${query}`)) as unknown as {
    features: { properties: { NAME: string } }[];
  };
  return features.map(({ properties }) => properties.NAME).sort();
};

describe('OGC API Features part 1', () => {
  it('/req/oas30/oas-definition-1: the interface is described in OpenAPI 3.0', async () => {
    const response = await get(`${FEATURES}/api`);
    expect(response.headers.get('content-type')).toBe('application/vnd.oai.openapi+json;version=3.0');
    const document = (await response.json()) as { openapi: string; paths: Record<string, { get?: object }> };
    expect(document.openapi).toMatch(/^3\.0/);
    expect(document.paths[`${COUNTRIES.replace('countries', '{collectionId}')}/items`]?.get).toBeDefined();
  });

  it('/req/geojson/content: features are GeoJSON', async () => {
    const response = await get(`${COUNTRIES}/items?limit=1`);
    expect(response.headers.get('content-type')).toBe('application/geo+json');
    expect(await response.json()).toMatchObject({
      type: 'FeatureCollection',
      features: [{ type: 'Feature', geometry: { type: 'MultiPolygon' } }],
    });
  });

  it('/req/gmlsf0/definition, /req/gml-sf0/definition: XML is GML for features, and application/xml for all else', async () => {
    const gml =
      'application/gml+xml;version=3.2;profile="http://www.opengis.net/def/profile/ogc/2.0/gml-sf0"';
    const types: [path: string, type: string][] = [
      [`${FEATURES}/`, 'application/xml'],
      [`${FEATURES}/conformance`, 'application/xml'],
      [`${FEATURES}/collections`, 'application/xml'],
      [COUNTRIES, 'application/xml'],
      [`${COUNTRIES}/items`, gml],
      [`${COUNTRIES}/items/1`, gml],
    ];
    for (const [path, type] of types) {
      expect((await get(path, { accept: 'application/xml' })).headers.get('content-type'), path).toBe(type);
      expect((await get(`${path}?f=xml`)).headers.get('content-type'), path).toBe(type);
    }
    expect(
      (await get(`${COUNTRIES}/items`, { accept: 'application/gml+xml' })).headers.get('content-type'),
    ).toBe(gml);
    const items = (await json(COUNTRIES)).links.filter(({ rel }) => rel === 'items');
    expect(items.map(({ type }) => type)).toContain(gml);
  });

  it('/req/core/fc-rel-type, /req/core/fc-links: links of a page have relation and the type that they lead to', async () => {
    const { links } = await json(`${COUNTRIES}/items?limit=1`);
    expect(links.filter(({ rel, type }) => !rel || !type)).toEqual([]);
    for (const { href, type } of links)
      expect((await get(href)).headers.get('content-type')!.replace(/; (charset|header).*/, '')).toBe(type);
  });

  it('/req/core/{fc-limit-definition,fc-bbox-definition,fc-time-definition}: parameters are described as the standard does', async () => {
    const document = (await json(`${FEATURES}/api`)) as unknown as {
      paths: Record<string, { get: { parameters: ({ name: string } & Record<string, unknown>)[] } }>;
    };
    const { parameters } = document.paths[`${FEATURES}/collections/{collectionId}/items`]!.get;
    const described = (name: string) => parameters.find((parameter) => parameter.name === name);
    const common = { in: 'query', required: false, style: 'form', explode: false };
    expect(described('limit')).toMatchObject({
      ...common,
      schema: { type: 'integer', minimum: 1, maximum: 2000, default: 1000 },
      description: expect.stringContaining('2000'),
    });
    expect(described('bbox')).toMatchObject({
      ...common,
      schema: {
        type: 'array',
        ...{ minItems: 4, maxItems: 6 },
        oneOf: [
          { minItems: 4, maxItems: 4 },
          { minItems: 6, maxItems: 6 },
        ],
        items: { type: 'number' },
      },
    });
    expect(described('datetime')).toMatchObject({ ...common, schema: { type: 'string' } });
  });

  it.each(['features', 'tiles', 'maps', 'coverages', 'stac'])(
    '/req/oas30/completeness: every query parameter of %s says how it is written',
    async (surface) => {
      const root = surface === 'stac' ? '/stac' : `/ogc/${surface}`;
      const { paths } = (await json(`${root}/openapi.json`)) as unknown as {
        paths: Record<string, Record<string, { parameters?: Record<string, unknown>[] }>>;
      };
      const parameters = Object.values(paths).flatMap((path) =>
        Object.values(path).flatMap((operation) => operation.parameters ?? []),
      );
      const inQuery = parameters.filter((parameter) => parameter['in'] === 'query');
      expect(inQuery.length).toBeGreaterThan(0);
      for (const parameter of inQuery) expect(parameter).toMatchObject({ style: 'form', explode: false });
    },
  );

  it('/req/core/fc-md-extent: no coordinate that is written lies outside of the extent', async () => {
    for (const { id } of (
      (await json(`${FEATURES}/collections`)) as unknown as { collections: { id: string }[] }
    ).collections) {
      const { extent } = (await json(`${FEATURES}/collections/${id}`)) as unknown as {
        extent: { spatial: { bbox: number[][] } };
      };
      const [west, south, east, north] = extent.spatial.bbox[0]!;
      const { features } = (await json(`${FEATURES}/collections/${id}/items?limit=2000`)) as unknown as {
        features: { geometry: object | null }[];
      };
      for (const { geometry } of features) {
        const box = computeEnvelope(geometry);
        if (!box) continue;
        expect(box[0]).toBeGreaterThanOrEqual(west!);
        expect(box[1]).toBeGreaterThanOrEqual(south!);
        expect(box[2]).toBeLessThanOrEqual(east!);
        expect(box[3]).toBeLessThanOrEqual(north!);
      }
    }
  });
});

describe('OGC API Features part 2', () => {
  it('/req/crs/crs-uri, /req/crs/fc-md-storageCrs: collections list their CRS, and answer in each', async () => {
    const collection = (await json(COUNTRIES)) as unknown as { crs: string[]; storageCrs: string };
    expect(collection.crs[0]).toBe('http://www.opengis.net/def/crs/OGC/1.3/CRS84');
    expect(collection.crs).toContain(collection.storageCrs);
    for (const crs of collection.crs) {
      const response = await get(`${COUNTRIES}/items?limit=1&crs=${encodeURIComponent(crs)}`);
      expect(response.headers.get('content-crs')).toBe(`<${crs}>`);
    }
  });
});

describe('OGC API Features part 3', () => {
  it('/req/queryables-query-parameters/parameters: each queryable is a parameter', async () => {
    const { properties } = (await json(`${COUNTRIES}/queryables`)) as unknown as { properties: object };
    expect(Object.keys(properties)).toContain('NAME');
    const { features } = (await json(`${COUNTRIES}/items?NAME=Kenya`)) as unknown as { features: object[] };
    expect(features).toHaveLength(1);
  });

  it('/req/filter/filter-param, /req/features-filter/filter-param: filter selects, together with bbox', async () => {
    const filter = encodeURIComponent("NAME LIKE 'S%'");
    const { features } = (await json(`${COUNTRIES}/items?filter=${filter}&bbox=5,46,11,48`)) as unknown as {
      features: { properties: { NAME: string } }[];
    };
    expect(features.map(({ properties }) => properties.NAME)).toEqual(['Switzerland']);
  });

  it('/req/sorting/sortby: features come in the order asked for', async () => {
    const { features } = (await json(`${COUNTRIES}/items?sortby=NAME&limit=2`)) as unknown as {
      features: { properties: { NAME: string } }[];
    };
    expect(features[0]!.properties.NAME < features[1]!.properties.NAME).toBe(true);
  });
});

describe('OGC API Features part 5', () => {
  it('/req/schemas/get, /req/core-roles-features/roles, /req/returnables-and-receivables/schema: features fit the schema', async () => {
    const schema = (await json(`${COUNTRIES}/schema`)) as unknown as {
      properties: Record<string, Record<string, unknown>>;
    };
    const roles = Object.values(schema.properties).map((property) => property['x-ogc-role']);
    expect(roles).toEqual(expect.arrayContaining(['id', 'primary-geometry']));
    const ajv = addFormats.default(new Ajv({ strict: false }));
    for (const [name, property] of Object.entries(schema.properties)) {
      if (property['x-ogc-role'] === 'primary-geometry') continue;
      if (property['x-ogc-role'] === 'id') continue;
      const fits = ajv.compile({ anyOf: [{ type: 'null' }, property] });
      const { features } = (await json(`${COUNTRIES}/items?limit=50`)) as unknown as {
        features: { properties: Record<string, unknown> }[];
      };
      for (const feature of features) expect(fits(feature.properties[name]), name).toBe(true);
    }
  });
});

describe('CQL2', () => {
  /** Filters over the countries of the world, and what they find. */
  const found: [requirement: string, filter: string, countries: string[] | ((all: string[]) => void)][] = [
    [
      '/req/cql2-text/cql2-filter, /req/basic-cql2/cql2-filter',
      "NAME = 'Kenya' OR NAME = 'Chad'",
      ['Chad', 'Kenya'],
    ],
    ['/req/advanced-comparison-operators/like', "NAME LIKE 'Switz_rland'", ['Switzerland']],
    ['/req/advanced-comparison-operators/between', 'fid BETWEEN 1 AND 1', ['Norway']],
    ['/req/advanced-comparison-operators/in', "NAME IN ('Peru', 'nowhere')", ['Peru']],
    ['/req/case-insensitive-comparison/casei', "CASEI(NAME) = CASEI('kENYA')", ['Kenya']],
    ['/req/accent-insensitive-comparison/accenti', "ACCENTI(NAME) = ACCENTI('Kényà')", ['Kenya']],
    ['/req/basic-spatial-functions/s-intersects', 'S_INTERSECTS(geom, POINT(7.5 47))', ['Switzerland']],
    [
      '/req/basic-spatial-operators/s-intersects',
      'S_INTERSECTS(geom, BBOX(7.4,46.9,7.5,47))',
      ['Switzerland'],
    ],
    [
      '/req/basic-spatial-functions-plus/literals',
      'S_INTERSECTS(geom, LINESTRING(7.5 47, 10 51))',
      ['Germany', 'Switzerland'],
    ],
    [
      '/req/spatial-functions/s-within',
      'S_WITHIN(geom, BBOX(5,45,11,48)) AND S_TOUCHES(geom, geom) IS NULL',
      [],
    ],
    ['/req/spatial-operators/s-contains', 'S_CONTAINS(geom, POINT(37 0))', ['Kenya']],
    ['/req/property-property/both', 'NAME = NAME AND fid = 1', ['Norway']],
    ['/req/functions/functions', "upper(NAME) = 'KENYA'", ['Kenya']],
    ['/req/arithmetic/arithmetic', 'fid * 2 + 1 = 3', ['Norway']],
    [
      '/req/temporal-functions/t-before, /req/temporal/t-after, /req/temporal-operators/t-after',
      "T_BEFORE(DATE('1999-01-01'), DATE('2000-01-01')) AND T_AFTER(TIMESTAMP('2000-01-01T00:00:00Z'), DATE('1999-01-01')) AND fid = 1",
      ['Norway'],
    ],
    [
      '/req/array-functions/a-contains, /req/array-operators/a-overlaps',
      "A_CONTAINS(('a','b'),('a')) AND A_OVERLAPS(('a'),('a','c')) AND fid = 1",
      ['Norway'],
    ],
  ];

  it.each(found)('%s: %s', async (_, filter, countries) => {
    expect(await names(filter)).toEqual(countries);
  });

  it('/req/cql2-json/cql2-filter: the same in JSON', async () => {
    const filter = { op: 'like', args: [{ property: 'NAME' }, 'Ken%'] };
    expect(await names(JSON.stringify(filter), 'cql2-json')).toEqual(['Kenya']);
  });

  it('/req/functions/get: the functions are listed', async () => {
    const { functions } = (await json(`${FEATURES}/functions`)) as unknown as {
      functions: { name: string }[];
    };
    expect(functions.map(({ name }) => name)).toEqual(expect.arrayContaining(['upper', 'geodistance']));
  });
});
