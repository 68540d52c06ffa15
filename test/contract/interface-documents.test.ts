import { Ajv } from 'ajv';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';

/**
 * Every interface document against the server that it describes: what is asked by it, rightly and wrongly, is answered as
 * it says, in status, media type and schema, and never with a fault of the server.
 */

// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
type Json = any;

const DOCUMENTS = [
  '/ogc/features/api',
  '/ogc/coverages/openapi.json',
  '/ogc/tiles/openapi.json',
  '/ogc/maps/openapi.json',
  '/stac/openapi.json',
  '/api/v1/admin/openapi.json',
];

/** Values that exist on a server of the demo data; a function where it depends on the surface. */
const VALUES: Record<string, (path: string) => string> = {
  collectionId: (path) =>
    path.startsWith('/ogc/tiles') || path.startsWith('/ogc/maps')
      ? '3'
      : path.startsWith('/ogc/features')
        ? 'countries'
        : 'l7_etms',
  featureId: () => '1',
  itemId: () => 'l7_etms',
  tileMatrixSetId: () => 'WebMercatorQuad',
  tileMatrix: () => '1',
  tileRow: () => '0',
  tileCol: () => '1',
  z: () => '1',
  x: () => '1',
  y: () => '0',
  styleId: () => 'default',
  layerId: () => '3',
  resolution: () => '1',
};

/** What strangers write in the place of values. */
const NOISE = [
  '',
  'x',
  '-1',
  '0',
  '1e308',
  '99999999999999999999',
  'NaN',
  '../../etc/passwd',
  '%00',
  'ü🏠',
  "'; DROP TABLE x; --",
  '[[[[',
  '{"a":',
  'a,b,c,d',
  '180,90,-180,-90',
  'x'.repeat(3000),
];

let server: TestServer;
let documents: Map<string, Json>;
const ajv = new Ajv({ strict: false, allErrors: false, validateFormats: false });

beforeAll(async () => {
  server = await startServer();
  documents = new Map();
  for (const path of DOCUMENTS) {
    const response = await fetch(`${server.url}${path}`, { headers: { 'x-api-key': server.adminKey } });
    if (response.status === 200) documents.set(path, await response.json());
  }
});

afterAll(() => server?.stop());

interface Described {
  document: Json;
  path: string;
  operation: Json;
}

function* reads(): Generator<Described> {
  for (const document of documents.values())
    for (const [path, methods] of Object.entries<Json>(document.paths))
      if (methods.get) yield { document, path, operation: methods.get };
}

function filled(path: string, values: Record<string, string> = {}): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(values[name] ?? VALUES[name]?.(path) ?? 'none'),
  );
}

/** The query that an operation cannot do without. */
function requiredQuery({ operation, path }: Described): URLSearchParams {
  const needed = (operation.parameters ?? []).filter((one: Json) => one.in === 'query' && one.required);
  return new URLSearchParams(needed.map(({ name }: { name: string }) => [name, VALUES[name]?.(path) ?? '1']));
}

/** What a request tells of the document's truth; undefined when all is well. */
async function fault(described: Described, target: string, headers = {}): Promise<string | undefined> {
  const response = await fetch(`${server.url}${target}`, {
    headers: { 'x-api-key': server.adminKey, ...headers },
    redirect: 'manual',
  });
  const { status } = response;
  const type = (response.headers.get('content-type') ?? '').split(';')[0]!;
  const text = await response.text();
  const say = (what: string) => `GET ${target.slice(0, 200)} -> ${status}: ${what}`;
  const documented = described.operation.responses[status];
  if (status >= 500 && status !== 501) return say(text.slice(0, 300));
  if (!documented) return say(`is not documented for ${described.path} ${text.slice(0, 200)}`);
  const content = documented.content as Record<string, Json> | undefined;
  if (!content || text === '') return undefined;
  const entry = Object.entries(content).find(([name]) => name.split(';')[0] === type);
  if (!entry) return say(`has the media type ${type}, not ${Object.keys(content)}`);
  if (!type.includes('json') || type === 'application/schema+json') return undefined;
  return schemaFault(described.document, entry[1].schema, text, say);
}

function schemaFault(
  document: Json,
  schema: Json,
  text: string,
  say: (what: string) => string,
): string | undefined {
  if (!schema || schema.format === 'binary') return undefined;
  const validate = ajv.compile({ ...schema, components: document.components });
  return validate(JSON.parse(text))
    ? undefined
    : say(`does not fit its schema: ${ajv.errorsText(validate.errors)}`);
}

async function faults(requests: Iterable<[Described, string, object?]>): Promise<string[]> {
  const all = [...requests];
  const found: string[] = [];
  const next = async () => {
    for (let one = all.pop(); one; one = all.pop()) {
      const problem = await fault(...one);
      if (problem) found.push(problem);
    }
  };
  await Promise.all(Array.from({ length: 8 }, next));
  return found.sort();
}

const withQuery = (path: string, query: URLSearchParams) => (query.size > 0 ? `${path}?${query}` : path);

describe('reads, as the documents describe them', () => {
  it('are all there', () => {
    expect([...documents.keys()]).toEqual(DOCUMENTS);
    expect([...reads()].length).toBeGreaterThan(60);
  });

  it('answer what they say when they are asked rightly', async () => {
    const requests = function* (): Generator<[Described, string]> {
      for (const described of reads())
        yield [described, withQuery(filled(described.path), requiredQuery(described))];
    };
    expect(await faults(requests())).toEqual([]);
  });

  it('answer what they say to every value of every parameter', async () => {
    const requests = function* (): Generator<[Described, string]> {
      for (const described of reads()) {
        const { operation, path } = described;
        for (const { name, in: place, schema } of operation.parameters ?? [])
          for (const value of [...NOISE, ...(schema?.enum ?? [])]) {
            const query = requiredQuery(described);
            if (place === 'query') query.set(name, value);
            else if (place !== 'path' || value === '') continue;
            yield [described, withQuery(filled(path, place === 'path' ? { [name]: value } : {}), query)];
          }
        yield [described, withQuery(filled(path), new URLSearchParams({ nobody: 'knows' }))];
      }
    };
    expect(await faults(requests())).toEqual([]);
  });

  it('answer what they say to strange headers', async () => {
    const strange = [
      { accept: 'application/nothing' },
      { accept: '*/*;q=0' },
      { 'x-api-key': 'wrong' },
      { 'if-none-match': '*' },
      { range: 'bytes=5-1' },
    ];
    const requests = function* (): Generator<[Described, string, object]> {
      for (const described of reads())
        for (const headers of strange)
          yield [described, withQuery(filled(described.path), requiredQuery(described)), headers];
    };
    expect(await faults(requests())).toEqual([]);
  });
});
