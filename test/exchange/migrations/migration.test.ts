import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { adminClient } from '../../catalog/support/admin-client.js';
import { startServerProcess, type TestServer } from '../../support/server.js';

/** Records of migrations, which outlive the server that took them. */

let server: TestServer;
let dataDir: string;
const admin = adminClient(() => server);
const start = () => startServerProcess({ sources: ['demo/data/world_map.gpkg'], dataDir });

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'graticule-migration-'));
  server = await start();
});
afterAll(async () => {
  await server?.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

const sha256 = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`;
const begin = (runId: string, more: object = {}) =>
  admin('POST', '/migration/runs', { runId, sourceKind: 'geoserver-rest', ...more });
const complete = (runId: string, body: object) => admin('POST', `/migration/runs/${runId}/complete`, body);

/** Members in the order of their names, written by hand: what the server makes must be the same. */
const CARD = {
  artifactKind: 'svc.migration.reconciliation-scorecard',
  artifactVersion: '1.0',
  capabilityParity: {
    assistedCount: 1,
    automatedCount: 1,
    constructCount: 2,
    manualReviewCount: 0,
    parityRatio: 0.5,
    unsupportedCount: 0,
  },
  dataReconciliation: {
    catalogFindingCount: 0,
    classification: 'warn',
    failCount: 0,
    layerCount: 2,
    layers: [
      { classification: 'pass', sourceLayerId: 'ws:roads', sourceLayerName: 'Straßen', targetSvcLayerId: 3 },
      { classification: 'warn', sourceLayerId: 'ws:towns' },
    ],
    passCount: 1,
    reasons: ['one town less'],
    skippedCount: 0,
    warnCount: 1,
  },
  generatedAt: '2026-03-01T10:00:00Z',
  runId: 'carded',
  sourceKind: 'geoserver-rest',
  verdict: 'warn',
};
const signed = <T extends object>(card: T) => ({ fingerprint: sha256(JSON.stringify(card)), ...card });

describe('a run', () => {
  it('begins, ends once, and keeps its evidence as it came', async () => {
    const begun = await begin('run-1', { startedAt: '2026-01-01T00:00:00Z', statusNote: 'begun' });
    expect(begun.status, begun.text).toBe(200);
    expect(begun.body).toEqual({
      ...{ runId: 'run-1', sourceKind: 'geoserver-rest', sourceUrl: null, sourceDisplayName: null },
      ...{ status: 'running', statusNote: 'begun', startedAt: '2026-01-01T00:00:00Z', completedAt: null },
      ...{ hasEvidencePack: false, evidencePackRef: null, evidencePackFingerprint: null },
      ...{ hasReconciliationScorecard: false, reconciliationScorecardFingerprint: null },
    });
    expect((await begin('run-1')).status).toBe(409);
    const pack = `{ "layers": ["${'ü'.repeat(700_000)}"] }\n`;
    const wrong = await complete('run-1', {
      ...{ status: 'succeeded', evidencePackBody: pack, evidencePackFingerprint: sha256('other') },
    });
    expect(wrong.status).toBe(400);
    expect(wrong.body.errors[0].name).toBe('/evidencePackFingerprint');
    expect((await admin('GET', '/migration/runs/run-1')).body.status).toBe('running');
    expect((await admin('GET', '/migration/runs/run-1/evidence-pack')).status).toBe(404);
    expect((await complete('run-1', { status: 'succeeded', evidencePackBody: 'no JSON' })).status).toBe(400);
    const ended = await complete('run-1', {
      ...{ status: 'succeeded', evidencePackBody: pack, evidencePackFingerprint: sha256(pack) },
    });
    expect(ended.status, ended.text).toBe(200);
    expect(ended.body).toMatchObject({
      ...{ status: 'succeeded', hasEvidencePack: true, statusNote: 'begun' },
      ...{ evidencePackFingerprint: sha256(pack), completedAt: expect.any(String) },
    });
    for (const action of ['complete', 'cancel'])
      expect((await admin('POST', `/migration/runs/run-1/${action}`, { status: 'failed' })).status).toBe(409);
    await server.kill();
    server = await start();
    const read = await admin('GET', '/migration/runs/run-1/evidence-pack');
    expect(read.text).toBe(pack);
    expect(read.headers.get('etag')).toContain(`"${sha256(pack).replace(':', '-')}`);
    expect(read.headers.get('x-content-type-options')).toBe('nosniff');
    expect(read.headers.get('content-disposition')).toBe('attachment; filename="run-1-evidence-pack.json"');
    expect((await admin('GET', '/migration/runs/run-1')).body).toEqual(ended.body);
  }, 120_000);

  it('is cancelled with a reason, and not there when nobody began it', async () => {
    await begin('given-up');
    const answer = await admin('POST', '/migration/runs/given-up/cancel', { reason: 'too slow' });
    expect(answer.body).toMatchObject({ status: 'cancelled', statusNote: 'too slow' });
    expect((await admin('POST', '/migration/runs/given-up/cancel', {})).status).toBe(409);
    for (const [method, path, body] of [
      ['GET', ''],
      ['GET', '/evidence-pack'],
      ['GET', '/scorecard'],
      ['POST', '/cancel', {}],
      ['POST', '/complete', { status: 'failed' }],
    ] as const)
      expect((await admin(method, `/migration/runs/nothing${path}`, body)).status, path).toBe(404);
    for (const body of [{ runId: '../x' }, { runId: 'x', startedAt: 'today' }, { runId: '' }])
      expect((await begin('y', body)).status, JSON.stringify(body)).toBe(400);
    expect((await complete('given-up', { status: 'running' })).status).toBe(400);
  });

  it('is listed by pages and filters, newest first', async () => {
    for (const n of [1, 2, 3])
      await begin(`listed-${n}`, { sourceKind: 'other', startedAt: `2025-01-0${n}T00:00:00Z` });
    await complete('listed-2', { status: 'failed' });
    const list = async (query: string) => (await admin('GET', `/migration/runs?${query}`)).body;
    const idsOf = ({ items }: { items: { runId: string }[] }) => items.map(({ runId }) => runId);
    const page = await list('sourceKind=other&limit=2&offset=1');
    expect(page).toMatchObject({ totalCount: 3, limit: 2, offset: 1 });
    expect(idsOf(page)).toEqual(['listed-2', 'listed-1']);
    expect(idsOf(await list('sourceKind=other&status=Running'))).toEqual(['listed-3', 'listed-1']);
    for (const query of ['limit=101', 'offset=-1', 'status=done'])
      expect((await admin('GET', `/migration/runs?${query}`)).status, query).toBe(400);
  });
});

