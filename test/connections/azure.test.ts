import { createHmac } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { azurePage } from '../../src/workers/exchange/ingest/azure-objects.js';
import { parseXmlDocument } from '../../src/workers/files/xml.js';
import { adminClient } from '../catalog/support/admin-client.js';
import { sampleObjects } from '../catalog/support/samples.js';
import { scratchDirectory } from '../engine/support.js';
import { REMOTE_HOST, type Remote, startRemote } from '../exchange/remote/support.js';
import { freePort } from '../support/ports.js';
import { startServer, type TestServer } from '../support/server.js';

/**
 * Containers of Azure as connections, in a small store of the test's own that checks signatures as Azure's documentation
 * of Shared Key has them. With AZURITE_BLOB=host:port a running Azurite takes its place, for which the test makes a container.
 */

// biome-ignore lint/suspicious/noExplicitAny: tests look into JSON of any shape
type Json = any;

/** Those of every emulator. */
const ACCOUNT = 'devstoreaccount1';
const KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';
const EMULATOR = process.env['AZURITE_BLOB'];
const CONTAINER = 'scenes';
const scratch = scratchDirectory();
const blobs = new Map<string, Buffer>();
let remote: Remote;
let place: { host: string; port: number };
let server: TestServer;
const admin = adminClient(() => server);

/** Shared Key: the verb, eleven standard headers, those of Azure by name, the resource with its parameters. */
function signature(method: string, url: URL, headers: Record<string, string>): string {
  const standard = ['encoding', 'language', 'length', 'md5', 'type'].map(
    (name) => headers[`content-${name}`] ?? '',
  );
  const lines = [method, ...standard, '', '', '', '', '', headers['range'] ?? ''];
  const own = Object.keys(headers)
    .filter((name) => name.startsWith('x-ms-'))
    .sort();
  const parameters = [...url.searchParams].sort(([a], [b]) => (a < b ? -1 : 1));
  const text = [
    ...lines,
    ...own.map((name) => `${name}:${headers[name]}`),
    `/${ACCOUNT}${url.pathname}`,
    ...parameters.map(([name, value]) => `${name}:${value}`),
  ].join('\n');
  return `SharedKey ${ACCOUNT}:${createHmac('sha256', Buffer.from(KEY, 'base64')).update(text).digest('base64')}`;
}

function refuse(response: ServerResponse, status: number, code: string): void {
  const body = `<?xml version="1.0" encoding="utf-8"?><Error><Code>${code}</Code><Message>no</Message></Error>`;
  response.writeHead(status, { 'content-type': 'application/xml' }).end(body);
}

function answer(url: URL, response: ServerResponse, { headers }: IncomingMessage): void {
  const sent = headers as Record<string, string>;
  if (sent['authorization'] !== signature('GET', url, sent))
    return refuse(response, 403, 'AuthenticationFailed');
  const root = `/${ACCOUNT}/${CONTAINER}`;
  if (url.pathname !== root && !url.pathname.startsWith(`${root}/`))
    return refuse(response, 404, 'ContainerNotFound');
  if (url.searchParams.get('comp') === 'list') return list(url.searchParams, response);
  const blob = blobs.get(decodeURIComponent(url.pathname.slice(root.length + 1)));
  if (!blob) return refuse(response, 404, 'BlobNotFound');
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(sent['range'] ?? '') ?? [];
  if (from === undefined) return void response.writeHead(200, { 'content-length': blob.length }).end(blob);
  const part = blob.subarray(Number(from), Number(to) + 1);
  const range = `bytes ${from}-${Number(from) + part.length - 1}/${blob.length}`;
  response.writeHead(206, { 'content-range': range, 'content-length': part.length, etag: '"1"' }).end(part);
}

function list(query: URLSearchParams, response: ServerResponse): void {
  const names = [...blobs.keys()].filter((name) => name.startsWith(query.get('prefix') ?? '')).sort();
  const rest = names.slice(Number(query.get('marker') ?? 0));
  const page = rest.slice(0, Number(query.get('maxresults')));
  const marker = page.length < rest.length ? names.length - rest.length + page.length : '';
  const items = page.map(
    (
      name,
    ) => `<Blob><Name>${name}</Name><Properties><Last-Modified>Wed, 25 Nov 2026 10:00:00 GMT</Last-Modified>
      <Content-Length>${blobs.get(name)!.length}</Content-Length></Properties></Blob>`,
  );
  const body = `<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs>${items.join('')}</Blobs>
    <NextMarker>${marker}</NextMarker></EnumerationResults>`;
  response.writeHead(200, { 'content-type': 'application/xml' }).end(body);
}

async function put(path: string, body?: Buffer): Promise<void> {
  const url = new URL(`http://${EMULATOR}/${ACCOUNT}/${path}`);
  const headers: Record<string, string> = {
    'x-ms-date': new Date().toUTCString(),
    'x-ms-version': '2021-08-06',
  };
  if (body) Object.assign(headers, { 'x-ms-blob-type': 'BlockBlob', 'content-length': String(body.length) });
  const authorization = signature('PUT', url, headers);
  const put = await fetch(url, {
    method: 'PUT',
    headers: { ...headers, authorization },
    ...(body ? { body: new Uint8Array(body) } : {}),
  });
  expect([201, 409]).toContain(put.status);
}

