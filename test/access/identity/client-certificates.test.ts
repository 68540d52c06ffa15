import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:https';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import {
  AUTHORITY,
  type Authority,
  FOR_CLIENTS,
  type IssuedCertificate,
  openAuthority,
} from '../../support/authority.js';
import { startNginx, type TestNginx } from '../../support/nginx.js';
import { startServer, type TestServer } from '../../support/server.js';

/** Client certificates: whom they are believed to be, and where they may come from. */

let authority: Authority;
let root: IssuedCertificate;
let stranger: IssuedCertificate;
let ann: IssuedCertificate;
let server: TestServer;

const PROFILES = '/security/client-certificates/profiles';
const ANN = 'spiffe://example.org/ann';

beforeAll(async () => {
  authority = openAuthority();
  root = authority.issue('root', { subject: '/C=CH/O=Example, Ltd/CN=Root', extensions: [AUTHORITY] });
  stranger = authority.issue('stranger', { extensions: [AUTHORITY] });
  ann = person('ann', ANN);
  server = await startServer({
    sources: ['demo/data/years'],
    env: {
      SVC_SERVER__PROCESSES: '2',
      SVC_SERVER__TRUST_PROXY: '127.0.0.1',
      SVC_SECURITY__CLIENT_CERTIFICATES__MODE: 'Optional',
      SVC_SECURITY__CLIENT_CERTIFICATES__HEADER: 'X-SSL-Client-Cert',
    },
  });
}, 180_000);
afterAll(async () => {
  await server?.stop();
  authority?.close();
});

function person(name: string, uri: string, wish: Parameters<Authority['issue']>[1] = {}): IssuedCertificate {
  const extensions = [FOR_CLIENTS, `subjectAltName=URI:${uri}`];
  return authority.issue(name, { extensions, by: root, ...wish });
}
const fingerprint = ({ pem }: IssuedCertificate) =>
  new X509Certificate(pem).fingerprint256.replaceAll(':', '').toLowerCase();

type Json = Record<string, unknown> & { data: Record<string, unknown>; errors?: { name: string }[] };
async function admin(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`${server.url}/api/v1/admin${path}`, {
    method,
    headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, json: (await response.json()) as Json };
}
type Ids = Record<'profileId' | 'mappingId' | 'revocationId', string>;
async function made(path: string, body: object): Promise<Ids> {
  const { status, json } = await admin('POST', path, body);
  expect([status, json]).toEqual([201, expect.anything()]);
  return json.data as Ids;
}
const profile = (members: object = {}) =>
  made(PROFILES, {
    environmentId: 'default',
    requireChainTrust: true,
    customTrustAnchorCertificates: [root.pem],
    ...members,
  });
const mapping = (profileId: string, members: object = {}) =>
  made(`${PROFILES}/${profileId}/mappings`, {
    ...{ matchType: 'sanUri', matchValue: ANN, principalId: 'ann', roles: ['editor'] },
    ...members,
  });
const disable = (profileId: string) => admin('DELETE', `${PROFILES}/${profileId}`);

async function validate(certificate: string, members: object = {}) {
  const { status, json } = await admin('POST', '/security/client-certificates/validate', {
    certificate,
    ...members,
  });
  expect(status).toBe(200);
  return json.data;
}
const requestCode = async (
  issued: IssuedCertificate,
  profileId: string,
  chain: readonly IssuedCertificate[] = [],
) => (await validate([issued, ...chain].map(({ pem }) => pem).join('\n'), { profileId }))['code'];

/** A new connection each time, so that both gateways are met. */
async function ask(path: string, headers: Record<string, string> = {}, url = server.url) {
  const response = await fetch(url + path, { headers: { connection: 'close', ...headers } });
  return { status: response.status, json: (await response.json()) as Json };
}
const shown = ({ pem }: IssuedCertificate) => ({ 'x-ssl-client-cert': encodeURIComponent(pem) });
const whoAmI = (issued: IssuedCertificate) => ask('/account', shown(issued));

