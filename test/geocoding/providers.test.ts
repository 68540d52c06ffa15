import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { multipart } from '../admin/support/multipart.js';
import { call, REMOTE_HOST, type Remote, sendJson, startRemote } from '../exchange/remote/support.js';
import { startServer, type TestServer } from '../support/server.js';
import { TOWNS } from './support.js';

/** Providers of geocoding: another server first, then the locators of this one. */

let remote: Remote;
let server: TestServer;
let state: 'well' | 'failing' | 'late' | 'nonsense' = 'well';
let keys: keyof typeof KEYS = 'short';
const KEYS = {
  short: { magicKey: 'k 1' },
  wide: { magicKey: '鍵'.repeat(500) },
  long: { magicKey: 'k'.repeat(501) },
};
/** As long as a text may be, in lines. */
const LINE = `${'東'.repeat(249)}\n${'京'.repeat(250)}`;
/** Makes each question another one, so that none is answered by what was kept. */
let number = 0;

beforeAll(async () => {
  remote = await startRemote(({ pathname, searchParams }, response) => {
    if (state === 'failing') return sendJson(response, {}, 'application/json', 500);
    if (state === 'late') return;
    if (state === 'nonsense') return void response.end('<html>');
    const location = { x: 2.35, y: 48.86 };
    if (pathname === '/GeocodeServer/suggest')
      return sendJson(response, {
        suggestions: [{ text: searchParams.get('text') === 'par' ? 'Paris, FRA' : LINE, ...KEYS[keys] }],
      });
    if (pathname === '/GeocodeServer/reverseGeocode')
      return sendJson(
        response,
        searchParams.get('location') === '0,0'
          ? { error: { code: 400, message: 'Unable to find address.' } }
          : { address: { Match_addr: 'Rue 1, Paris', City: 'Paris' }, location },
      );
    const attributes = { City: 'Paris', CntryName: 'France', Addr_type: 'Locality' };
    const nowhere = { address: 'x', location: { x: 'NaN', y: 'NaN' }, score: 99 };
    sendJson(response, {
      candidates: [nowhere, { address: 'Paris, FRA', location, score: 98.5, attributes }],
    });
  });
  server = await startServer({
    sources: [],
    env: {
      SVC_REMOTE__ALLOW: `["${REMOTE_HOST}"]`,
      SVC_GEOCODING__SERVERS: JSON.stringify([
        { name: 'other', url: `${remote.url}/GeocodeServer` },
        { name: 'forbidden', url: 'http://127.0.0.3/GeocodeServer' },
      ]),
      SVC_GEOCODING__ORDER: '["other"]',
      SVC_GEOCODING__TIMEOUT_SECONDS: '1',
    },
  });
  const { contentType, body } = multipart([
    { name: 'referenceData', content: TOWNS, filename: 'towns.csv' },
    { name: 'locatorName', content: 'towns' },
  ]);
  await fetch(`${server.url}/api/v1/admin/geocoding/reference-data/import`, {
    method: 'POST',
    headers: { 'content-type': contentType, 'x-api-key': server.adminKey },
    body: new Uint8Array(body),
  });
}, 120_000);

afterAll(async () => {
  await server?.stop();
  await remote?.close();
});

beforeEach(() => {
  state = 'well';
  number++;
});

interface Answer {
  services: unknown;
  candidates: { address: string; score: number; location: unknown; attributes: unknown }[];
  suggestions: { text: string; magicKey: string }[];
  address: unknown;
  error: { code: number };
}

async function ask(path: string, members: Record<string, string>): Promise<Answer> {
  const query = new URLSearchParams({ f: 'json', ...members });
  return (await fetch(`${server.url}/rest/services/${path}?${query}`)).json() as Promise<Answer>;
}

const find = (SingleLine: string, path = 'GeocodeServer') =>
  ask(`${path}/findAddressCandidates`, { SingleLine: `${SingleLine} ${'!'.repeat(number)}` });

const admin = async (path: string) => (await call(server, 'GET', path)).body['data'];

const capabilities = (supportsBatch: boolean) => ({
  supportsForwardGeocode: true,
  supportsReverseGeocode: true,
  supportsBatch,
  supportsSuggest: true,
  requiresAuthentication: false,
  maxResultsPerRequest: 50,
});
const UNTRIED = { isHealthy: true, lastChecked: null, responseTimeMs: null, errorMessage: null };