describe('a scorecard', () => {
  const post = (card: object) => admin('POST', '/migration/runs/carded/scorecard', card);

  it('is kept with the run whose it is', async () => {
    await begin('carded');
    const answer = await post(signed(CARD));
    expect(answer.status, answer.text).toBe(200);
    const { fingerprint } = signed(CARD);
    expect(answer.body).toMatchObject({
      ...{ hasReconciliationScorecard: true, reconciliationScorecardFingerprint: fingerprint },
    });
    const read = await admin('GET', '/migration/runs/carded/scorecard');
    expect(read.body).toEqual(signed(CARD));
    expect(read.headers.get('content-disposition')).toContain('attachment');
  });

  it('of another program is kept with the fingerprint that the server computes', async () => {
    const stated = sha256('as another program has it');
    const answer = await post({ fingerprint: stated, ...CARD });
    expect(answer.status, answer.text).toBe(200);
    const { body } = await admin('GET', '/migration/runs/carded/scorecard');
    const { fingerprint, ...card } = body as Record<string, unknown>;
    expect(card).toEqual({ ...CARD, statedFingerprint: stated });
    const inOrder = Object.fromEntries(Object.entries(card).sort(([a], [b]) => (a < b ? -1 : 1)));
    expect(fingerprint).toBe(sha256(JSON.stringify(inOrder)));
    expect(answer.body).toMatchObject({ reconciliationScorecardFingerprint: fingerprint });
  });

  it('may stand in any order, and is refused when it is another or contradicts itself', async () => {
    const { fingerprint, ...rest } = signed(CARD);
    const turned = Object.fromEntries(Object.entries(rest).reverse());
    expect((await post({ ...turned, fingerprint })).status).toBe(200);
    const { dataReconciliation: data } = CARD;
    const faults: [string, object][] = [
      ['/fingerprint', { ...rest, fingerprint: 'none' }],
      ['/runId', signed({ ...CARD, runId: 'run-1' })],
      ['/verdict', signed({ ...CARD, verdict: 'good' })],
      ['/dataReconciliation/layerCount', signed({ ...CARD, dataReconciliation: { ...data, passCount: 2 } })],
      [
        '/dataReconciliation/classification',
        signed({ ...CARD, dataReconciliation: { ...data, passCount: 0, failCount: 1 } }),
      ],
    ];
    for (const [name, card] of faults) {
      const answer = await post(card);
      expect(answer.status, name).toBe(400);
      expect(answer.text).toContain(name);
    }
    const { status } = await post(rest);
    expect(status).toBe(400);
  });
});

