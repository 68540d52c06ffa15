import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';

/** Locators that do not answer everybody, and none at all. */

const COLLECTIONS = { SVC_GEOCODING__COLLECTIONS: '{"countries":{"name":"NAME"}}' };
let closed: TestServer;
let off: TestServer;
const dataDir = mkdtempSync(join(tmpdir(), 'geocoding-closed-'));
const draft = join(dataDir, 'geocoding', 'towns.sqlite.1.draft');
beforeAll(async () => {
  mkdirSync(join(dataDir, 'geocoding'));
  writeFileSync(draft, 'of an import that was killed');
  closed = await startServer({ env: { ...COLLECTIONS, SVC_GEOCODING__OPEN: 'false' } });
  off = await startServer({ env: { ...COLLECTIONS, SVC_GEOCODING__ENABLED: 'false' }, dataDir });
}, 240_000);
afterAll(async () => {
  await Promise.all([closed?.stop(), off?.stop()]);
  rmSync(dataDir, { recursive: true, force: true });
});

/** The code of the failure, the number of suggestions, and whether the catalogue has locators. */
async function look({ url, adminKey }: TestServer, isKnown: boolean) {
  const headers: Record<string, string> = isKnown ? { 'x-api-key': adminKey } : {};
  const ask = async (path: string) =>
    (await fetch(`${url}/rest/services${path}`, { headers })).json() as Promise<{
      error?: { code: number };
      suggestions?: unknown[];
      services: { type: string }[];
    }>;
  const { error, suggestions } = await ask('/countries/GeocodeServer/suggest?text=norw&f=json');
  const { services } = await ask('?f=json');
  return [error?.code, suggestions?.length, services.some(({ type }) => type === 'GeocodeServer')];
}

describe('locators', () => {
  it('that are not open answer callers with a key', async () => {
    expect(await look(closed, false)).toEqual([404, undefined, false]);
    expect(await look(closed, true)).toEqual([undefined, 1, true]);
  });

  it('are none where geocoding is off', async () => {
    expect(await look(off, true)).toEqual([404, undefined, false]);
  });

  it('lose at the start what an import left that was killed', async () => {
    await vi.waitFor(() => expect(existsSync(draft)).toBe(false), 10_000);
  });
});
