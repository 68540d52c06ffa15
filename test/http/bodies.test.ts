import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Type from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BodyError, readBody } from '../../src/core/http/body.js';
import { HTTP_LIMITS } from '../../src/core/http/limits.js';
import { parseBoundary } from '../../src/core/http/multipart-fields.js';
import { ANONYMOUS, defineOperation } from '../../src/core/http/operation.js';
import { LIMITS } from '../../src/core/kit/limits.js';
import type { TaskInput } from '../../src/core/tasks/tasks.js';
import { JsonBoundsError, parseJsonText, requireBounds } from '../../src/core/values/json-bounds.js';
import { Dispatcher } from '../../src/gateway/http/dispatch.js';
import { ForwardedHeaders } from '../../src/gateway/http/requests/forwarded-headers.js';
import { HttpServer } from '../../src/gateway/http/server.js';
import { createLog } from '../../src/services/telemetry/log.js';
import { raw } from '../e2e/support/http.js';
import { NO_AUDIT } from '../support/no-audit.js';
import { errorLines, gateways } from '../support/processes.js';
import { startServerProcess, type TestServer } from '../support/server.js';

const BOUNDS = { depth: 3, values: 10, names: 4, string: 8 };
const bounded = (json: string) => () => requireBounds(Buffer.from(json), BOUNDS);

describe('the bounds of a JSON text', () => {
  it.each([
    '',
    'no JSON',
    '[[[1]]]',
    '{"a":{"b":{"c":1}}}',
    '[1,2,3,4,5,6,7,8,9]',
    '"12345678"',
    // What stands in a string is no structure, however it is escaped.
    String.raw`["[[[[{\","]`,
    String.raw`["\\","\\"]`,
    '["::::::"]',
    // A string without end is for the parser to refuse.
    '"abc',
    '"abc\\',
    ']]]]]][[[',
  ])('hold %s', (json) => expect(bounded(json)).not.toThrow());

  it.each([
    ['[[[[', false],
    ['{"a":[{"b":[]}]}', false],
    ['[1,2,3,4,5,6,7,8,9,0]', true],
    ['[[],[],[],[],[],[]]', true],
    ['{"a":1,"b":1,"c":1,"d":1,"e":1}', true],
    ['"123456789"', true],
    [String.raw`"\\\\\\\\\""`, true],
  ])('refuse %s', (json, tooLarge) => {
    expect(bounded(json)).toThrow(JsonBoundsError);
    expect(bounded(json)).toThrow(expect.objectContaining({ tooLarge }));
  });

  it('are found in a long text before its end is looked at', () => {
    expect(() => parseJsonText('['.repeat(60_000))).toThrow('it has more than 256 levels of nesting');
    expect(() => parseJsonText(' '.repeat(70_000))).toThrow(/longer than 65536/);
  });

  it.each([
    'a=1&b=x+y%2Bz',
    '&&a&=b&',
    'a=%E4%B8%AD&%20=%',
    'a=%ff%zz%e2%28',
    'a=b=c%3Dd',
    'a=%EF%BB%BFx',
    '',
  ])('leave the form %s what browsers take it for', (text) => {
    const reading = { form: 'form', bounds: { ...BOUNDS, string: 100 } } as const;
    expect(readBody(Buffer.from(text), reading)).toEqual(Object.fromEntries(new URLSearchParams(text)));
  });

  const multipart = (text: string, boundary: string | undefined = 'b') =>
    readBody(Buffer.from(text), {
      ...{ form: 'multipart', boundary, jsonMembers: ['g'] },
      bounds: { ...BOUNDS, string: 100 },
    });
  const part = (name: string, text: string) =>
    `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`;

  it('leave a multipart form what it was written of', async () => {
    const form = new FormData();
    const fields = { a: '1', empty: '', 'ä b': 'x\r\n--y\r\n\r\n', last: '--' };
    for (const [name, text] of Object.entries(fields)) form.append(name, text);
    const written = new Response(form);
    const boundary = parseBoundary(written.headers.get('content-type')!);
    expect(multipart(await written.text(), boundary)).toEqual(fields);
    expect(multipart(`${part('g', '[1]')}${part('t', '[1]')}--b--`)).toEqual({ g: [1], t: '[1]' });
    const token = '--b\r\nContent-Disposition: form-data; name=f\r\n\r\njson\r\n';
    expect(multipart(`${token}--b--`)).toEqual({ f: 'json' });
    expect(parseBoundary('multipart/form-data; charset=x; boundary="a b"')).toBe('a b');
    for (const wrong of ['', '; boundary=', '; boundary=a"b', `; boundary=${'x'.repeat(71)}`])
      expect(parseBoundary(`multipart/form-data${wrong}`)).toBeUndefined();
  });

  it.each([
    ['nothing', '', /before its last boundary/],
    ['another boundary', '--c--', /before its last boundary/],
    ['no end', part('a', '1'), /before its last boundary/],
    ['a part without end', `${part('a', '1')}--b\r\nContent-Disp`, /before its last boundary/],
    ['long headers', `--b\r\nX: ${'x'.repeat(2000)}\r\n\r\n1\r\n--b--`, /before its last boundary/],
    ['no name', '--b\r\nX: y\r\n\r\n1\r\n--b--', /no name/],
    ['a file', `${part('f"; filename="x', '1')}--b--`, 'f: must be a text field, not a file.'],
    ['a field twice', `${part('a', '1')}${part('a', '2')}--b--`, /twice/],
    ['many fields', Array.from({ length: 200 }, (_, i) => part(`${i}`, '')).join(''), /100 fields/],
    ['a long field', `${part('a', 'x'.repeat(101))}--b--`, 'a: must have at most 100 characters.'],
    [
      'deep JSON',
      `${part('g', '[[[[1]]]]')}--b--`,
      'g: is too complex: it has more than 3 levels of nesting.',
    ],
  ])('refuse a multipart form with %s', (_, text, message) => {
    expect(() => multipart(text)).toThrow(BodyError);
    expect(() => multipart(text)).toThrow(message);
  });

  it('hold for the JSON in a member and in a form', () => {
    const reading = (form: 'json' | 'form') => ({
      form,
      bounds: { ...BOUNDS, string: 100 },
      jsonMembers: ['g'],
    });
    expect(readBody(Buffer.from('{"g":"[1]","t":"[1]"}'), reading('json'))).toEqual({ g: [1], t: '[1]' });
    expect(readBody(Buffer.from('g=%5B1%5D&t=%5B1%5D'), reading('form'))).toEqual({ g: [1], t: '[1]' });
    for (const form of ['json', 'form'] as const) {
      const body = form === 'json' ? '{"g":"[[[[1]]]]"}' : 'g=[[[[1]]]]';
      expect(() => readBody(Buffer.from(body), reading(form))).toThrow(
        'g: is too complex: it has more than 3 levels of nesting.',
      );
    }
    expect(() => readBody(Buffer.from('a&'.repeat(200)), reading('form'))).toThrow(/100 fields/);
    expect(() => readBody(Buffer.from(`t=${'x'.repeat(101)}`), reading('form'))).toThrow(
      't: must have at most 100 characters.',
    );
    expect(() => readBody(Buffer.from('t=1&t=2'), reading('form'))).toThrow(/twice/);
  });
});

