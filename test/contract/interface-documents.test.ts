import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import {
  type Described,
  DOCUMENTS,
  fault,
  faults,
  filled,
  type Json,
  operationsOf,
  readDocuments,
  requiredQuery,
  withQuery,
} from './documents.js';

/**
 * Every interface document against the server that it describes: what is asked by it, rightly and wrongly, is answered as
 * it says, in status, media type and schema, and never with a fault of the server.
 */

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

beforeAll(async () => {
  server = await startServer();
  documents = await readDocuments(server);
});

afterAll(() => server?.stop());

function* reads(): Generator<Described> {
  for (const described of operationsOf(documents)) if (described.method === 'GET') yield described;
}

function* asked(requests: Iterable<[Described, string, Record<string, string>?]>) {
  for (const [described, target, headers = {}] of requests)
    yield () => fault(server, described, target, { headers });
}

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
    expect(await faults(asked(requests()))).toEqual([]);
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
    expect(await faults(asked(requests()))).toEqual([]);
  });

  it('answer what they say to strange headers', async () => {
    const strange: Record<string, string>[] = [
      { accept: 'application/nothing' },
      { accept: '*/*;q=0' },
      { 'x-api-key': 'wrong' },
      { 'if-none-match': '*' },
      { range: 'bytes=5-1' },
    ];
    const requests = function* (): Generator<[Described, string, Record<string, string>]> {
      for (const described of reads())
        for (const headers of strange)
          yield [described, withQuery(filled(described.path), requiredQuery(described)), headers];
    };
    expect(await faults(asked(requests()))).toEqual([]);
  });
});
