import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TaskInput, TaskName } from '../../src/core/tasks/tasks.js';
import { StateCipher } from '../../src/services/access/keys/state-cipher.js';
import { DiagnosticBundles } from '../../src/services/diagnostics/bundles.js';
import { readBundle } from '../../src/workers/diagnostics/read-bundle.js';
import { startServer, type TestServer } from '../support/server.js';
import { describeStates, type TemporaryState } from '../support/state.js';
import { bundle, type Draft, envelope, largestBundle, preview } from './support/bundles.js';

const TOKEN = `ghp_${'a1B2'.repeat(9)}`;
const withSecret = () =>
  bundle({ envelopes: [envelope({ responseBody: preview({ preview: `x ${TOKEN}` }) }), envelope()] });
const DAY_MS = 86_400_000;

describeStates('stored diagnostic bundles', (temporary) => {
  let t: TemporaryState;
  let now = Date.parse('2026-11-30T12:00:00Z');
  beforeEach(async () => {
    t = await temporary();
  });
  afterEach(() => t.close());

  const pools = {
    run: (_name: TaskName, input: unknown) => readBundle((input as TaskInput<'diagnostics.bundle'>).parts),
  } as never;
  const service = (more: object = {}) =>
    new DiagnosticBundles({
      ...{ store: t.state.diagnosticBundles, audit: t.state.audit, pools, days: 30, count: 3 },
      ...{ sealing: new StateCipher('a key of the state'), now: () => now, ...more },
    });
  const add = (bundles: DiagnosticBundles, draft: Draft) =>
    bundles.add([Buffer.from(JSON.stringify(draft)) as never], 'user:me', { deadlineMs: 1000 } as never);

  it('come back whole, page by page, and sealed if they may contain secrets', async () => {
    const bundles = service();
    const plain = await add(bundles, bundle({ envelopes: [envelope(), envelope({ method: 'PUT' })] }));
    now += 1;
    const sealed = await add(bundles, withSecret());
    expect([plain.isEncrypted, sealed.isEncrypted]).toEqual([false, true]);
    const read = async (id: string) => {
      const found = (await bundles.get(id))!;
      const contents: string[] = [];
      for await (const one of bundles.envelopes(found)) contents.push(JSON.parse(one));
      return contents;
    };
    expect(await read(plain.id)).toEqual([envelope(), envelope({ method: 'PUT' })]);
    expect(await read(sealed.id)).toEqual([
      envelope({ responseBody: preview({ preview: 'x [github]', redactionApplied: true }) }),
      envelope(),
    ]);
    const [first] = await bundles.list({ limit: 1 });
    expect(first!.id).toBe(sealed.id);
    const before = { receivedAt: first!.receivedAt, id: first!.id };
    expect((await bundles.list({ limit: 5, before })).map(({ id }) => id)).toEqual([plain.id]);
    const classification = 'secret-suspected';
    expect((await bundles.list({ limit: 5, classification })).map(({ id }) => id)).toEqual([sealed.id]);
    const rows = await t.state.diagnosticBundles.list({ since: 0, limit: 5 });
    const kept = await t.state.diagnosticBundles.envelope(sealed.id, 0);
    expect(kept).toMatch(/^sealed:/);
    expect(rows.find(({ id }) => id === sealed.id)!.head_json).toMatch(/^sealed:/);
    const other = service({ sealing: new StateCipher('another key') });
    await expect(other.get(sealed.id)).rejects.toThrow(/stateKey/);
    expect(await bundles.remove(sealed.id)).toBe(true);
    expect(await t.state.diagnosticBundles.envelope(sealed.id, 0)).toBeUndefined();
    expect(await bundles.remove(sealed.id)).toBe(false);
  });

  it('are refused beyond the number, expire, and the trail records it', async () => {
    const bundles = service();
    for (let n = 0; n < 3; n++) await add(bundles, bundle());
    await expect(add(bundles, bundle())).rejects.toMatchObject({ status: 409 });
    now += 30 * DAY_MS;
    expect(await bundles.list({ limit: 5 })).toHaveLength(3);
    now += 1;
    expect(await bundles.list({ limit: 5 })).toHaveLength(0);
    await add(bundles, bundle());
    expect(await bundles.list({ limit: 5 })).toHaveLength(1);
    const [row] = await t.state.audit.list({ limit: 1 });
    expect(row).toMatchObject({ event_type: 'DataDelete', actor_type: 'System', outcome: 'Success' });
    expect(JSON.parse(row!.details!)).toMatchObject({ count: 3, days: 30 });
  });
});

