import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import Database from '../../src/native/sqlite.js';
import { startServer, type TestServer } from '../support/server.js';

interface Control {
  readonly controlId: string;
  readonly title: string;
  readonly status: string;
  readonly gaps: readonly string[];
  readonly evidence: readonly { claim: string; detail: string; source: string; status: string }[];
}

const BASE = '/api/v1/admin';

describe('the compliance dashboard', () => {
  const folder = mkdtempSync(join(tmpdir(), 'graticule-compliance-'));
  let server: TestServer;
  const call = async (path: string, init: RequestInit & { json?: unknown } = {}) => {
    const { json, ...rest } = init;
    const response = await fetch(`${server.url}${BASE}${path}`, {
      ...rest,
      headers: {
        'x-api-key': server.adminKey,
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...rest.headers,
      },
      ...(json === undefined ? {} : { method: 'POST', body: JSON.stringify(json) }),
    });
    return response;
  };
  const dashboard = async () => (await (await call('/compliance/dashboard')).json()).data;
  const control = async (id: string): Promise<Control> =>
    (await dashboard()).controls.find(({ controlId }: Control) => controlId === id);
  const start = (env: Record<string, string> = {}) =>
    startServer({ sources: [], dataDir: join(folder, 'data'), env });

  beforeAll(async () => {
    server = await start();
  }, 120_000);
  afterAll(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  /** Starts the server again over the same state. */
  const restart = async (env: Record<string, string>) => {
    await server.stop();
    server = await start(env);
  };

  it('has evidence for everything that an empty installation implements', async () => {
    const { summary, controls, residency, encryption, serverVersion } = await dashboard();
    expect(serverVersion).toMatch(/^\d+\.\d+\.\d+$/);
    for (const { controlId, status, evidence, gaps } of controls as Control[]) {
      if (status === 'NotApplicable') continue;
      expect([controlId, evidence.length > 0]).toEqual([controlId, true]);
      expect([controlId, gaps.length > 0]).toEqual([controlId, status !== 'Implemented']);
      if (status === 'Implemented') for (const one of evidence) expect(one.status).toBe('Implemented');
    }
    const count = (status: string) => controls.filter((one: Control) => one.status === status).length;
    expect(summary).toMatchObject({
      implemented: count('Implemented'),
      partiallyImplemented: count('PartiallyImplemented'),
      notImplemented: count('NotImplemented'),
      notApplicable: 4,
      unknown: count('Unknown'),
    });
    expect(residency).toEqual({ enforced: false, primaryRegion: '', allowedRegions: [] });
    expect(encryption).toMatchObject({ activeKeyVersion: 0, fipsMode: false, fipsSource: 'unverified' });
    expect(encryption.algorithms).not.toContain('AES-256-GCM');
    expect((await control('AC-3')).status).toBe('Implemented');
    expect((await control('SC-12')).gaps.join()).toMatch(/security\.stateKey is not set/);
    expect((await control('A1.2')).status).toBe('NotImplemented');
  });

  it('flips with accounts and providers', async () => {
    expect((await control('IA-2')).status).toBe('NotImplemented');
    const user = await fetch(`${server.url}/api/v1/users`, {
      method: 'POST',
      headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'ada', password: 'a long pass phrase', roles: ['reader'] }),
    });
    expect(user.status).toBe(201);
    expect((await control('IA-2')).status).toBe('PartiallyImplemented');
    const created = await call('/oidc/providers', {
      json: {
        name: 'corp',
        providerType: 'Generic',
        authority: 'http://127.0.0.1:9',
        clientId: 'graticule',
        roleMapping: { Staff: 'reader' },
      },
    });
    expect(created.status, await created.clone().text()).toBe(201);
    const { data } = await created.json();
    expect((await control('IA-2')).status).toBe('Implemented');
    await call(`/oidc/providers/${data.providerId}`, { method: 'DELETE' });
    expect(await control('IA-2')).toMatchObject({
      status: 'PartiallyImplemented',
      gaps: [expect.stringContaining('No OpenID Connect provider')],
    });
  }, 60_000);

  it('flips with backups', async () => {
    const backup = () => {
      const file = join(folder, `${Date.now()}.state`);
      const args = ['dist/cli/main.js', 'state', 'backup', file, '--data-dir', join(folder, 'data')];
      execFileSync(process.execPath, args);
    };
    const found = async () => (await control('A1.2')).evidence[0]!.status;
    expect(await found()).toBe('NotImplemented');
    backup();
    expect(await found()).toBe('Implemented');
    const verify = await (await call('/observability/audit/verify')).json();
    expect(verify).toMatchObject({ verified: true });
  }, 60_000);

  it('flips with settings', async () => {
    const statuses = async (...ids: string[]) =>
      Promise.all(ids.map(async (id) => (await control(id)).status));
    await restart({
      SVC_SECURITY__STATE_KEY: 'a key for the state of this test',
      SVC_RELEASES__KEY: 'a key for the releases of this test',
      SVC_PROCESSES__APPROVAL: '["geometry.buffer"]',
      SVC_ALERTS__NOTICES__CHANNELS: '["websocket"]',
      SVC_COMPLIANCE__PRIMARY_REGION: 'eu-central-1',
      SVC_COMPLIANCE__ALLOWED_REGIONS: '["eu-central-1","eu-west-1"]',
    });
    expect(await statuses('CC8.1', 'CM-3', 'CC7.2', 'SC-28', 'SC-12')).toEqual([
      ...['Implemented', 'Implemented', 'Implemented', 'PartiallyImplemented', 'PartiallyImplemented'],
    ]);
    const rotated = await (await call('/compliance/encryption/rotate-key', { method: 'POST' })).json();
    expect(rotated.data).toMatchObject({ succeeded: true, previousVersion: 0, newVersion: 1 });
    expect(await statuses('SC-12')).toEqual(['Implemented']);
    expect((await dashboard()).encryption).toMatchObject({
      ...{ activeKeyVersion: 1, retainedKeyVersions: 1, lastRotationAt: null },
      algorithms: expect.arrayContaining(['AES-256-GCM']),
    });
    // Both operations are one service.
    const other = await (await call('/connections/encryption/rotate-key', { method: 'POST' })).json();
    expect(other.data).toMatchObject({ previousKeyVersion: 1, newKeyVersion: 2 });
    const { encryption } = await dashboard();
    expect(encryption).toMatchObject({ activeKeyVersion: 2, retainedKeyVersions: 2 });
    expect(encryption.lastRotationAt).toBe(encryption.activeKeyIssuedAt);
    const region = async (name: string) =>
      (await (await call('/compliance/residency/evaluate', { json: { region: name } })).json()).data;
    expect(await region('eu-west-1')).toMatchObject({ region: 'eu-west-1', allowed: true });
    expect(await region('us-east-1')).toEqual({
      region: 'us-east-1',
      allowed: false,
      reason: 'The region is not one of eu-central-1, eu-west-1.',
      policy: {
        enforced: false,
        primaryRegion: 'eu-central-1',
        allowedRegions: ['eu-central-1', 'eu-west-1'],
      },
    });
    expect((await call('/compliance/residency/evaluate', { json: { region: 'a b' } })).status).toBe(400);
    await restart({});
    expect(await statuses('CC8.1', 'CM-3', 'SC-12')).not.toContain('Implemented');
    expect((await control('CC7.2')).gaps.join()).toMatch(/alerts\.notices\.channels/);
    const refused = await (await call('/compliance/encryption/rotate-key', { method: 'POST' })).json();
    expect(refused.data).toMatchObject({ succeeded: false, newVersion: 0 });
  }, 120_000);

  /** Servers of one test process count together. */
  const rendersOfPdf = async () => {
    const headers = { 'x-api-key': server.adminKey };
    const metrics = await (await fetch(`${server.url}/metrics`, { headers })).text();
    expect(metrics).toMatch(/svc_reporting_cache_miss_count_total \d/);
    return Number(/svc_reporting_render_count_total\{format="pdf"\} (\d+)/.exec(metrics)?.[1] ?? 0);
  };

  it('has a report with the same content as PDF and as CSV', async () => {
    const before = await dashboard();
    const renders = await rendersOfPdf();
    const pdf = await call('/compliance/report?format=pdf');
    expect(pdf.headers.get('content-type')).toBe('application/pdf');
    expect(pdf.headers.get('content-disposition')).toMatch(/^attachment; filename="compliance-.*\.pdf"$/);
    expect(await rendersOfPdf()).toBe(renders + 1);
    const file = join(folder, 'report.pdf');
    writeFileSync(file, Buffer.from(await pdf.arrayBuffer()));
    const squeeze = (text: string) => text.replace(/\s+/g, '');
    const text = squeeze(execFileSync('pdftotext', ['-layout', file, '-'], { encoding: 'utf8' }));
    const { controls, summary } = before as { controls: Control[]; summary: Record<string, number> };
    // Details with a number of audit rows change with each request.
    const isFixed = (detail: string) => !/rows|API keys|checkpoint/.test(detail);
    for (const { controlId, title, status, evidence, gaps } of controls) {
      expect(text).toContain(squeeze(`${controlId} ${title}`));
      expect(text).toMatch(
        new RegExp(`${squeeze(`${controlId}${title}`).replace(/[()]/g, '.')}\\(\\w+\\):${status}`),
      );
      for (const { claim, detail, source, status: found } of evidence) {
        expect(text).toContain(squeeze(`${found}: ${claim}`));
        if (isFixed(detail)) expect(text).toContain(squeeze(detail));
        expect(text).toContain(squeeze(`Source: ${source}`));
      }
      for (const gap of gaps) expect(text).toContain(squeeze(gap));
    }
    for (const [name, value] of Object.entries(summary)) expect(text).toContain(`${name}:${value}`);

    const csv = await call('/compliance/report', { headers: { accept: 'text/csv' } });
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    const records = parse(await csv.text(), { columns: true }) as Record<string, string>[];
    expect(
      records.filter(({ record }) => record === 'control').map((one) => [one['controlId'], one['status']]),
    ).toEqual(controls.map(({ controlId, status }) => [controlId, status]));
    expect(records.filter(({ record }) => record === 'evidence')).toHaveLength(
      controls.reduce((sum, { evidence }) => sum + evidence.length, 0),
    );
    const today = new Date().toISOString().slice(0, 10);
    const days = records.filter(({ record }) => record === 'day');
    expect(days).toHaveLength(controls.length);
    for (const { day, digest } of days)
      expect([day, digest]).toEqual([today, expect.stringMatching(/^[0-9a-f]{64}$/)]);
    for (const one of records) for (const value of Object.values(one)) expect(value).not.toMatch(/^[=+\-@]/);
  }, 60_000);

  it('refuses other formats and wrong periods', async () => {
    const status = async (query: string, headers: Record<string, string> = {}) =>
      (await call(`/compliance/report${query}`, { headers })).status;
    expect(await status('?format=xml')).toBe(400);
    expect(await status('', { accept: 'image/png' })).toBe(406);
    expect(await status('?format=csv', { accept: 'image/png' })).toBe(200);
    expect(await status('?from=2026-02-30')).toBe(400);
    expect(await status('?from=yesterday')).toBe(400);
    expect(await status('?from=2026-03-02&to=2026-03-01')).toBe(400);
    expect(await status('?from=2020-01-01&to=2026-03-01')).toBe(400);
    expect(await status('?format=csv&from=2026-03-01&to=2026-03-01')).toBe(200);
    const { items } = await (
      await call('/observability/audit?eventType=DataExport&resourceType=compliance')
    ).json();
    const details = items.map((one: { details: string }) => JSON.parse(one.details));
    expect(details[0]).toMatchObject({
      format: 'csv',
      filter: { from: '2026-03-01', to: '2026-03-01' },
      count: 28,
    });
  }, 60_000);

  it('flips when the audit trail is changed in the database', async () => {
    expect((await control('AU-10')).evidence[1]!.status).toBe('Implemented');
    await server.stop();
    const raw = new Database(join(folder, 'data', 'state.db'));
    raw.exec('DROP TRIGGER audit_is_not_updated');
    raw.exec("UPDATE audit SET actor = 'nobody' WHERE id = 3");
    raw.close();
    server = await start();
    expect(await control('AU-10')).toMatchObject({
      status: 'NotImplemented',
      gaps: [expect.any(String), expect.stringMatching(/broken at row 3/)],
    });
  }, 60_000);
});

it('keeps the words of reports out of formulas', async () => {
  const { csvRecord } = await import('../../src/core/values/csv.js');
  expect(csvRecord(['=cmd|x', '+1', '-1', '@a', '\ta', 'a=b', 'a,"b"', ''])).toBe(
    `'=cmd|x,'+1,'-1,'@a,'\ta,a=b,"a,""b""",\r\n`,
  );
});