describe('performance evidence', () => {
  it('is none where nobody measured', async () => {
    const latest = await admin('GET', '/migration/performance-evidence/latest');
    expect([latest.status, latest.text]).toEqual([204, '']);
    const history = await admin('GET', '/migration/performance-evidence/history?sourceFamily=x');
    expect(history.body).toEqual({ items: [], count: 0, limit: 50, sourceFamily: 'x', fixtureSize: null });
    expect((await admin('GET', '/migration/performance-evidence/history?limit=201')).status).toBe(400);
    expect((await admin('GET', '/migration/performance-evidence/nothing')).status).toBe(404);
  });

  it('is that of benchmarks, as they were recorded', async () => {
    const record = (body: object) => admin('POST', '/migration/performance-evidence', body);
    const about = { sourceFamily: 'geopackage', fixtureSize: 'large', status: 'Pass' };
    const artifact = { ratio: 0.9, Rounds: [{ Ms: 1 }], a: null };
    const older = await record({ ...about, generatedAt: '2026-01-01T00:00:00Z', artifact: {} });
    const made = await record({ ...about, artifact, other: 1 });
    expect(made.status, made.text).toBe(201);
    const { evidenceId } = made.body as { evidenceId: string };
    expect(made.headers.get('location')).toBe(`/api/v1/admin/migration/performance-evidence/${evidenceId}`);
    expect(made.body).toEqual({
      ...{ ...about, evidenceId, artifact, generatedAt: expect.any(String) },
      fingerprint: sha256('{"Rounds":[{"Ms":1}],"a":null,"ratio":0.9}'),
    });
    const read = (path: string) => admin('GET', `/migration/performance-evidence/${path}`);
    expect((await read('latest')).body).toEqual(made.body);
    expect((await read(evidenceId)).body).toEqual(made.body);
    expect((await read('history?sourceFamily=GeoPackage&size=large')).body).toMatchObject({
      items: [made.body, older.body],
      count: 2,
    });
    expect((await record({ ...about, status: 'Good', artifact })).status).toBe(400);
  });
});

