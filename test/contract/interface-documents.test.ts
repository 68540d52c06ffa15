import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isSecretName } from '../../src/core/errors/field-errors.js';
import { PATTERN_WORDS } from '../../src/core/http/schema-words.js';
import { keepConnections } from '../support/connections.js';
import { type SharedServer, sharedServer } from '../support/shared-server.js';
import { isFullRun } from '../support/soak.js';
import {
  DOCUMENTS,
  errorFormFault,
  fault,
  faults,
  filled,
  type Json,
  type OperationDescription,
  operationsOf,
  readDocuments,
  requiredQuery,
  withQuery,
  wrongSchemas,
} from './documents.js';

/**
 * Every interface document against the server that it describes: what is asked by it, rightly and wrongly, is answered as
 * it says, in status, media type and schema, and never with a fault of the server.
 */

const IS_FULL = isFullRun(import.meta.url);

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

/** Cases for a parameter or an operation; a brief run gives each a few, in turns. */
let turn = 0;
const some = <T>(all: readonly T[], count: number): readonly T[] =>
  IS_FULL ? all : Array.from({ length: count }, () => all[turn++ % all.length]!);

let server: SharedServer;
let documents: Map<string, Json>;

afterAll(keepConnections());
beforeAll(async () => {
  server = await sharedServer();
  documents = await readDocuments(server);
});

/** Every `pattern` of a schema within `value`. */
function listPatterns(value: Json): string[] {
  if (Array.isArray(value)) return value.flatMap(listPatterns);
  if (!value || typeof value !== 'object') return [];
  const own = typeof value.pattern === 'string' ? [value.pattern] : [];
  return [...own, ...Object.values(value).flatMap(listPatterns)];
}

it('every pattern has words, so that no error shows a regular expression', () => {
  const patterns = new Set([...documents.values()].flatMap(listPatterns));
  expect(patterns.size).toBeGreaterThan(10);
  expect([...patterns].filter((pattern) => !(pattern in PATTERN_WORDS))).toEqual([]);
});

function* reads(): Generator<OperationDescription> {
  for (const described of operationsOf(documents)) if (described.method === 'GET') yield described;
}

function* asked(requests: Iterable<[OperationDescription, string, Record<string, string>?]>) {
  for (const [described, target, headers = {}] of requests)
    yield () => fault(server, described, target, { headers });
}

/** What is wrong with the answer to a wrong value of a parameter; a value that is right is answered otherwise. */
async function receivedFault(target: string, name: string, value: string): Promise<string | undefined> {
  const response = await fetch(`${server.url}${target}`, { headers: { 'x-api-key': server.adminKey } });
  const text = await response.text();
  if (response.status !== 400) return undefined;
  const { detail, errors = [] } = JSON.parse(text);
  const wrong = errorFormFault({ detail, errors });
  if (wrong) return `${target}: ${wrong}`;
  // A request that needs a WebSocket is wrong as a whole.
  if (errors.length === 0) return undefined;
  if (!errors.some((one: Json) => one.name === name)) return `${target}: blames another parameter: ${detail}`;
  if (!detail.startsWith(`${name}: `)) return `${target}: does not start with the name: ${detail}`;
  return detail.includes(`'${value}`) ? undefined : `${target}: does not name the value: ${detail}`;
}

