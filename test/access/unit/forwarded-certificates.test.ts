import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CertificateMode } from '../../../src/core/access/client-certificates.js';
import { ClientCertificates } from '../../../src/gateway/auth/client-certificates.js';
import { parseForwardedCertificate } from '../../../src/gateway/auth/forwarded-certificates.js';
import { UnreadableCertificate } from '../../../src/services/access/certificates/encodings.js';
import { isSameName, plainName } from '../../../src/services/access/certificates/names.js';
import { AUTHORITY, type Authority, type IssuedCertificate, openAuthority } from '../../support/authority.js';

let authority: Authority;
let root: IssuedCertificate;
let leaf: IssuedCertificate;
let other: IssuedCertificate;

beforeAll(() => {
  authority = openAuthority();
  root = authority.issue('root', { extensions: [AUTHORITY] });
  leaf = authority.issue('leaf', { by: root });
  other = authority.issue('other', { by: root });
});
afterAll(() => authority.close());

const sequence = ({ pem }: IssuedCertificate) => `:${new X509Certificate(pem).raw.toString('base64')}:`;
const escaped = (...all: IssuedCertificate[]) => encodeURIComponent(all.map(({ pem }) => pem).join(''));
const subjects = ({ leaf: first, chain }: ReturnType<typeof parseForwardedCertificate>) =>
  [first, ...chain].map(({ subject }) => subject);

describe('headers of proxies', () => {
  it('are read as RFC 9440, nginx and Envoy write them', () => {
    expect(subjects(parseForwardedCertificate('Client-Cert', sequence(leaf)))).toEqual(['CN=leaf']);
    const chain = `${sequence(root)}, ${sequence(other)}`;
    expect(subjects(parseForwardedCertificate('Client-Cert', sequence(leaf), chain))).toEqual([
      'CN=leaf',
      'CN=root',
      'CN=other',
    ]);
    expect(subjects(parseForwardedCertificate('X-SSL-Client-Cert', escaped(leaf, root)))).toEqual([
      'CN=leaf',
      'CN=root',
    ]);
    const envoy = `By=spiffe://a;Hash=0f;Subject="CN=x, \\";Cert=y";Cert="${escaped(leaf)}";Chain="${escaped(leaf, root)}"`;
    expect(subjects(parseForwardedCertificate('X-Forwarded-Client-Cert', envoy))).toEqual([
      'CN=leaf',
      'CN=root',
    ]);
  });

  it('of Envoy count by the last element, which the nearest proxy wrote', () => {
    const both = `Cert="${escaped(other)}",Cert="${escaped(leaf)}"`;
    expect(subjects(parseForwardedCertificate('X-Forwarded-Client-Cert', both))).toEqual(['CN=leaf']);
    expect(() =>
      parseForwardedCertificate('X-Forwarded-Client-Cert', `Cert="${escaped(leaf)}",By=x`),
    ).toThrow(UnreadableCertificate);
  });

  it('are refused when they hold something else', () => {
    const long = Array(9).fill(sequence(root)).join(',');
    const wrong: [Parameters<typeof parseForwardedCertificate>[0], string, string?][] = [
      ['Client-Cert', ''],
      ['Client-Cert', sequence(leaf).slice(1)],
      ['Client-Cert', ':AAAA:'],
      ['Client-Cert', ':%%%:'],
      ['Client-Cert', sequence(leaf), long],
      ['Client-Cert', sequence(leaf), 'x'],
      ['X-SSL-Client-Cert', '%E0%A4%A'],
      [
        'X-SSL-Client-Cert',
        encodeURIComponent('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'),
      ],
      ['X-SSL-Client-Cert', escaped(...Array<IssuedCertificate>(10).fill(root))],
      ['X-Forwarded-Client-Cert', 'Cert="'],
      ['X-Forwarded-Client-Cert', '"\\'],
    ];
    for (const [header, value, chain] of wrong)
      expect(() => parseForwardedCertificate(header, value, chain), value).toThrow(UnreadableCertificate);
  });
});

describe('names', () => {
  it('are the same from either end, with what is escaped', () => {
    const name = plainName('C=CH\nO=Example\\, Ltd\nCN=R\\C3\\B6sti')!;
    expect(name).toBe('C=CH\nO=Example, Ltd\nCN=Rösti');
    expect(isSameName('CN=Rösti,O=Example\\, Ltd,C=CH', name)).toBe(true);
    expect(isSameName('c=CH, o=Example\\2C Ltd, cn=Rösti', name)).toBe(true);
    expect(isSameName('CN=Rösti,O=Example,C=CH', name)).toBe(false);
    expect(isSameName('O=Example\\, Ltd,CN=Rösti,C=CH', name)).toBe(false);
    expect(plainName('nobody')).toBeUndefined();
  });
});

describe('modes', () => {
  const request = (surface: string, permission = 'public', tag = 'x') => ({
    operation: { surface, permission, tag } as never,
    isForwarded: true,
    peerCertificate: '',
    header: () => undefined,
    eachHeader: () => {},
  });
  const isRequired = (mode: Exclude<CertificateMode, 'Disabled'>, x: ReturnType<typeof request>) => {
    const certificates = new ClientCertificates({
      ...{ mode, header: 'Client-Cert' as const, fromTls: false },
      judge: () => expect.fail(),
      principalOf: () => expect.fail(),
      expiring: () => {},
    });
    try {
      return certificates.of(x) !== undefined;
    } catch (error) {
      expect(error).toMatchObject({ code: 'client_certificate_missing', status: 401 });
      return true;
    }
  };

  it('require certificates where they say', () => {
    const requests = {
      data: request('tiles'),
      streams: request('streaming'),
      page: request('site'),
      admin: request('admin', 'admin:jobs:read'),
      users: request('site', 'admin:users:write'),
      signIn: request('admin', 'public', 'Security and admin auth'),
      profiles: request('admin', 'admin:client-certificates:read', 'Security and admin auth'),
      probe: request('operations'),
    };
    const required = (mode: Exclude<CertificateMode, 'Disabled'>) =>
      Object.entries(requests).flatMap(([name, x]) => (isRequired(mode, x) ? [name] : []));
    expect(required('Optional')).toEqual([]);
    expect(required('RequiredForNative')).toEqual(['data', 'streams']);
    expect(required('RequiredForAdmin')).toEqual(['admin', 'users', 'profiles']);
    expect(required('RequiredForEnvironment')).toEqual([
      ...['data', 'streams', 'page', 'admin', 'users', 'profiles'],
    ]);
  });
});