describe('artifacts of platform-a', () => {
  const PATH = '/import/platform-a/migrations';
  const source = { baseUrl: 'https://gis.example.org/rest', displayName: 'GIS' };
  const resource = (id: string) => ({
    ...{ sourceResourceId: id, action: 'import', targetServiceName: 'default', targetResourceName: id },
    ...{ capabilities: ['query'], more: { kept: [1, null] } },
  });
  const manifest = {
    ...{ artifactKind: 'svc.migration.manifest', artifactVersion: '1.0', sourceKind: 'arcgis', source },
    summary: {
      ...{ sourceResourceCount: 3, targetResourceCount: 2, styleActionCount: 0 },
      ...{ manualReviewCount: 1, unsupportedCount: 0 },
    },
    targetResources: [resource('a'), resource('b')],
    ...{ styleActions: [], manualReviewItems: [{ sourceId: 'c' }], unsupportedItems: [] },
    identityRemapping: { a: 'b' },
  };
  const parity = {
    ...{ artifactKind: 'svc.migration.arcgis-parity', artifactVersion: '1.0', sourceKind: 'arcgis', source },
    ...{ classification: 'warn', reasons: ['b'] },
    resourceProbes: [
      { sourceResourceId: 'b', targetResourceId: '4', classification: 'warn', schema: { expected: 1 } },
    ],
  };
  const post = (runId: string, body: object) => admin('POST', `${PATH}/${runId}/manifest`, body);

  it('are kept as they came, parity only after a manifest', async () => {
    expect((await admin('POST', `${PATH}/a-1/parity`, { parity })).status).toBe(409);
    const answer = await post('a-1', { sourceUrl: source.baseUrl, manifest, actor: 'me' });
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body).toEqual({
      ...{ runId: 'a-1', sourceUrl: source.baseUrl, sourceDisplayName: null, sourceVersion: null },
      ...{ actor: 'me', createdAt: expect.any(String) },
    });
    expect((await admin('GET', `${PATH}/a-1/manifest`)).body).toEqual(manifest);
    expect((await admin('GET', `${PATH}/a-1/parity`)).status).toBe(404);
    expect((await admin('GET', PATH)).body).toEqual({
      ...{ page: 0, pageSize: 50, totalCount: 1 },
      items: [{ ...answer.body, status: 'manifest-only', hasParity: false, targetResourceCount: 2 }],
    });
    expect((await admin('POST', `${PATH}/a-1/parity`, { parity })).body).toEqual(parity);
    expect((await admin('GET', `${PATH}/a-1/parity`)).body).toEqual(parity);
    await post('a-2', { sourceUrl: 'https://other.example.org', manifest });
    const list = async (query: string) => (await admin('GET', `${PATH}?${query}`)).body;
    expect((await list('status=warn')).items).toMatchObject([{ runId: 'a-1', hasParity: true }]);
    expect((await list('sourceUrl=https://other.example.org')).items).toMatchObject([{ runId: 'a-2' }]);
    expect(await list('page=1&pageSize=1')).toMatchObject({ items: [{ runId: 'a-1' }], totalCount: 2 });
    await post('a-1', { sourceUrl: source.baseUrl, manifest });
    expect((await admin('GET', `${PATH}/a-1/parity`)).status).toBe(404);
  });

  it('are refused when they are others, or contradict themselves', async () => {
    const wrong = { ...manifest, summary: { ...manifest.summary, manualReviewCount: 7 } };
    for (const body of [
      { sourceUrl: source.baseUrl },
      { sourceUrl: source.baseUrl, manifest: { ...manifest, artifactKind: 'other' } },
      { sourceUrl: source.baseUrl, manifest: wrong },
    ])
      expect((await post('a-3', body)).status).toBe(400);
    expect((await post('a%20b', { sourceUrl: source.baseUrl, manifest })).status).toBe(400);
    const better = { ...parity, classification: 'pass' };
    expect((await admin('POST', `${PATH}/a-2/parity`, { parity: better })).status).toBe(400);
    expect((await admin('GET', `${PATH}?pageSize=101`)).status).toBe(400);
    expect((await admin('GET', `${PATH}/a-3/manifest`)).status).toBe(404);
  });
});

describe('a toolbox', () => {
  const tool = {
    ...{ toolName: 'Buffer', targetProcessId: 'analytics.nothing', unsupportedConstructs: ['cursor'] },
    parameterMappings: [{ sourceName: 'in', targetParameter: 'input' }],
  };
  const validate = (tools: unknown) =>
    admin('POST', '/import/toolbox/translation/validate', { toolboxName: 'T', sourceFormat: 'pyt', tools });

  it('is told that no process does its work', async () => {
    const { targetProcessId: _, ...none } = tool;
    const answer = await validate([tool, { ...none, unsupportedConstructs: [] }]);
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body).toMatchObject({
      artifactKind: 'svc.migration.toolbox-translation-report',
      summary: { toolCount: 2, translatedCount: 0, partiallyTranslatedCount: 0, unsupportedCount: 2 },
      tools: [
        { classification: 'unsupported', processId: null, parameterBindings: [] },
        { classification: 'unsupported', issues: [{ code: 'no-process' }] },
      ],
    });
    const codes = answer.body.tools[0].issues.map(({ code }: { code: string }) => code);
    expect(codes).toEqual(['unknown-process', 'unsupported-construct']);
    for (const tools of [[], [{ toolName: 'x' }], Array.from({ length: 201 }, () => tool)])
      expect((await validate(tools)).status).toBe(400);
  });
});