describe('trust profiles', () => {
  it('have the defaults of the interface, entity tags and revisions, and are switched off rather than deleted', async () => {
    const created = await admin('POST', PROFILES, { environmentId: 'default' });
    const { profileId } = created.json.data as { profileId: string };
    expect([created.status, created.headers.get('location')]).toEqual([
      201,
      `/api/v1/admin${PROFILES}/${profileId}`,
    ]);
    expect(created.json.data).toEqual({
      ...{ profileId, environmentId: 'default', displayName: 'default', enabled: true, revision: 1 },
      ...{ acceptedIssuerThumbprints: [], acceptedIssuerSubjects: [], allowSubjectFallback: false },
      allowedSanTypes: ['sanUri', 'sanEmail', 'sanDns'],
      ...{ requireClientAuthenticationEku: true, requireChainTrust: false, chainRevocationMode: 'NoCheck' },
      ...{ expirationWarningThresholdDays: 30, rotationGracePeriodDays: 0 },
      ...{ customTrustAnchorCertificates: [], principalMappings: [], revocations: [] },
    });
    const etag = created.headers.get('etag')!;
    const path = `${PROFILES}/${profileId}`;
    const changed = await admin('PUT', path, { displayName: 'Field' }, { 'if-match': etag });
    expect(changed.json.data).toMatchObject({ displayName: 'Field', environmentId: 'default', revision: 2 });
    expect((await admin('PUT', path, { displayName: 'x' }, { 'if-match': etag })).status).toBe(412);
    expect((await admin('GET', path)).json.data).toMatchObject({ displayName: 'Field' });
    const listed = (await admin('GET', PROFILES)).json.data as unknown as { profileId: string }[];
    expect(listed.some((one) => one.profileId === profileId)).toBe(true);
    expect((await disable(profileId)).json.data).toMatchObject({ profileId, enabled: false, revision: 3 });
    expect((await admin('GET', path)).json.data).toMatchObject({ enabled: false });
    for (const method of ['GET', 'PUT', 'DELETE'])
      expect((await admin(method, `${PROFILES}/none`, method === 'PUT' ? {} : undefined)).status).toBe(404);
  });

  it('refuse what they cannot do, and name it', async () => {
    const wrong: [object, string][] = [
      [{ chainRevocationMode: 'Online' }, '/chainRevocationMode'],
      [{ chainRevocationMode: 'Offline' }, '/chainRevocationMode'],
      [{ acceptedIssuerThumbprints: ['abc'] }, '/acceptedIssuerThumbprints/0'],
      [{ acceptedIssuerSubjects: ['nobody'] }, '/acceptedIssuerSubjects/0'],
      [{ customTrustAnchorCertificates: ['nonsense'] }, '/customTrustAnchorCertificates/0'],
      [{ requireChainTrust: true, acceptedIssuerSubjects: ['CN=Root'] }, '/customTrustAnchorCertificates'],
      [{ allowedSanTypes: ['sanIp'] }, '/allowedSanTypes/0'],
    ];
    for (const [members, name] of wrong) {
      const { status, json } = await admin('POST', PROFILES, { environmentId: 'default', ...members });
      expect([status, json.errors?.[0]?.name]).toEqual([400, name]);
    }
    expect((await admin('POST', PROFILES, {})).status).toBe(400);
  });

  it('are made once for an idempotency key, and audited', async () => {
    const once = { 'idempotency-key': 'profile-of-a-client' };
    const [one, other] = [
      await admin('POST', PROFILES, { environmentId: 'default' }, once),
      await admin('POST', PROFILES, { environmentId: 'default' }, once),
    ];
    expect(other.json.data['profileId']).toBe(one.json.data['profileId']);
    await disable(one.json.data['profileId'] as string);
    const { json } = await admin('GET', '/observability/audit?pageSize=20');
    expect(JSON.stringify(json)).toContain('admin.clientCertificates.createClientCertificateTrustProfile');
  });
});

