import { afterEach, beforeEach, expect, it } from 'vitest';
import { parseKeyVersion, SecretKeys } from '../../src/services/access/keys/secret-keys.js';
import { StateCipher } from '../../src/services/access/keys/state-cipher.js';
import { temporaryState } from '../support/state.js';

let t: Awaited<ReturnType<typeof temporaryState>>;
beforeEach(async () => {
  t = await temporaryState();
});
afterEach(() => t.close());

const keys = (passphrase = 'a key') => new SecretKeys(t.state.documents, new StateCipher(passphrase));

it('are opened by every process, before and after a rotation that ended half-way', async () => {
  const [one, other] = [keys(), keys()];
  const secrets = await Promise.all(['a', 'b', 'c'].map((text) => one.seal(text, 'use')));
  expect(secrets.map(parseKeyVersion)).toEqual([1, 1, 1]);
  expect(await one.advance()).toMatchObject({ before: 1, after: { version: 2 } });
  const half = [await other.rewrap(secrets[0]!, 'use'), secrets[1]!, secrets[2]!];
  expect(half.map(parseKeyVersion)).toEqual([2, 1, 1]);
  for (const process of [one, other, keys()])
    expect(await Promise.all(half.map((secret) => process.open(secret, 'use')))).toEqual(['a', 'b', 'c']);
  await keys().advance();
  const whole = await Promise.all(half.map((secret) => one.rewrap(secret, 'use')));
  expect(whole.map(parseKeyVersion)).toEqual([3, 3, 3]);
  expect(await Promise.all([...half, ...whole].map((secret) => other.open(secret, 'use')))).toEqual([
    'a',
    'b',
    'c',
    'a',
    'b',
    'c',
  ]);
});

it('have versions without gaps when two processes make them at the same time', async () => {
  const [one, other] = [keys(), keys()];
  const made = await Promise.all([one.advance(), other.advance()]);
  const versions = (await one.versions()).map(({ version }) => version);
  expect([[1], [1, 2]]).toContainEqual(versions);
  for (const { before, after } of made) expect(after.version).toBe(before + 1);
  expect(await other.open(await one.seal('text', 'use'), 'use')).toBe('text');
});

it('open a secret for its use alone, with the key of the state alone', async () => {
  const sealed = await keys().seal('text', 'use');
  expect(sealed).not.toContain('text');
  await expect(keys().open(sealed, 'another')).rejects.toMatchObject({ code: 'unavailable' });
  await expect(keys('another key').open(sealed, 'use')).rejects.toMatchObject({ code: 'unavailable' });
  await expect(keys('').open(sealed, 'use')).rejects.toMatchObject({ code: 'unavailable' });
  const spoilt = `${sealed.slice(0, -4)}AAAA`;
  await expect(keys().open(spoilt, 'use')).rejects.toMatchObject({ code: 'unavailable' });
});

it('take over what was kept without a key, once there is one', async () => {
  const open = await keys('').seal('text', 'use');
  expect(parseKeyVersion(open)).toBeNull();
  expect(await keys().open(open, 'use')).toBe('text');
  const sealed = await keys().rewrap(open, 'use');
  expect(parseKeyVersion(sealed)).toBe(1);
  expect(await keys().open(sealed, 'use')).toBe('text');
});
