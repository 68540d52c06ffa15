import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { type Asker, createAsker } from './asker.js';

/** Deploy operations over HTTP, on a server whose declared release does not run. */

let server: TestServer;
let admin: Asker;
let keyOf: (name: string, permissions: string[]) => Promise<Asker>;
beforeAll(async () => {
  const env = { SVC_DEPLOY__RELEASE: '2099.1.0', SVC_DEPLOY__ARTIFACT: 'graticule:2099.1.0' };
  server = await startServer({ sources: ['demo/data/world_map.gpkg'], env });
  admin = createAsker(server.url, server.adminKey);
  keyOf = async (name, permissions) =>
    createAsker(server.url, (await admin('POST', '/api-keys', { name, permissions })).body.data.key);
});
afterAll(() => server?.stop());

const PLAN = { targetId: 'servers', desiredRevision: '2099.1.0' };

it('plans, and names what blocks an operation', async () => {
  const { body: version } = await admin('GET', '/version');
  const { status, body } = await admin('POST', '/deploy/plan', PLAN);
  expect([status, body.readyToSubmit, body.blockingReasons]).toEqual([200, true, []]);
  expect(body.target).toMatchObject({
    ...{ backend: 'manual', currentRevision: version.data.version, desiredRevision: '2099.1.0' },
    artifactReference: 'graticule:2099.1.0',
  });
  expect(body.capabilities.supportsRollback).toBe(false);
  const same = await admin('POST', '/deploy/plan', { ...PLAN, desiredRevision: version.data.version });
  expect([same.status, same.body.readyToSubmit]).toEqual([200, false]);
  expect(same.body.blockingReasons).toEqual([`All servers already run ${version.data.version}.`]);
});

it.each<[string, object | string, number, string]>([
  ['a target that does not exist', { ...PLAN, targetId: '../etc' }, 404, "'../etc'"],
  ['no target', { desiredRevision: '1' }, 400, 'targetId'],
  ['a number', { ...PLAN, desiredRevision: 2026 }, 400, 'desiredRevision'],
  ['a control character', { ...PLAN, desiredRevision: '1\u0000' }, 400, 'desiredRevision'],
  ['a line break', { ...PLAN, desiredRevision: '1\nadmin' }, 400, 'desiredRevision'],
  ['a path', { ...PLAN, desiredRevision: '../../2026' }, 400, 'desiredRevision'],
  ['a long release', { ...PLAN, desiredRevision: '1'.repeat(65) }, 400, 'desiredRevision'],
  ['parameters', { ...PLAN, parameters: { image: 'x' } }, 400, "'image'"],
  ['parameters that are not strings', { ...PLAN, parameters: { image: 1 } }, 400, 'parameters'],
  ['another priority', { ...PLAN, priority: 'Now' }, 400, 'priority'],
  ['a reason in two lines', { ...PLAN, reason: 'a\u001b[2J' }, 400, 'reason'],
  ['a list', [], 400, ''],
  ['10 MB', { ...PLAN, reason: 'x'.repeat(10_000_000) }, 413, ''],
])('refuses %s', async (_, body, status, detail) => {
  const answer = await admin('POST', '/deploy/operations', body);
  expect([answer.status, JSON.stringify(answer.body)]).toEqual([status, expect.stringContaining(detail)]);
  expect((await admin('GET', '/deploy/operations')).body.totalCount).toBe(0);
});

