import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nodeVersion } from '../../../src/core/kit/runtime.js';
import {
  AUTHORITY,
  type Authority,
  FOR_CLIENTS,
  type IssuedCertificate,
  openAuthority,
} from '../../support/authority.js';
import { startServer, type TestServer } from '../../support/server.js';

/** Certificates that callers must have, and those that the server asks for itself. */

const dataDir = mkdtempSync(join(tmpdir(), 'graticule-certificates-'));
const PROFILES = '/security/client-certificates/profiles';
let authority: Authority;
let root: IssuedCertificate;
let boss: IssuedCertificate;
let reader: IssuedCertificate;

beforeAll(async () => {
  authority = openAuthority();
  root = authority.issue('root', { extensions: [AUTHORITY] });
  const person = (name: string) =>
    authority.issue(name, {
      extensions: [FOR_CLIENTS, `subjectAltName=email:${name}@example.org`],
      by: root,
    });
  [boss, reader] = [person('boss'), person('reader')];
  const server = await start('Optional', '127.0.0.1');
  const made = async (path: string, body: object) => {
    const { status, json: answer } = await ask(server, 'POST', `/api/v1/admin${path}`, {}, body);
    expect(status).toBe(201);
    return answer['data'] as Record<string, string>;
  };
  const { profileId } = await made(PROFILES, {
    environmentId: 'default',
    customTrustAnchorCertificates: [root.pem],
  });
  const add = (name: string, role: string) =>
    made(`${PROFILES}/${profileId}/mappings`, {
      ...{ matchType: 'sanEmail', matchValue: `${name}@example.org`, principalId: name, roles: [role] },
    });
  await add('boss', 'administrator');
  await add('reader', 'reader');
  await server.stop();
}, 180_000);
afterAll(() => {
  rmSync(dataDir, { recursive: true, force: true });
  authority?.close();
});

const start = (mode: string, proxy: string): Promise<TestServer> =>
  startServer({
    sources: ['demo/data/years'],
    dataDir,
    env: {
      SVC_SERVER__TRUST_PROXY: proxy,
      SVC_SECURITY__CLIENT_CERTIFICATES__MODE: mode,
      SVC_SECURITY__CLIENT_CERTIFICATES__HEADER: 'Client-Cert',
    },
  });

/** A list of values gives a header that comes as often. */
type Headers = Record<string, string | string[]>;
function ask(server: TestServer, method: string, path: string, headers: Headers = {}, body?: object) {
  return new Promise<{ status: number; json: Record<string, unknown> }>((resolve, reject) => {
    const key = path.startsWith('/api') && headers['x-api-key'] === undefined ? server.adminKey : [];
    const all = { 'content-type': 'application/json', 'x-api-key': key, ...headers };
    const call = request(`${server.url}${path}`, { method, headers: all }, (response) => {
      json(response).then(
        (answer) => resolve({ status: response.statusCode!, json: answer as Record<string, unknown> }),
        reject,
      );
    });
    call.on('error', reject).end(body && JSON.stringify(body));
  });
}

const sequence = ({ pem }: IssuedCertificate) => `:${new X509Certificate(pem).raw.toString('base64')}:`;
const shown = (issued: IssuedCertificate) => ({ 'client-cert': sequence(issued) });
const codeOf = async (server: TestServer, path: string, headers: Headers = {}) => {
  const { status, json: answer } = await ask(server, 'GET', path, headers);
  return status === 200 ? 200 : [status, answer['code']];
};
const ADMIN = '/api/v1/admin/api-keys';
const DATA = '/ogc/features/collections?f=json';
const NOBODY = { 'x-api-key': [] };

