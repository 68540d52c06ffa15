import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openState, type State } from '../../src/stores/state/state.js';
import { stateWorker } from '../support/state.js';

let folder: string;
let state: State;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-aside-'));
  state = await openState(join(folder, 'state.db'), stateWorker());
});
afterAll(async () => {
  await state?.close();
  rmSync(folder, { recursive: true, force: true });
});

const names = async (store: string | undefined) =>
  (await state.attachments.list({ collection: 'sites', store, limit: 10 })).map(({ name }) => name);

it('attachments that are set aside are removed once their file was away for long', async () => {
  const contentKey = await state.attachments.place({ digest: 'd', size: 1, folder: '' });
  const attach = async (name: string, store?: string) => {
    const about = { collection: 'sites', featureId: '1', mediaType: 'text/plain', size: 1, keywords: '' };
    await state.attachments.add({ ...about, name, store, contentKey, createdBy: 'me' });
  };
  await attach('of one', 'one');
  await attach('of another', 'another');
  await attach('of before');
  expect(await names('one')).toEqual(['of one', 'of before']);
  expect(await names(undefined)).toEqual(['of before']);
  const aside = (store: string | undefined, before: number) =>
    state.attachments.setAside({ collection: 'sites', store }, before);
  await aside('one', 0);
  // Those without a file belong to the one that was there.
  expect([await names('one'), await names('another')]).toEqual([['of one', 'of before'], ['of another']]);
  await aside('another', 0);
  expect(await names('another')).toEqual(['of another']);
  await aside('another', Date.now() + 1000);
  expect([await names('one'), await names('another')]).toEqual([[], ['of another']]);
  await aside(undefined, 0);
  await aside('another', Date.now() + 1000);
  expect(await names('another')).toEqual(['of another']);
});