it('shows an operation and its pages, and changes it only with its tag', async () => {
  const made: string[] = [];
  for (const patch of [1, 2, 3]) {
    const body = { ...PLAN, desiredRevision: `2099.1.${patch}`, submitImmediately: false, priority: 'High' };
    const { status, body: one } = await admin('POST', '/deploy/operations', body);
    expect([status, one.status, one.priority, one.kind]).toEqual([201, 'Planned', 'High', 'Deploy']);
    made.unshift(one.operationId);
  }
  const list = async (query: string) => (await admin('GET', `/deploy/operations?${query}`)).body;
  const idsOf = ({ items }: { items: { operationId: string }[] }) => items.map((one) => one.operationId);
  expect(idsOf(await list('pageSize=2'))).toEqual(made.slice(0, 2));
  expect(await list('pageSize=2&page=2')).toMatchObject({ page: 2, totalCount: 3, hasMore: false });
  expect(idsOf(await list('pageSize=2&page=2'))).toEqual(made.slice(2));
  expect(idsOf(await list('status=planned'))).toEqual(made);
  expect((await list('status=Succeeded')).totalCount).toBe(0);
  expect((await list('kind=Rollback')).totalCount).toBe(0);
  for (const query of ['status=5', 'kind=x', 'page=0', 'pageSize=201'])
    expect((await admin('GET', `/deploy/operations?${query}`)).status).toBe(400);

  const path = `/deploy/operations/${made[0]}`;
  const { etag } = await admin('GET', path);
  const stale = await admin('POST', `${path}/submit`, {}, { 'if-match': '"other"' });
  expect(stale.status).toBe(412);
  const submitted = await admin('POST', `${path}/submit`, { reason: 'now' }, { 'if-match': etag! });
  expect([submitted.status, submitted.body.status]).toEqual([200, 'AwaitingApproval']);
  expect(submitted.body.blockingReasons).toEqual([
    `The proposal ${submitted.body.proposalId} waits for its approval by another person.`,
  ]);
  expect((await admin('POST', `${path}/promote`, {})).status).toBe(409);
  const other = await admin('POST', `/deploy/operations/${made[1]}/submit`);
  expect([other.status, other.body.detail]).toEqual([
    409,
    `The deploy operation ${made[0]} has the target 'servers'.`,
  ]);
  const approval = await admin('POST', `/proposals/${submitted.body.proposalId}/approve`);
  expect(approval.status).toBe(403);
  const reason = { reason: 'no' };
  expect((await admin('POST', `/proposals/${submitted.body.proposalId}/reject`, reason)).status).toBe(200);
  expect((await admin('GET', path)).body).toMatchObject({
    ...{ status: 'Failed', errorMessage: 'The proposal was rejected: no' },
  });
});

it('converges only for callers that may deploy', async () => {
  const releaser = await keyOf('releaser', ['admin:platform-release:write']);
  const refused = await releaser('POST', '/platform-release/converge', {});
  expect([refused.status, refused.body.detail]).toEqual([
    403,
    'The caller lacks the permission admin:deploy:write.',
  ]);
  const { status, body } = await admin('POST', '/platform-release/converge');
  expect([status, body.releaseVersion, body.converged]).toEqual([200, '2099.1.0', false]);
  expect(body.servingArtifactReference).toBe('graticule:2099.1.0');
  expect(body.targets.map(({ outcome }: { outcome: string }) => outcome)).toEqual(['operation-created']);
});

it('reports the declared release in the preflight and in the health', async () => {
  const { body } = await admin('GET', '/observability/ops-health');
  const { platformRelease } = body.deploy;
  expect(platformRelease).toMatchObject({
    ...{ releaseDeclared: true, releaseVersion: '2099.1.0', isCoVersioned: false },
  });
  expect(platformRelease.skewedIds.length).toBeGreaterThan(0);
  const preflight = (await admin('GET', '/deploy/preflight?includeDiagnostics=true')).body;
  expect([preflight.status, preflight.readyForCoordinatedDeploy]).toEqual(['blocked', false]);
  expect(preflight.message).toBe(
    `${platformRelease.skewedIds.length} processes run another release than 2099.1.0.`,
  );
  expect(preflight.migration).toMatchObject({ lifecycleStatus: 'current', upgradeRequired: false });
  expect(preflight.databaseCompatibility.engineVersion).toMatch(/^SQLite 3\.\d+\.\d+$/);
  expect(preflight.databaseCompatibility.isCompatible).toBe(true);
  expect((await admin('GET', '/deploy/preflight')).body.migration).toBeUndefined();
});