describe('mappings and revocations', () => {
  it('are checked, changed under their etag, and switched off or removed', async () => {
    const { profileId } = await profile();
    const { profileId: other } = await profile();
    const path = `${PROFILES}/${profileId}/mappings`;
    const created = await admin('POST', path, {
      ...{ matchType: 'sanDns', matchValue: 'Gate.Example.ORG', principalId: 'gate', roles: ['reader'] },
      notAfter: '2999-01-01T00:00:00Z',
    });
    const { mappingId } = created.json.data as { mappingId: string };
    expect(created.json.data).toEqual({
      ...{ mappingId, matchType: 'sanDns', matchValue: 'gate.example.org', principalId: 'gate' },
      ...{ displayName: 'gate', roles: ['reader'], tenantId: null, environmentScopes: [], enabled: true },
      ...{ notBefore: null, notAfter: '2999-01-01T00:00:00.000Z', revision: 1 },
    });
    const same = { matchType: 'sanDns', matchValue: 'gate.example.org', principalId: 'x' };
    expect((await admin('POST', path, same)).json.errors?.[0]?.name).toBe('/matchValue');
    const wrong: [object, string][] = [
      [{ matchType: 'fingerprintSha256', matchValue: 'x' }, '/matchValue'],
      [{ matchType: 'sanEmail', matchValue: 'nobody' }, '/matchValue'],
      [{ notBefore: '2030-01-01T00:00:00Z', notAfter: '2029-01-01T00:00:00Z' }, '/notAfter'],
    ];
    for (const [members, name] of wrong) {
      const { status, json } = await admin('POST', path, { ...same, matchValue: 'b', ...members });
      expect([status, json.errors?.[0]?.name]).toEqual([400, name]);
    }
    const free = await admin('POST', `${PROFILES}/${other}/mappings`, {
      ...{ ...same, matchValue: 'free', roles: ['later'] },
    });
    expect(free).toMatchObject({ status: 201, json: { data: { roles: ['later'] } } });
    const change = { ...same, roles: ['editor'] };
    const stale = await admin('PUT', `${path}/${mappingId}`, change, { 'if-match': '"no"' });
    expect(stale.status).toBe(412);
    const etag = created.headers.get('etag')!;
    const changed = await admin('PUT', `${path}/${mappingId}`, change, { 'if-match': etag });
    expect(changed.json.data).toMatchObject({ principalId: 'x', roles: ['editor'], revision: 2 });
    expect((await admin('PUT', `${PROFILES}/${other}/mappings/${mappingId}`, change)).status).toBe(404);
    const removed = await admin('DELETE', `${path}/${mappingId}`);
    expect(removed.json.data).toMatchObject({ mappingId, enabled: false });
    expect((await admin('GET', path)).json.data).toMatchObject([{ mappingId, enabled: false }]);
    expect((await admin('GET', `${PROFILES}/none/mappings`)).status).toBe(404);

    const list = `${PROFILES}/${profileId}/revocations`;
    const revoked = await admin('POST', list, { revocationId: 'one', fingerprintSha256: fingerprint(ann) });
    expect(revoked.json.data).toMatchObject({
      ...{ revocationId: 'one', fingerprintSha256: fingerprint(ann), issuer: null, serialNumber: null },
      ...{ reason: 'unspecified', enabled: true, actor: expect.stringContaining('api-key:') },
    });
    const again = { revocationId: 'one', fingerprintSha256: fingerprint(ann) };
    expect((await admin('POST', list, again)).status).toBe(409);
    expect((await admin('POST', list, { issuer: 'CN=Root' })).status).toBe(400);
    expect((await admin('POST', list, { issuer: 'CN=Root', serialNumber: 'xyz' })).status).toBe(400);
    expect((await admin('GET', list)).json.data).toHaveLength(1);
    expect((await admin('DELETE', `${list}/one`)).json).toMatchObject({ success: true, data: null });
    expect((await admin('DELETE', `${list}/one`)).status).toBe(404);
    await disable(profileId);
    await disable(other);
  });

  it('change the tag of the profile that shows them, and only a present tag changes the profile', async () => {
    const { profileId } = await profile();
    const path = `${PROFILES}/${profileId}`;
    const tagOf = async (at: string) => (await admin('GET', at)).headers.get('etag')!;
    const gate = { matchType: 'sanDns', matchValue: 'tagged.example.org', principalId: 'gate' };
    let mappingId = '';
    const changes: [string, () => Promise<{ status: number }>][] = [
      [
        'add a mapping',
        async () => {
          const added = await admin('POST', `${path}/mappings`, gate);
          mappingId = (added.json.data as { mappingId: string }).mappingId;
          return added;
        },
      ],
      ['change it', () => admin('PUT', `${path}/mappings/${mappingId}`, { ...gate, principalId: 'x' })],
      ['disable it', () => admin('DELETE', `${path}/mappings/${mappingId}`)],
      [
        'revoke',
        () =>
          admin('POST', `${path}/revocations`, { revocationId: 'r', fingerprintSha256: fingerprint(ann) }),
      ],
      ['remove the revocation', () => admin('DELETE', `${path}/revocations/r`)],
    ];
    for (const [name, change] of changes) {
      const stale = { 'if-match': await tagOf(path) };
      expect([name, (await change()).status < 300]).toEqual([name, true]);
      const answers = [
        await admin('PUT', path, { displayName: name }, stale),
        await admin('DELETE', path, undefined, stale),
      ];
      expect([name, ...answers.map(({ status }) => status)]).toEqual([name, 412, 412]);
      const present = { 'if-match': await tagOf(path) };
      expect((await admin('PUT', path, { displayName: name }, present)).status).toBe(200);
    }
    const mapping = { 'if-match': await tagOf(`${path}/mappings/${mappingId}`) };
    expect((await admin('PUT', `${path}/mappings/${mappingId}`, gate, mapping)).status).toBe(200);
    expect((await admin('PUT', `${path}/mappings/${mappingId}`, gate, mapping)).status).toBe(412);
    expect((await admin('GET', `${path}/mappings/none`)).status).toBe(404);
    await disable(profileId);
  });

  it('give no rights beyond those of who adds them', async () => {
    const { profileId } = await profile();
    await mapping(profileId, { matchValue: 'spiffe://example.org/boss', roles: ['administrator'] });
    const { json } = await admin('POST', '/api-keys', {
      name: 'weak',
      permissions: ['admin:client-certificates:write'],
    });
    const weak = { 'x-api-key': (json.data as { key: string }).key };
    const body = { matchType: 'sanUri', matchValue: 'urn:x', principalId: 'x', roles: ['administrator'] };
    expect((await admin('POST', `${PROFILES}/${profileId}/mappings`, body, weak)).status).toBe(403);
    const own = { customTrustAnchorCertificates: [stranger.pem] };
    expect((await admin('PUT', `${PROFILES}/${profileId}`, own, weak)).status).toBe(403);
    await disable(profileId);
  });
});