describe('the intake of diagnostic bundles', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer({
      sources: ['demo/data/world_map.gpkg'],
      env: { SVC_SECURITY__STATE_KEY: 'a key of the state' },
    });
  });
  afterAll(() => server?.stop());

  const URL_PATH = '/api/v1/admin/diagnostics/bundles';
  const send = (method: string, path: string, body?: string, headers: Record<string, string> = {}) =>
    fetch(`${server.url}${path}`, {
      method,
      headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json', ...headers },
      body: body ?? null,
    });
  const audit = async (query: string) => {
    const found = await send('GET', `/api/v1/admin/observability/audit?pageSize=1&${query}`);
    return (await found.json()).items[0];
  };

  it('accepts the largest bundle, also with all characters escaped, and gives it back', async () => {
    const draft = largestBundle();
    const texts = [JSON.stringify(draft), JSON.stringify(largestBundle('\u0001'))];
    expect(texts[0]!.length).toBeGreaterThan(7_500_000);
    expect(texts[1]!.length).toBeGreaterThan(40_000_000);
    for (const text of texts) {
      const made = await send('POST', URL_PATH, text);
      expect(made.status).toBe(201);
      const { bundleId } = await made.json();
      const got = await send('GET', `${URL_PATH}/${bundleId}`);
      expect(got.status).toBe(200);
      const { envelopes, schemaVersion, consent } = await got.json();
      const { envelopes: sent, consent: given } = JSON.parse(text);
      expect([schemaVersion, consent, envelopes.length]).toEqual(['1.0', given, 50]);
      expect(JSON.stringify(envelopes) === JSON.stringify(sent)).toBe(true);
      expect((await send('DELETE', `${URL_PATH}/${bundleId}`)).status).toBe(204);
    }
  }, 120_000);

  it('assigns its own id, and records the intake, the export and the deletion', async () => {
    const made = await send('POST', URL_PATH, JSON.stringify(withSecret()));
    const body = await made.json();
    const { bundleId: id } = body;
    expect(made.headers.get('location')).toBe(`${URL_PATH}/${id}`);
    expect(id).not.toBe('mine');
    expect(body).toMatchObject({
      ...{ clientBundleId: 'mine', envelopeCount: 2, redacted: true, encrypted: true },
      ...{ contentClassification: 'secret-suspected', declaredClassification: 'internal' },
      removedSecrets: [{ member: '/envelopes/0/responseBody/preview', kind: 'github' }],
      correlationIds: ['c-1'],
    });
    expect(await audit(`resourceId=${id}`)).toMatchObject({ eventType: 'AdminAction', outcome: 'Success' });
    const got = await send('GET', `${URL_PATH}/${id}`);
    expect(await got.text()).not.toContain(TOKEN);
    const row = await audit(`resourceId=${id}`);
    expect(row).toMatchObject({ eventType: 'DataExport', actorType: 'ApiKey' });
    expect(JSON.parse(row.details)).toMatchObject({ format: 'json', filter: { bundle: id }, count: 2 });
    const stale = await send('DELETE', `${URL_PATH}/${id}`, undefined, { 'if-match': '"other"' });
    expect(stale.status).toBe(412);
    const etag = got.headers.get('etag')!;
    expect((await send('DELETE', `${URL_PATH}/${id}`, undefined, { 'if-match': etag })).status).toBe(204);
    const deleted = await audit(`resourceId=${id}&outcome=Success`);
    expect(deleted).toMatchObject({ eventType: 'DataDelete', outcome: 'Success' });
    expect((await send('GET', `${URL_PATH}/${id}`)).status).toBe(404);
    expect((await send('DELETE', `${URL_PATH}/${id}`)).status).toBe(404);
  });

  it('returns 400 for each bound, and 413 only above the size of all legal bundles', async () => {
    const headers = (n: number) => Array.from({ length: n }, () => ({ name: 'accept', value: 'x' }));
    const wrong: Draft[] = [
      bundle({ envelopes: Array.from({ length: 51 }, () => envelope()) }),
      bundle({ envelopes: Array.from({ length: 5000 }, () => envelope()) }),
      bundle({ envelopes: [envelope({ requestHeaders: headers(20_000) })] }),
      bundle({ envelopes: [envelope({ normalizedPath: 'a'.repeat(3_000_000) })] }),
      bundle({ contentClassification: 'public '.repeat(1_000_000) }),
      bundle({ SchemaVersion: '1.0' }),
      bundle({ consent: { redactionAcknowledged: false, shareWithSupport: true } }),
    ];
    for (const draft of wrong) {
      const response = await send('POST', URL_PATH, JSON.stringify(draft));
      const { status, detail, errors } = await response.json();
      expect([response.status, status], detail).toEqual([400, 400]);
      expect(errors.length).toBeGreaterThan(0);
    }
    const { detail } = await (
      await send('POST', URL_PATH, JSON.stringify(bundle({ envelopes: [envelope({ statusCode: 99 })] })))
    ).json();
    expect(detail).toBe('envelopes[0].statusCode: must be an integer from 100 to 599; received 99.');
    expect((await send('POST', URL_PATH, '{"schemaVersion":')).status).toBe(400);
    expect((await send('POST', URL_PATH, '')).status).toBe(400);
    expect((await send('POST', URL_PATH, ' '.repeat(50_331_649))).status).toBe(413);
    const xml = await send('POST', URL_PATH, '<a/>', { 'content-type': 'application/xml' });
    expect(xml.status).toBe(415);
    const anonymous = await fetch(server.url + URL_PATH, { method: 'POST', body: '{}' });
    expect(anonymous.status).toBe(401);
  }, 60_000);
});