describe('where a body is parsed', () => {
  const tasks: TaskInput<'vector.body'>[] = [];
  let server: HttpServer;
  let url: string;

  beforeAll(async () => {
    const echo = defineOperation({
      id: 'test.echo',
      method: 'POST',
      path: '/echo',
      surface: 'site',
      protocol: 'Site',
      summary: 'Echo',
      permission: 'public',
      responses: {},
      body: { schema: Type.Unknown(), mediaTypes: ['application/json'], required: true },
      run: (x) => ({ status: 200, mediaType: 'application/json', body: JSON.stringify(x.body) }),
    });
    const keyed = { ...ANONYMOUS, kind: 'api-key', id: 'k' } as const;
    const dispatcher = new Dispatcher({
      once: (_request, work) => work(),
      operations: [echo],
      pools: {
        run: (async (_name: string, input: TaskInput<'vector.body'>) => {
          tasks.push(input);
          return 'parsed elsewhere';
        }) as never,
      },
      authenticate: () => keyed,
      permits: () => true,
      audit: NO_AUDIT,
    });
    const log = createLog({ level: 'Fatal', pretty: false, process: 'test' } as never);
    const forwarding = new ForwardedHeaders({
      publicUrl: undefined,
      trustProxy: [],
      fallbackHost: 'localhost',
    });
    server = new HttpServer({ dispatcher, log, vendor: 'test', forwarding });
    url = `http://127.0.0.1:${await server.listen('127.0.0.1', 0)}/echo`;
  });
  afterAll(() => server?.close(0));

  const send = (body: string, headers: Record<string, string> = {}) =>
    raw(url, { method: 'POST', body, headers });
  const text = (bytes: number) => `"${'x'.repeat(bytes - 2)}"`;
  const key = { 'x-api-key': 'k' };

  it('is the event loop up to 64 KiB, and a worker from there on', async () => {
    expect((await send(text(LIMITS.loopBodyBytes), key)).body.toString()).toBe(text(LIMITS.loopBodyBytes));
    expect(tasks).toEqual([]);
    expect((await send(text(LIMITS.loopBodyBytes + 1), key)).body.toString()).toBe('"parsed elsewhere"');
    const [{ parts }] = tasks as [TaskInput<'vector.body'>];
    expect(Buffer.concat(parts).toString()).toBe(text(LIMITS.loopBodyBytes + 1));
  });

  it('is nowhere when it is too large, which is sooner for anonymous clients', async () => {
    tasks.length = 0;
    expect((await send(text(LIMITS.bodyBytes + 1), key)).status).toBe(413);
    expect((await send(text(HTTP_LIMITS.anonymousBodyBytes + 1))).status).toBe(413);
    const chunked = { 'transfer-encoding': 'chunked' };
    expect((await send(text(HTTP_LIMITS.anonymousBodyBytes + 1), chunked)).status).toBe(413);
    expect(tasks).toEqual([]);
    expect((await send(text(HTTP_LIMITS.anonymousBodyBytes), key)).status).toBe(200);
  });

  it('has other bounds for anonymous clients', async () => {
    const values = (count: number) => `[${Array(count).fill(1).join()}]`;
    expect((await send(values(HTTP_LIMITS.anonymousBodyValues - 1))).status).toBe(200);
    expect((await send(values(HTTP_LIMITS.anonymousBodyValues))).status).toBe(413);
    expect((await send(values(HTTP_LIMITS.anonymousBodyValues), key)).status).toBe(200);
    expect((await send(text(HTTP_LIMITS.anonymousBodyString + 3))).status).toBe(413);
    expect((await send('['.repeat(HTTP_LIMITS.bodyDepth + 1), key)).status).toBe(400);
  });
});