describe('providers', () => {
  it('are told of as the contract says, before anybody asked', async () => {
    expect(await admin('/geocoding/providers')).toEqual({
      defaultProvider: 'other',
      failoverEnabled: true,
      providers: [
        { name: 'other', ...UNTRIED, capabilities: capabilities(false) },
        { name: 'local', ...UNTRIED, capabilities: capabilities(true) },
        { name: 'forbidden', ...UNTRIED, capabilities: capabilities(false) },
      ],
    });
    expect(await admin('/operations/geocoding/configuration')).toEqual({
      enabled: true,
      enableCaching: true,
      enableFailover: true,
      defaultProvider: 'other',
      defaultTimeoutSeconds: 1,
      cacheExpirationMinutes: 60,
      maxFailoverAttempts: 2,
    });
  });

  it('are asked in their order', async () => {
    // The thread that asks starts with the first request, which may take longer than a provider has.
    await expect.poll(async () => (await find('Paris')).candidates.length, { timeout: 30_000 }).toBe(1);
    const { candidates } = await find('Paris');
    expect(candidates).toEqual([
      { address: 'Paris, FRA', score: 98.5, location: { x: 2.35, y: 48.86 }, attributes: {} },
    ]);
    expect(remote.asked.at(-1)).toContain('outSR=4326');
    const { suggestions } = await ask('GeocodeServer/suggest', { text: 'par' });
    expect(suggestions).toMatchObject([{ text: 'Paris, FRA' }]);
    const { magicKey } = suggestions[0]!;
    const chosen = await ask('GeocodeServer/findAddressCandidates', { magicKey });
    expect(chosen.candidates).toMatchObject([{ address: 'Paris, FRA', score: 100 }]);
    expect(remote.asked.at(-1)).toContain('magicKey=k+1');
    const { address } = await ask('GeocodeServer/reverseGeocode', { location: '2.3,48.8' });
    expect(address).toMatchObject({ Match_addr: 'Rue 1, Paris', City: 'Paris' });
    const nothing = await ask('GeocodeServer/reverseGeocode', { location: '0,0' });
    expect(nothing.error.code).toBe(400);
  });

  it.each([
    ['wide', KEYS.wide.magicKey],
    // What is longer than we keep would be another key.
    ['long', null],
  ] as const)('have keys that are %s', async (length, own) => {
    keys = length;
    const { suggestions } = await ask('GeocodeServer/suggest', { text: length });
    const { magicKey } = suggestions[0]!;
    await ask('GeocodeServer/findAddressCandidates', { magicKey });
    const { searchParams } = new URL(remote.asked.at(-1)!, remote.url);
    expect([searchParams.get('SingleLine'), searchParams.get('magicKey')]).toEqual([LINE, own]);
  });

  it('are not asked again for what is kept', async () => {
    await find('Lyon');
    const { length } = remote.asked;
    await find('Lyon');
    expect(remote.asked).toHaveLength(length);
  });

  it.each(['failing', 'late', 'nonsense'] as const)('that are %s leave it to the next', async (how) => {
    state = how;
    const { candidates } = await find('Köln');
    expect(candidates[0]).toMatchObject({ address: 'Köln, Nordrhein-Westfalen, Deutschland' });
    const status = (await admin('/operations/geocoding/providers')) as { providers: unknown[] };
    expect(status).toEqual({
      defaultProvider: 'other',
      failoverEnabled: true,
      generatedAt: expect.any(String),
      providers: [
        {
          providerName: 'other',
          isHealthy: false,
          lastChecked: expect.any(String),
          responseTimeMs: expect.any(Number),
          errorMessage: expect.any(String),
          capabilities: { ...capabilities(false), maxBatchSize: 1, supportsStructuredInput: true },
        },
        {
          providerName: 'local',
          isHealthy: true,
          lastChecked: expect.any(String),
          responseTimeMs: expect.any(Number),
          errorMessage: null,
          capabilities: { ...capabilities(true), maxBatchSize: 1000, supportsStructuredInput: true },
        },
        expect.objectContaining({ providerName: 'forbidden' }),
      ],
    });
    state = 'well';
    await find('Nice');
    const { providers } = (await admin('/geocoding/providers')) as { providers: unknown[] };
    expect(providers[0]).toMatchObject({ isHealthy: true, errorMessage: null });
  });

  it('do not make good what the client did wrong', async () => {
    const { length } = remote.asked;
    expect((await ask('GeocodeServer/reverseGeocode', { location: 'x' })).error.code).toBe(400);
    expect(remote.asked).toHaveLength(length);
  });

  it('that take batches are asked for them', async () => {
    const records = [1, 2].map((OBJECTID) => ({ attributes: { OBJECTID, SingleLine: 'Köln' } }));
    const answer = await ask('GeocodeServer/geocodeAddresses', { addresses: JSON.stringify({ records }) });
    expect(answer).toMatchObject({ locations: [{ score: 100 }, { score: 100 }] });
  });

  it('are locators by their names, on hosts that are allowed', async () => {
    expect((await find('Paris', 'other/GeocodeServer')).candidates).toHaveLength(1);
    state = 'failing';
    number += 100;
    expect((await find('Paris', 'other/GeocodeServer')).error.code).toBe(502);
    expect((await find('Paris', 'forbidden/GeocodeServer')).error.code).toBe(502);
    const names = ['towns', 'other', 'forbidden'].map((name) => ({ name, type: 'GeocodeServer' }));
    expect((await ask('', {})).services).toEqual(expect.arrayContaining(names));
  });
});
