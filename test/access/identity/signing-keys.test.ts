import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SigningKeys } from '../../../src/services/access/identity/signing-keys.js';
import { StateCipher } from '../../../src/services/access/keys/state-cipher.js';
import { openState, type State } from '../../../src/stores/state/state.js';
import { stateWorker } from '../../support/state.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

let folder: string;
let state: State;
let now: number;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-keys-'));
  state = await openState(join(folder, 'state.db'), stateWorker());
  now = Date.now();
});
afterEach(async () => {
  await state.close();
  rmSync(folder, { recursive: true, force: true });
});

const keysOf = (passphrase = 'secret') =>
  new SigningKeys(
    state.documents,
    new StateCipher(passphrase),
    async () => {},
    () => now,
  );
const token = (keys: SigningKeys) =>
  keys.sign({ sub: 'x', iat: Math.floor(now / 1000), exp: Math.floor((now + HOUR) / 1000) });
const kids = async (keys: SigningKeys) => (await keys.published()).keys.map(({ kid }) => kid);

describe('signing keys', () => {
  it('are replaced after a month, published before they sign and for as long as tokens of them live', async () => {
    const keys = keysOf();
    const [first] = await kids(keys);
    now += 30 * DAY;
    const old = await token(keys);
    const [, second] = await kids(keys);
    expect([first, second].every(Boolean)).toBe(true);
    expect(JSON.parse(Buffer.from(old.split('.')[0]!, 'base64url').toString())).toMatchObject({ kid: first });
    now += HOUR / 2;
    const fresh = await token(keys);
    expect(JSON.parse(Buffer.from(fresh.split('.')[0]!, 'base64url').toString())).toMatchObject({
      kid: second,
    });
    expect(await keys.verify(old)).toMatchObject({ sub: 'x' });
    now += HOUR;
    await expect(keys.verify(old)).rejects.toThrow();
    now += 30 * DAY;
    expect(await kids(keys)).toHaveLength(2);
    expect(await keys.owns(first!)).toBe(false);
  });

  it('are made once by processes that start together', async () => {
    const [one, other] = [keysOf(), keysOf()];
    const [a, b] = await Promise.all([kids(one), kids(other)]);
    expect(a).toHaveLength(1);
    expect(b).toEqual(a);
  });

  it('lie encrypted in the state, and are of no use with another passphrase', async () => {
    const keys = keysOf();
    const signed = await token(keys);
    const [key] = await state.documents.list<{ privateKey: string }>('signing key');
    expect(key!.body.privateKey).toMatch(/^sealed:[\w-]+$/);
    await state.close();
    for (const name of ['state.db', 'state.db-wal']) {
      const bytes = readFileSync(join(folder, name), { flag: 'a+' }).toString('latin1');
      expect(bytes).not.toContain('"d":');
    }
    state = await openState(join(folder, 'state.db'), stateWorker());
    await expect(token(keysOf('another'))).rejects.toMatchObject({ code: 'unavailable' });
    // Who only verifies needs no private key.
    expect(await keysOf('another').verify(signed)).toMatchObject({ sub: 'x' });
  });

  it('refuse what was not signed as a token of ours', async () => {
    const keys = keysOf();
    const good = await token(keys);
    const [head, body] = good.split('.');
    await expect(keys.verify(`${head}.${body}.AAAA`)).rejects.toThrow();
    const late = await keys.sign({ sub: 'x', iat: 1, exp: 2 });
    await expect(keys.verify(late)).rejects.toThrow(/exp/);
    const endless = await keys.sign({ sub: 'x', iat: 1 });
    await expect(keys.verify(endless)).rejects.toThrow(/exp/);
    const early = await keys.sign({ sub: 'x', iat: 1, exp: now, nbf: Math.floor(now / 1000) + 300 });
    await expect(keys.verify(early)).rejects.toThrow(/nbf/);
  });
});