describe('reads, as the documents describe them', () => {
  it('are all there', () => {
    expect([...documents.keys()]).toEqual(DOCUMENTS);
    expect([...reads()].length).toBeGreaterThan(60);
  });

  it('hold schemas that are schemas', () => {
    for (const [path, document] of documents) expect(wrongSchemas(document), path).toEqual([]);
    const nonsense = {
      paths: { '/a': { get: { responses: { 200: { content: { x: { schema: { type: 'nonsense' } } } } } } } },
    };
    expect(wrongSchemas(nonsense)).toHaveLength(1);
  });

  it('answer what they say when they are asked rightly', async () => {
    const requests = function* (): Generator<[OperationDescription, string]> {
      for (const described of reads())
        yield [described, withQuery(filled(described.path), requiredQuery(described))];
    };
    expect(await faults(asked(requests()))).toEqual([]);
  });

  it('refuse a period that ends before it starts', async () => {
    const isOfPeriod = ({ operation }: OperationDescription) =>
      ['from', 'to'].every((name) =>
        operation.parameters?.some((one: Json) => one.name === name && one.schema?.format === 'date-time'),
      );
    const periods = [...reads()].filter(isOfPeriod);
    expect(periods.length).toBeGreaterThan(3);
    for (const { path } of periods) {
      const target = `${filled(path)}?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z`;
      expect(await receivedFault(target, 'from', '2026-02-01T00:00:00Z'), path).toBeUndefined();
      const response = await fetch(server.url + target, { headers: { 'x-api-key': server.adminKey } });
      expect(response.status, path).toBe(400);
    }
  });

  it('answer what they say to every value of every parameter', async () => {
    const requests = function* (): Generator<[OperationDescription, string]> {
      for (const described of reads()) {
        const { operation, path } = described;
        for (const { name, in: place, schema } of operation.parameters ?? [])
          for (const value of [...some(NOISE, 3), ...(schema?.enum ?? [])]) {
            const query = requiredQuery(described);
            if (place === 'query') query.set(name, value);
            else if (place !== 'path' || value === '') continue;
            yield [described, withQuery(filled(path, place === 'path' ? { [name]: value } : {}), query)];
          }
        yield [described, withQuery(filled(path), new URLSearchParams({ nobody: 'knows' }))];
      }
    };
    expect(await faults(asked(requests()))).toEqual([]);
  });

  it('name a wrong parameter, and the value that was received', async () => {
    const value = 'wr0ng~value';
    const requests = function* (): Generator<() => Promise<string | undefined>> {
      for (const described of reads())
        for (const { name, in: place } of described.operation.parameters ?? []) {
          if (place !== 'query' || isSecretName(name)) continue;
          const query = requiredQuery(described);
          query.set(name, value);
          yield () => receivedFault(withQuery(filled(described.path), query), name, value);
        }
    };
    expect(await faults(requests())).toEqual([]);
  });

  it('answer every error as a page to a browser, with the status of the document', async () => {
    const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
    const page = await (await fetch(`${server.url}/docs/geoservices`)).text();
    const directory = [...page.matchAll(/data-method="GET".*?<code>(\/[^<]+)<\/code>/g)].map(
      ([, path]) => path!,
    );
    expect(directory.length).toBeGreaterThan(60);
    const paths = [...reads()].map(({ path }) => path).concat(directory, '/rest/services/none/FeatureServer');
    const targets = new Set(
      paths.flatMap((path) => [
        `${path.replaceAll(/\{\w+\}/g, 'n0ne')}`,
        `${filled(path)}?nobody=knows`,
        `${filled(path)}?f=n0ne`,
        `${filled(path)}?limit=-1&where=%28&bbox=x&geometry=x&crs=x&datetime=x&size=x`,
      ]),
    );
    const check = async (target: string) => {
      const asPage = await fetch(`${server.url}${target}`, { headers: { accept }, redirect: 'manual' });
      const text = await asPage.text();
      const type = asPage.headers.get('content-type') ?? '';
      const isFailure =
        asPage.status >= 400 || /^\s*\{"error"|Exception(?:Report|s)\b/.test(text.slice(0, 300));
      return isFailure &&
        !(type.startsWith('text/html') && asPage.status >= 400 && text.includes('Next steps'))
        ? `${target} -> ${asPage.status} ${type} ${text.slice(0, 100)}`
        : undefined;
    };
    expect(await faults([...targets].map((target) => () => check(target)))).toEqual([]);
  });

  it('answer what they say to strange headers', async () => {
    const strange: Record<string, string>[] = [
      { accept: 'application/nothing' },
      { accept: '*/*;q=0' },
      { 'x-api-key': 'wrong' },
      { 'if-none-match': '*' },
      { range: 'bytes=5-1' },
    ];
    const requests = function* (): Generator<[OperationDescription, string, Record<string, string>]> {
      for (const described of reads())
        for (const headers of some(strange, 1))
          yield [described, withQuery(filled(described.path), requiredQuery(described)), headers];
    };
    expect(await faults(asked(requests()))).toEqual([]);
  });

  it('tell of 304 where answers have an entity tag, and nowhere else', async () => {
    const wrong: string[] = [];
    for (const [i, described] of [...reads()].entries()) {
      if (!IS_FULL && i % 4 > 0) continue;
      const { operation, path } = described;
      const target = withQuery(filled(path), requiredQuery(described));
      const names = operation.parameters?.find((one: Json) => one.name === 'f')?.schema.enum ?? [''];
      const tags = new Set<boolean>();
      for (const name of names) {
        const url = `${server.url}${target}${name ? `${target.includes('?') ? '&' : '?'}f=${name}` : ''}`;
        const headers = { 'x-api-key': server.adminKey };
        const response = await fetch(url, { headers, redirect: 'manual' });
        await response.arrayBuffer();
        if (response.status !== 200) continue;
        const tag = response.headers.get('etag');
        tags.add(tag !== null);
        if (tag === null) continue;
        const again = await fetch(url, { headers: { ...headers, 'if-none-match': tag } });
        await again.arrayBuffer();
        if (again.status !== 304) wrong.push(`${url} has a tag and answers ${again.status}`);
      }
      const documented = '304' in operation.responses;
      if (tags.size > 0 && documented !== tags.has(true))
        wrong.push(
          `GET ${path} ${documented ? 'documents 304 and has no tag' : 'has a tag and documents no 304'}`,
        );
    }
    expect(wrong).toEqual([]);
  });
});