describe('a management API for certificates alone', () => {
  it('takes a key with a certificate, or a certificate that may, and data is as before', async () => {
    const server = await start('RequiredForAdmin', '127.0.0.1');
    try {
      expect(await codeOf(server, ADMIN)).toEqual([401, 'client_certificate_missing']);
      expect(await codeOf(server, ADMIN, shown(boss))).toBe(200);
      expect(await codeOf(server, ADMIN, { ...NOBODY, ...shown(boss) })).toBe(200);
      const weak = { ...NOBODY, ...shown(reader) };
      expect(await codeOf(server, ADMIN, weak)).toEqual([403, 'client_certificate_insufficient_rbac']);
      const two = { 'client-cert': [sequence(boss), sequence(reader)] };
      expect(await codeOf(server, ADMIN, two)).toEqual([401, 'client_certificate_forwarding_invalid']);
      const other = { ...NOBODY, 'x-ssl-client-cert': encodeURIComponent(boss.pem) };
      expect(await codeOf(server, ADMIN, other)).toEqual([401, 'client_certificate_missing']);
      expect(await codeOf(server, DATA)).toBe(200);
      const { json: config } = await ask(server, 'GET', '/api/v1/admin/auth/config', NOBODY);
      expect(config['clientCertificates']).toEqual({
        ...{ mode: 'RequiredForAdmin', environmentId: 'default' },
        ...{ requiredForAdmin: true, requiredForNative: false, forwardedCertificateEnabled: true },
        ...{ supportedTransports: ['https'], acceptedIssuerSubjects: [], acceptedIssuerThumbprints: [] },
        expirationWarningThresholdDays: 30,
      });
    } finally {
      await server.stop();
    }
  });
});

describe('an environment for certificates alone', () => {
  it('lets nobody in without one, and believes no header of a stranger', async () => {
    const server = await start('RequiredForEnvironment', '192.0.2.1');
    try {
      for (const path of [DATA, ADMIN, '/', '/account'])
        expect(await codeOf(server, path)).toEqual([401, 'client_certificate_missing']);
      expect(await codeOf(server, DATA, shown(boss))).toEqual([
        403,
        'client_certificate_forwarding_untrusted',
      ]);
      const token = await ask(server, 'POST', '/oauth/token', shown(boss), {});
      expect([token.status, token.json['code']]).toEqual([403, 'client_certificate_forwarding_untrusted']);
      expect((await fetch(`${server.url}/healthz/ready`)).status).toBe(200);
      expect(await codeOf(server, '/api/v1/admin/auth/session', NOBODY)).toBe(200);
    } finally {
      await server.stop();
    }
  });
});

describe('headers of strangers', () => {
  it('are ignored where no certificate is required', async () => {
    const server = await start('Optional', '192.0.2.1');
    try {
      const { status, json: who } = await ask(server, 'GET', '/account', shown(boss));
      expect([status, who['kind']]).toEqual([200, 'anonymous']);
    } finally {
      await server.stop();
    }
  });
});

describe('TLS of the server', () => {
  const own = (name: string) =>
    authority.issue(name, { extensions: ['subjectAltName=IP:127.0.0.1'], by: root });
  const startWithTls = ({ cert, key }: IssuedCertificate) =>
    startServer({
      sources: ['demo/data/years'],
      dataDir,
      ca: root.pem,
      env: {
        ...{ SVC_SERVER__TLS__CERT: cert, SVC_SERVER__TLS__KEY: key },
        SVC_SERVER__TLS__CLIENT_CA: root.cert,
        SVC_SECURITY__CLIENT_CERTIFICATES__MODE: 'Optional',
      },
    });

  it.runIf(nodeVersion(process.version) > 20)('asks for certificates', async () => {
    const server = await startWithTls(own('tls'));
    const who = (by: object = {}) =>
      new Promise<unknown>((resolve, reject) => {
        get(`${server.url}/account`, { ca: root.pem, agent: false, ...by }, (response) => {
          json(response).then(resolve, reject);
        }).on('error', reject);
      });
    const readPair = ({ pem, key }: IssuedCertificate) => ({ cert: pem, key: readFileSync(key) });
    try {
      expect(await who()).toMatchObject({ kind: 'anonymous' });
      expect(await who(readPair(boss))).toMatchObject({ kind: 'certificate', id: 'boss' });
      const stranger = authority.issue('stranger');
      await expect(who(readPair(stranger))).rejects.toThrow();
      expect(await who({ headers: shown(boss) })).toMatchObject({ kind: 'anonymous' });
    } finally {
      await server.stop();
    }
  });

  it.runIf(nodeVersion(process.version) === 20)('is refused at the start where it cannot tell', async () => {
    await expect(startWithTls(own('tls'))).rejects.toThrow(/server\.tls\.clientCa: requires Node\.js 24\./);
  });
});