describe('a body or parameter that is nested without end, or of values without end', () => {
  let server: TestServer;
  let gateway: number[];
  /** Edits are among the requests: the demo data stay as they are. */
  const folder = mkdtempSync(join(tmpdir(), 'graticule-bodies-'));
  beforeAll(async () => {
    const copy = join(folder, 'world_map.gpkg');
    copyFileSync('demo/data/world_map.gpkg', copy);
    server = await startServerProcess({ sources: [copy, 'demo/data/L7_ETMs.tif'] });
    gateway = gateways(server.process.pid!);
  });
  afterAll(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const nested = (open: string, inner: string, close: string, levels: number) =>
    open.repeat(levels) + inner + close.repeat(levels);
  const arrays = (levels: number) => nested('[', '1', ']', levels);
  const nots = (levels: number) => nested('{"op":"not","args":[', 'true', ']}', levels);
  const clusters = '/ogc/features/collections/countries/clusters';
  const items = '/ogc/features/collections/countries/items';
  const admin = '/api/v1/admin';

  it.each<[string, string, string, boolean, number]>([
    [
      'STAC: nested arrays',
      '/stac/search',
      `{"intersects":{"type":"Point","coordinates":${arrays(5000)}}}`,
      false,
      400,
    ],
    ['STAC: nested arrays, large', '/stac/search', `{"intersects":{"a":${arrays(100_000)}}}`, true, 400],
    [
      'STAC: within depth, no geometry',
      '/stac/search',
      `{"intersects":{"type":"Polygon","coordinates":${arrays(200)}}}`,
      true,
      400,
    ],
    ['STAC: not of not', '/stac/search', `{"filter":${nots(10_000)}}`, true, 400],
    ['STAC: not of not, 120 levels', '/stac/search', `{"filter":${nots(120)}}`, true, 400],
    ['STAC: empty arrays', '/stac/search', `[${'[],'.repeat(200_000)}[]]`, false, 413],
    [
      'STAC: empty arrays below the bytes',
      '/stac/search',
      `{"ids":[${'[],'.repeat(100_000)}[]]}`,
      false,
      413,
    ],
    [
      'STAC: members',
      '/stac/search',
      `{${Array.from({ length: 50_000 }, (_, i) => `"m${i}":1`).join()}}`,
      false,
      413,
    ],
    [
      'STAC: wrong members',
      '/stac/search',
      `{${Array.from({ length: 2000 }, (_, i) => `"m${i}":1`).join()}}`,
      false,
      400,
    ],
    [
      'STAC: text of parentheses',
      '/stac/search',
      `{"filter-lang":"cql2-text","filter":"${'('.repeat(8000)}"}`,
      false,
      400,
    ],
    [
      'STAC: text of NOT',
      '/stac/search',
      `{"filter-lang":"cql2-text","filter":"${'not '.repeat(1900)}true"}`,
      false,
      400,
    ],
    [
      'STAC: text, long',
      '/stac/search',
      `{"filter-lang":"cql2-text","filter":"${'('.repeat(250_000)}"}`,
      false,
      413,
    ],
    [
      'STAC: text, long, keyed',
      '/stac/search',
      `{"filter-lang":"cql2-text","filter":"${'('.repeat(250_000)}"}`,
      true,
      400,
    ],
    ['analytics: nested', clusters, `{"geometry":${nested('{"x":', '1', '}', 5000)}}`, false, 400],
    ['analytics: nested text', clusters, `{"geometry":"${nested('{\\"x\\":', '1', '}', 1000)}"}`, false, 400],
    ['analytics: where', clusters, `{"where":"${'('.repeat(8000)}"}`, false, 400],
    ['analytics: statistics', clusters, `{"outStatistics":${arrays(70_000)}}`, false, 400],
    ['an edit', items, `{"type":"Feature","geometry":null,"properties":{"a":${arrays(100_000)}}}`, true, 400],
    [
      'an edit: a small one',
      items,
      `{"type":"Feature","geometry":null,"properties":{"a":${arrays(10_000)}}}`,
      true,
      400,
    ],
    [
      'a geometry of collections',
      items,
      `{"type":"Feature","geometry":${nested('{"type":"GeometryCollection","geometries":[', '', ']}', 5000)},"properties":{}}`,
      true,
      400,
    ],
    [
      'a geometry of 30 collections',
      items,
      `{"type":"Feature","geometry":${nested('{"type":"GeometryCollection","geometries":[', '', ']}', 30)},"properties":{}}`,
      true,
      400,
    ],
    ['a style', `${admin}/metadata/layers/1/style`, `{"mapLibreStyle":{"a":${arrays(100_000)}}}`, true, 400],
    ['a drawingInfo', `${admin}/metadata/layers/1/drawing-info`, `{"a":${arrays(5000)}}`, true, 400],
    ['a key', `${admin}/api-keys`, `{"name":"x","permissions":${arrays(100_000)}}`, true, 400],
    ['a key: values', `${admin}/api-keys`, `{"name":"x","permissions":[${'1,'.repeat(60_000)}1]}`, true, 413],
  ])('%s is refused', async (_, path, body, keyed, status) => {
    const method = path.includes('/metadata/') ? 'PUT' : 'POST';
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      ...(keyed ? { 'x-api-key': server.adminKey } : {}),
    };
    const answer = await raw(`${server.url}${path}`, { method, body, headers });
    expect([answer.status, answer.body.toString().slice(0, 4000)]).toEqual([
      status,
      expect.stringContaining('"code"'),
    ]);
    expect(answer.headers['content-type']).toBe('application/problem+json');
    expect(gateways(server.process.pid!)).toEqual(gateway);
    expect(errorLines(server.log())).toEqual([]);
  });

  it.each([
    `/stac/search?intersects=${arrays(3900)}`,
    `/stac/search?filter-lang=cql2-json&filter=${encodeURIComponent(nots(150))}`,
    `${items}?filter=${'('.repeat(7000)}`,
    `${items}?filter=${'not%20'.repeat(1200)}true`,
    `${items}?filter=${'-'.repeat(7000)}1=1`,
    `${items}?filter=s_intersects(geom,${'GEOMETRYCOLLECTION('.repeat(380)}`,
    `${items}?filter-lang=cql2-json&filter=${arrays(3500)}`,
    `/ogc/features/collections/countries/h3?resolution=1&outStatistics=${arrays(3500)}`,
    `/ogc/coverages/collections/l7_etms/coverage?subset=${'('.repeat(7000)}`,
    `/ogc/maps/collections/l7_etms/map?colormap=${arrays(3500)}`,
    `/ogc/maps/collections/l7_etms/map?expression=${'('.repeat(1900)}b1`,
  ])('a parameter (%#)', async (target) => {
    const answer = await raw(`${server.url}${target}`);
    expect([answer.status, answer.body.toString().slice(0, 4000)]).toEqual([
      400,
      expect.stringContaining('"code"'),
    ]);
    expect(errorLines(server.log())).toEqual([]);
  });

  it('a form', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    for (const [body, status] of [
      [`geometry=${nested('{"x":', '1', '}', 3000)}`, 400],
      ['a&'.repeat(200_000), 413],
      [`where=${'('.repeat(8000)}`, 400],
    ] as const) {
      const answer = await raw(`${server.url}${clusters}`, { method: 'POST', body, headers });
      expect([answer.status, answer.body.toString()]).toEqual([status, expect.any(String)]);
    }
    const large = `geometry=${encodeURIComponent(JSON.stringify({ rings: [[[0, 0], ...Array.from({ length: 3000 }, (_, i) => [i / 100, 50 + (i % 2)]), [0, 0]]] }))}&inSR=4326&algorithm=kmeans&k=2`;
    const found = await raw(`${server.url}${clusters}`, { method: 'POST', body: large, headers });
    expect([found.status, found.body.toString().slice(0, 200)]).toEqual([200, expect.any(String)]);
  });
});