describe('validate', () => {
  it('says who comes with a certificate, in each encoding', async () => {
    const { profileId } = await profile();
    const { mappingId } = await mapping(profileId);
    const expected = {
      ...{ valid: true, code: 'success', detail: expect.any(String), environmentId: 'default' },
      ...{ trustProfileId: profileId, mappingId, principalId: 'ann', fingerprintSha256: fingerprint(ann) },
      daysUntilExpiry: 364,
    };
    const der = new X509Certificate(ann.pem).raw.toString('base64');
    const texts = { pem: ann.pem, urlEncodedPem: encodeURIComponent(ann.pem), base64Der: der };
    for (const [encoding, certificate] of Object.entries(texts))
      expect(await validate(certificate, { encoding })).toEqual(expected);
    const unknown = { certificate: ann.pem, profileId: 'none' };
    const refused = await admin('POST', '/security/client-certificates/validate', unknown);
    expect([refused.status, refused.json.errors?.[0]?.name]).toEqual([400, '/profileId']);
    const encoding = { certificate: ann.pem, encoding: 'der' };
    expect((await admin('POST', '/security/client-certificates/validate', encoding)).status).toBe(400);
    await disable(profileId);
  });

  it('says of each fault which it is', async () => {
    const { profileId } = await profile({ rotationGracePeriodDays: 2 });
    await mapping(profileId);
    const { profileId: elsewhere } = await profile({ environmentId: 'production' });
    await mapping(elsewhere);
    await mapping(profileId, { matchValue: 'urn:elsewhere', environmentScopes: ['production'] });
    await mapping(profileId, { matchValue: 'urn:powerless', roles: [] });
    await mapping(profileId, { matchValue: 'urn:later', notBefore: '2999-01-01T00:00:00Z' });
    const expired = person('expired', ANN, { days: [-30, -10] });
    const gone = person('gone', ANN);
    await made(`${PROFILES}/${profileId}/revocations`, {
      issuer: 'CN=Root,O=Example\\, Ltd,C=CH',
      serialNumber: new X509Certificate(gone.pem).serialNumber,
      reason: 'keyCompromise',
    });
    const forServers = ['extendedKeyUsage=serverAuth', `subjectAltName=URI:${ANN}`];
    const cases: Record<string, IssuedCertificate> = {
      success: ann,
      client_certificate_expired: expired,
      client_certificate_not_yet_valid: person('early', ANN, { days: [2, 30] }),
      client_certificate_untrusted_issuer: person('other', ANN, { by: stranger }),
      client_certificate_revoked: gone,
      client_certificate_missing_identity: authority.issue('nameless', { by: root }),
      client_certificate_unmapped_identity: person('bob', 'spiffe://example.org/bob'),
      client_certificate_invalid_eku: person('web', ANN, { extensions: forServers }),
      client_certificate_wrong_environment: person('away', 'urn:elsewhere'),
      client_certificate_insufficient_rbac: person('powerless', 'urn:powerless'),
    };
    // A profile that names an issuer and gets another is asked for the issuer first.
    const path = `${PROFILES}/${profileId}`;
    await admin('PUT', path, { acceptedIssuerSubjects: ['C=CH,O=Example\\, Ltd,CN=Root'] });
    for (const [code, issued] of Object.entries(cases))
      expect([issued.name, await requestCode(issued, profileId)]).toEqual([issued.name, code]);
    expect(await requestCode(person('later', 'urn:later'), profileId)).toBe(
      'client_certificate_unmapped_identity',
    );
    // One of another authority of the same name.
    const forger = authority.issue('forger', {
      subject: '/C=CH/O=Example, Ltd/CN=Root',
      extensions: [AUTHORITY],
    });
    const forged = person('forged', ANN, { by: forger });
    expect(await requestCode(forged, profileId, [forger])).toBe('client_certificate_untrusted_chain');
    expect(await requestCode(ann, elsewhere)).toBe('client_certificate_wrong_environment');
    expect((await validate(' '))['code']).toBe('client_certificate_missing');
    expect((await validate('nonsense'))['code']).toBe('client_certificate_forwarding_invalid');
    // One that ended yesterday is let in for its successor to be put in place.
    const rotated = await validate(person('rotated', ANN, { days: [-30, -1] }).pem, { profileId });
    expect(rotated).toMatchObject({ valid: true });
    expect(rotated['daysUntilExpiry']).toBeLessThan(0);
    await disable(profileId);
    await disable(elsewhere);
    expect(await requestCode(ann, profileId)).toBe('client_certificate_untrusted_issuer');
  });

  it('takes each kind of name that the profile allows, and the subject where there is none', async () => {
    const { profileId } = await profile({
      allowedSanTypes: ['sanEmail', 'sanDns'],
      allowSubjectFallback: true,
    });
    const add = (matchType: string, matchValue: string) =>
      mapping(profileId, { matchType, matchValue, principalId: matchType });
    const named = (name: string, san: string) =>
      authority.issue(name, { by: root, extensions: [FOR_CLIENTS, `subjectAltName=${san}`] });
    await add('sanEmail', 'Bob@example.org');
    await add('sanDns', 'gate.example.org');
    await add('subject', 'CN=meter,O=Field');
    await add('fingerprintSha256', fingerprint(ann).toUpperCase());
    const findPrincipal = async (one: IssuedCertificate) =>
      (await validate(one.pem, { profileId }))['principalId'];
    expect(await findPrincipal(named('mail', 'email:Bob@EXAMPLE.org'))).toBe('sanEmail');
    expect(await findPrincipal(named('mail2', 'email:bob@example.org'))).toBeNull();
    expect(await findPrincipal(named('dns', 'DNS:GATE.example.org'))).toBe('sanDns');
    expect(await findPrincipal(ann)).toBe('fingerprintSha256');
    const subject = '/O=Field/CN=meter';
    expect(await findPrincipal(authority.issue('meter', { subject, by: root }))).toBe('subject');
    // A name within a name is no name of its own.
    const tricky = authority.issue('tricky', { subject: '/CN=x\\, O=Field\\, CN=meter', by: root });
    expect(await findPrincipal(tricky)).toBeNull();
    await disable(profileId);
  });

  it('follows chains as far as their authorities may go', async () => {
    const middle = authority.issue('middle', {
      extensions: ['basicConstraints=critical,CA:TRUE,pathlen:0'],
      by: root,
    });
    const lower = authority.issue('lower', { extensions: [AUTHORITY], by: middle });
    const { profileId } = await profile();
    await mapping(profileId);
    const [near, far] = [person('near', ANN, { by: middle }), person('far', ANN, { by: lower })];
    expect(await requestCode(near, profileId, [middle])).toBe('success');
    expect(await requestCode(near, profileId)).toBe('client_certificate_untrusted_chain');
    expect(await requestCode(far, profileId, [lower, middle])).toBe('client_certificate_untrusted_chain');
    // Who is no authority signs nothing.
    const own = person('own', ANN, { by: ann });
    expect(await requestCode(own, profileId, [ann])).toBe('client_certificate_untrusted_chain');
    const pinned = { customTrustAnchorCertificates: [], acceptedIssuerThumbprints: [fingerprint(middle)] };
    await admin('PUT', `${PROFILES}/${profileId}`, pinned);
    expect(await requestCode(near, profileId, [middle])).toBe('success');
    expect(await requestCode(near, profileId)).toBe('client_certificate_untrusted_issuer');
    await made(`${PROFILES}/${profileId}/revocations`, { fingerprintSha256: fingerprint(middle) });
    expect(await requestCode(near, profileId, [middle])).toBe('client_certificate_revoked');
    await disable(profileId);
  });
});

