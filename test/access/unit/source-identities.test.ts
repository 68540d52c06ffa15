import { linkSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SourceIdentities } from '../../../src/services/catalog/publish/source-identities.js';

const folder = mkdtempSync(join(tmpdir(), 'graticule-identities-'));
const path = (name: string) => join(folder, name);
const collection = (name: string, version = '1') => ({ file: path(name), version });

beforeAll(() => {
  for (const name of ['a', 'b', 'c']) writeFileSync(path(name), name);
  linkSync(path('a'), path('link'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('knows a file by its number, whatever its name', async () => {
  const identities = new SourceIdentities([path('own')]);
  const all = ['a', 'b', 'link', 'missing', 'own/x'].map((name) => collection(name));
  await identities.learn(all);
  const [a, b, link, missing, own] = all.map((one) => identities.of(one));
  expect([a === link, a === b, missing, own]).toEqual([true, false, undefined, undefined]);
});

it('keeps the number that a file had when its version was learnt, and reads that of another version', async () => {
  const identities = new SourceIdentities([]);
  const [one, other] = [collection('b', 'v EPSG:4326'), collection('b', 'v EPSG:3857')];
  await identities.learn([one, other]);
  const before = identities.of(one);
  expect(identities.of(other)).toBe(before);
  renameSync(path('c'), path('b'));
  await identities.learn([collection('b', 'v EPSG:4326'), collection('b', 'v EPSG:3857')]);
  expect(identities.of(collection('b', 'v EPSG:3857'))).toBe(before);
  const changed = collection('b', 'w');
  await identities.learn([changed]);
  expect(identities.of(changed)).not.toBe(before);
});
