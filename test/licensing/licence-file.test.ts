import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyLicence } from '../../src/services/licensing/licence-file.js';
import { LicenceIssuer, licence } from './support/licence-files.js';

const NOW = Date.UTC(2026, 10, 30, 12);
const DAY_MS = 86_400_000;

describe('a licence file', () => {
  let issuer: LicenceIssuer;
  let other: LicenceIssuer;
  beforeAll(() => {
    issuer = new LicenceIssuer();
    other = new LicenceIssuer('issuer-2');
  });
  afterAll(() => {
    issuer.remove();
    other.remove();
  });

  const judge = async (text: string | Uint8Array, now = NOW) => {
    const bytes = typeof text === 'string' ? Buffer.from(text) : text;
    return (await verifyLicence(bytes, [issuer.jwk], now)).state;
  };
  const good = () => issuer.issue(licence({}, NOW));

  it('of openssl is valid, also with the end of line of an editor', async () => {
    const text = good();
    for (const end of ['', '\n', '\r\n']) expect(await judge(text + end)).toBe('Valid');
    const { licence: read } = await verifyLicence(Buffer.from(text), [issuer.jwk], NOW);
    expect(read).toEqual(licence({}, NOW));
  });

  it('is refused with any single bit changed', async () => {
    const bytes = Buffer.from(`${good()}\n`);
    const accepted: number[] = [];
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      if ((await judge(flipped)) === 'Valid') accepted.push(bit);
    }
    expect(accepted).toEqual([]);
    expect(bytes.length).toBeGreaterThan(400);
  });

  it('is checked for form, key, signature and end, in this order', async () => {
    const old = licence({ issuedAt: '2020-01-01T00:00:00Z', expiresAt: '2021-01-01T00:00:00Z' });
    const [head, , signature] = good().split('.');
    const payload = (members: object) =>
      Buffer.from(JSON.stringify(licence(members, NOW))).toString('base64url');
    const cases: [string, string][] = [
      ['', 'Malformed'],
      ['a.b', 'Malformed'],
      ['{}', 'Malformed'],
      [issuer.issue(licence({}, NOW), { typ: 'JWT' }), 'Malformed'],
      [issuer.issue(licence({}, NOW), { typ: 'graticule-audit-checkpoint+jws' }), 'Malformed'],
      [issuer.issue(licence({}, NOW), { alg: 'none' }), 'Malformed'],
      [issuer.issue(licence({}, NOW), { alg: 'HS256' }), 'Malformed'],
      [issuer.issue(licence({}, NOW), { kid: undefined }), 'Malformed'],
      [issuer.issue(licence({}, NOW), { crit: ['b64'], b64: false }), 'Malformed'],
      [issuer.issue(licence({ edition: 'gold' }, NOW)), 'Malformed'],
      [issuer.issue(licence({ expiresAt: '2027-01-01' }, NOW)), 'Malformed'],
      [issuer.issue(licence({ expiresAt: '2027-99-01T00:00:00Z' }, NOW)), 'Malformed'],
      [issuer.issue(licence({ licensedTo: '' }, NOW)), 'Malformed'],
      [issuer.issue(licence({ terms: { maxSustainedServingUnits: 0 } }, NOW)), 'Malformed'],
      [`${good()}=`, 'Malformed'],
      [`${good()}\n\n`, 'Malformed'],
      [`${good()} ${'x'.repeat(70_000)}`, 'Malformed'],
      // A malformed payload comes before an unknown key, and that before a wrong signature and an end.
      [other.issue(licence({ edition: 'gold' }, NOW)), 'Malformed'],
      [other.issue(old), 'UnknownKey'],
      [issuer.issue(licence({}, NOW), { kid: 'issuer-2' }), 'UnknownKey'],
      [other.issue(old, { kid: 'issuer-1' }), 'InvalidSignature'],
      [`${head}.${payload({ edition: 'enterprise' })}.${signature}`, 'InvalidSignature'],
      [`${head}.${payload({})}.${Buffer.alloc(64).toString('base64url')}`, 'InvalidSignature'],
      [issuer.issue(old), 'Expired'],
      [good(), 'Valid'],
    ];
    for (const [text, state] of cases)
      expect([text.slice(0, 60), await judge(text)]).toEqual([text.slice(0, 60), state]);
  });

  it('ends at its instant, in whatever time zone that is written', async () => {
    const ends = issuer.issue(licence({ expiresAt: '2026-12-01T01:00:00+01:00' }, NOW));
    const midnight = Date.UTC(2026, 11, 1);
    expect([await judge(ends, midnight - 1), await judge(ends, midnight)]).toEqual(['Valid', 'Expired']);
    expect(await judge(ends, midnight + DAY_MS)).toBe('Expired');
  });
});