beforeAll(async () => {
  const { scene, roads } = sampleObjects(scratch.path, 300);
  blobs.set('2026/a b+ü.tif', scene);
  blobs.set('roads.fgb', roads);
  blobs.set('readme.txt', Buffer.from('no geodata'));
  remote = await startRemote(answer);
  if (EMULATOR !== undefined) {
    await put(`${CONTAINER}?restype=container`);
    for (const [name, body] of blobs)
      await put(`${CONTAINER}/${name.split('/').map(encodeURIComponent).join('/')}`, body);
  }
  const url = new URL(EMULATOR === undefined ? remote.url : `http://${EMULATOR}`);
  place = { host: url.hostname, port: Number(url.port) };
  server = await startServer({
    sources: [],
    env: {
      SVC_REMOTE__ALLOW: `["${REMOTE_HOST}", "${place.host}"]`,
      SVC_SECURITY__STATE_KEY: 'the key of the state',
      CONNECTION_AZURE: KEY,
    },
  });
}, 120_000);
afterAll(async () => {
  await server?.stop();
  await remote?.close();
  scratch.remove();
});

const draft = (change: object = {}) => ({
  ...{ name: 'azure', provider: 'AzureBlob', ...place, databaseName: CONTAINER },
  ...{ username: ACCOUNT, password: KEY, sslMode: 'Disable', ...change },
});

describe('a container', () => {
  it('is connected to, and listed page by page', async () => {
    const creation = await admin('POST', '/connections', draft());
    expect(creation.status, creation.text).toBe(201);
    expect(creation.text).not.toContain(KEY);
    const trial = await admin('POST', '/connections/azure/test');
    expect(trial.body.data, trial.text).toMatchObject({ isHealthy: true, reason: 'ok' });
    const whole = (await admin('GET', '/connections/azure/tables')).body;
    expect(whole.tables.map(({ table, format }: Json) => [table, format])).toEqual([
      ['2026/a b+ü.tif', 'GeoTIFF'],
      ['roads.fgb', 'FlatGeobuf'],
    ]);
    expect(whole.tables[1]).toMatchObject({ bytes: blobs.get('roads.fgb')!.length, schema: CONTAINER });
    const keys: string[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page: Json = (await admin('GET', `/connections/azure/tables?limit=1${query}`)).body;
      keys.push(...page.tables.map(({ table }: Json) => table));
      cursor = page.nextCursor;
    }
    expect(keys).toEqual(['2026/a b+ü.tif', 'roads.fgb']);
    const { tables } = (await admin('GET', '/connections/azure/tables?prefix=2026/')).body;
    expect(tables).toHaveLength(1);
  });

  it('publishes rasters that are read by ranges, and copies of vector files', async () => {
    const raster = await admin('POST', '/cloud-rasters', {
      ...{ layerId: 80, name: 'Scene', provider: 'AzureBlob', bucket: CONTAINER, createLayer: true },
      ...{ objectKey: '2026/a b+ü.tif', connection: 'azure' },
    });
    expect(raster.status, raster.text).toBe(201);
    expect(raster.body).toMatchObject({ width: 300, bandCount: 6 });
    expect((await fetch(`${server.url}/tiles/scene/12/1651/2139.png`)).status).toBe(200);
    const layer = { schema: CONTAINER, table: 'roads.fgb', layerName: 'Roads' };
    const copy = await admin('POST', '/connections/azure/layers', layer);
    expect(copy.body.data, copy.text).toMatchObject({ collectionId: 'roads', srid: 4326 });
    const { resources } = (await admin('GET', '/metadata/manifest')).body.data;
    const connection = resources.find(({ kind }: Json) => kind === 'Connection');
    expect((await admin('POST', '/metadata/manifest/apply', { resources: [connection] })).status).toBe(200);
    expect((await admin('PUT', '/connections/azure', { description: 'Of the satellites' })).status).toBe(200);
    expect((await admin('POST', '/connections/azure/test')).body.data).toMatchObject({ isHealthy: true });
    expect(server.log()).not.toContain(KEY);
  });

  it.each([
    ['ok', { password: undefined, secretReference: 'env:CONNECTION_AZURE' }],
    ['password', { password: Buffer.from('wrong').toString('base64') }],
    ['bucket-missing', { databaseName: 'no-such-container' }],
    ['refused', 'closed'],
  ])('is tried, and tells apart %s: %j', async (reason, change) => {
    const sent = draft(typeof change === 'string' ? { port: await freePort() } : change);
    const { body, text } = await admin('POST', '/connections/test', sent);
    // Azurite says of a wrong key what Azure says of networks that are barred.
    const name = EMULATOR !== undefined && reason === 'password' ? 'rights' : reason;
    expect(body.data, text).toMatchObject({ reason: name, isHealthy: reason === 'ok' });
    expect(text).not.toContain(KEY);
  });

  it.each([
    ['databaseName', { databaseName: 'two--hyphens' }],
    ['username', { username: 'Not An Account' }],
    ['password', { password: 'no base64!' }],
    ['region', { region: 'eu-central-1' }],
    ['host', { host: '10.0.0.1' }],
  ])('with a wrong %s is refused: %j', async (member, change) => {
    const { status, text } = await admin('POST', '/connections', draft({ name: 'wrong', ...change }));
    expect([status, text]).toEqual([400, expect.stringContaining(member)]);
  });
});

it('keys that are escaped in a list are told as they are, broken ones as they stand there', () => {
  const blob = (name: string) =>
    `<Blob><Name Encoded="true">${name}</Name><Properties><Content-Length>1</Content-Length></Properties></Blob>`;
  const blobs = `<Blobs>${blob('a%20b.fgb')}${blob('100%.fgb')}</Blobs>`;
  const { objects } = azurePage(
    parseXmlDocument(Buffer.from(`<EnumerationResults>${blobs}</EnumerationResults>`)).root,
  );
  expect(objects.map(({ key }) => key)).toEqual(['a b.fgb', '100%.fgb']);
});