describe('callers behind a proxy', () => {
  it('are those of the mapping on every interface, and nobody else within a second', async () => {
    const { profileId } = await profile();
    const { mappingId } = await mapping(profileId);
    expect((await whoAmI(ann)).json).toMatchObject({
      ...{ isAuthenticated: true, kind: 'certificate', id: 'ann', name: 'ann', roles: ['editor'] },
    });
    const closed = { allowAnonymous: false, allowedRoles: ['editor'] };
    await admin('PUT', '/services/default/access-policy', closed);
    const items = '/ogc/features/collections?f=json';
    const seen = async (headers = {}) =>
      ((await ask(items, headers)).json as unknown as { collections: unknown[] }).collections.length;
    expect(await seen()).toBe(0);
    const { status, json } = await ask('/api/v1/admin/api-keys', shown(ann));
    expect([status, json['code']]).toEqual([403, 'client_certificate_insufficient_rbac']);
    const { json: audit } = await admin('GET', '/observability/audit?pageSize=50');
    expect(JSON.stringify(audit)).toContain('"scheme":"certificate"'.replaceAll('"', '\\"'));
    // Credentials of its own go before the certificate.
    const both = await ask('/account', { ...shown(ann), 'x-api-key': server.adminKey });
    expect(both.json).toMatchObject({ kind: 'api-key' });
    const cookie = await ask('/account', { ...shown(ann), cookie: 'other=1; graticule=ended' });
    expect(cookie.json).toMatchObject({ id: 'ann' });

    await admin('DELETE', `${PROFILES}/${profileId}/mappings/${mappingId}`);
    const answers = await Promise.all(Array.from({ length: 8 }, () => whoAmI(ann)));
    expect(answers.map((one) => [one.status, one.json['code']])).toEqual(
      Array(8).fill([403, 'client_certificate_unmapped_identity']),
    );
    await admin('PUT', '/services/default/access-policy', { allowAnonymous: true, allowedRoles: [] });
    await disable(profileId);
  });

  it('are cut off from streams when their certificate is revoked', async () => {
    const { profileId } = await profile();
    await mapping(profileId);
    const url = `${server.url.replace('http', 'ws')}/api/v1/streaming/features?serviceId=default`;
    const stream = new WebSocket(url, { headers: shown(ann) });
    await new Promise((resolve, reject) => stream.once('message', resolve).once('error', reject));
    const ended = new Promise((resolve) => stream.once('close', resolve));
    const list = `${PROFILES}/${profileId}/revocations`;
    const { revocationId } = await made(list, { fingerprintSha256: fingerprint(ann) });
    await ended;
    const { status, json } = await whoAmI(ann);
    expect([status, json['code']]).toEqual([401, 'client_certificate_revoked']);
    await admin('DELETE', `${list}/${revocationId}`);
    expect((await whoAmI(ann)).status).toBe(200);
    await disable(profileId);
  });

  it('change nothing at the behest of the page of another site', async () => {
    const { profileId } = await profile();
    await mapping(profileId, { roles: ['administrator'] });
    const post = async (headers: Record<string, string>) => {
      const response = await fetch(`${server.url}/api/v1/admin/api-keys`, {
        method: 'POST',
        headers: { ...shown(ann), 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ name: 'x', permissions: ['admin:jobs:read'] }),
      });
      return response.status;
    };
    expect(await post({ origin: 'https://evil.example' })).toBe(403);
    expect(await post({ 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await post({ origin: new URL(server.url).origin })).toBe(201);
    expect(await post({})).toBe(201);
    await disable(profileId);
  });

  it('are told of in time that their certificate ends', async () => {
    const { profileId } = await profile();
    await mapping(profileId);
    const soon = person('soon', ANN, { days: [-1, 10] });
    expect((await whoAmI(soon)).status).toBe(200);
    await expect.poll(() => server.log(), { timeout: 30_000 }).toContain(fingerprint(soon));
    expect(server.log()).toContain('"@i":1605');
    await disable(profileId);
  });

  it('are refused with a header that is half theirs, or unreadable', async () => {
    const broken = await ask('/account', { 'x-ssl-client-cert': 'nonsense' });
    expect([broken.status, broken.json['code']]).toEqual([401, 'client_certificate_forwarding_invalid']);
  });

  it('come through nginx, which takes away what they send themselves', async () => {
    const { profileId } = await profile();
    await mapping(profileId);
    const own = authority.issue('server', {
      extensions: ['subjectAltName=IP:127.0.0.1', 'extendedKeyUsage=serverAuth'],
      by: root,
    });
    const nginx: TestNginx = await startNginx(nginxBlock(own, root), server.url);
    try {
      const through = (path: string, by?: IssuedCertificate, headers: Record<string, string> = {}) =>
        new Promise<Json>((resolve, reject) => {
          const shownCertificate = by ? { cert: by.pem, key: readFileSync(by.key) } : {};
          const options = { ca: root.pem, agent: new Agent(), headers, ...shownCertificate };
          get(nginx.url.replace('http:', 'https:') + path, options, (response) => {
            json(response).then((body) => resolve(body as Json), reject);
          }).on('error', reject);
        });
      expect(await through('/account', ann)).toMatchObject({ kind: 'certificate', id: 'ann' });
      expect(await through('/account')).toMatchObject({ kind: 'anonymous' });
      expect(await through('/account', undefined, shown(ann))).toMatchObject({ kind: 'anonymous' });
      const bob = person('bob2', 'spiffe://example.org/bob');
      expect(await through('/account', bob, shown(ann))).toMatchObject({
        code: 'client_certificate_unmapped_identity',
      });
    } finally {
      await nginx.stop();
      await disable(profileId);
    }
  });
});

/** The server block of docs/how-to/access/client-certificates.md. */
function nginxBlock(own: IssuedCertificate, clients: IssuedCertificate): string {
  const page = readFileSync('docs/how-to/access/client-certificates.md', 'utf8');
  const block = /```nginx\n([\s\S]*?)```/.exec(page)![1]!;
  return block
    .replace('/etc/graticule/server.pem', own.cert)
    .replace('/etc/graticule/server.key', own.key)
    .replace('/etc/graticule/clients.pem', clients.cert);
}
