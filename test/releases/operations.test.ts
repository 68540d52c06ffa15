import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { gateways } from '../support/processes.js';
import { startServerProcess, type TestServer } from '../support/server.js';
import { makeDatabase } from '../support/state.js';

/** Operations that carry release packages out, with the state in SQLite and in PostgreSQL. */

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member in tests
type Json = any;

const PLAIN = '/metadata/releases';
const COORDINATED = '/metadata/coordinated-releases';
let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres?.stop());

describe.each(['SQLite', 'PostgreSQL'])('operations of releases, state in %s', (store) => {
  let server: TestServer;
  let setup: Parameters<typeof startServerProcess>[0];
  let author: string;
  beforeAll(async () => {
    const url: Record<string, string> =
      store === 'SQLite' ? {} : { SVC_STATE__URL: await makeDatabase(postgres.url) };
    const env = { SVC_RELEASES__ENVIRONMENT: 'staging', ...url };
    const dataDir = mkdtempSync(join(tmpdir(), 'graticule-rollouts-'));
    setup = { sources: ['demo/data/world_map.gpkg'], env, dataDir };
    server = await startServerProcess(setup);
    author = await makeKey();
  });
  afterAll(async () => {
    await server?.stop();
    rmSync(setup!.dataDir!, { recursive: true, force: true });
  });

  async function admin(method: string, path: string, body?: unknown, key = server.adminKey): Promise<Json> {
    const response = await fetch(`${server.url}/api/v1/admin${path}`, {
      method,
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  }

  const makeKey = async (maker?: string): Promise<string> => {
    const permissions = ['admin:releases:write', 'admin:metadata:write', 'admin:api-keys:write'];
    return (await admin('POST', '/api-keys', { name: 'author', permissions }, maker)).body.data.key;
  };
  /** Another person than the administrator, who approves. */
  const releaser = (method: string, path: string, body: unknown) => admin(method, path, body, author);

  /** Until the gateway that takes the place of a killed one answers. */
  async function answering(): Promise<void> {
    const isReady = () =>
      fetch(`${server.url}/healthz/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    for (let i = 0; i < 1200; i++) {
      if (await isReady()) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error('no gateway answers');
  }

  /** Gives the layer a title by a manifest. */
  async function entitle(title: string): Promise<void> {
    const resources = [{ kind: 'Layer', metadata: { name: 'countries' }, spec: { title } }];
    expect((await admin('POST', '/metadata/manifest/apply', { resources })).status).toBe(200);
  }

  async function title(): Promise<string> {
    const response = await fetch(`${server.url}/ogc/features/collections/countries?f=json`);
    return ((await response.json()) as Json).title;
  }

  /** A package in which the layer has the title New; it is Old afterwards. */
  async function packaged(body: object = {}): Promise<string> {
    await entitle('New');
    const semanticIds = ['Layer/countries', 'Field/countries/NAME'];
    const asked = { sourceEnvironment: 'staging', semanticIds, ...body };
    const made = await admin('POST', '/metadata/release-packages', asked);
    expect(made.status).toBe(201);
    await entitle('Old');
    return made.body.packageId;
  }

  const request = (packageId: string, more: object = {}) => ({
    ...{ packageId, targetEnvironment: 'staging', resourceSemanticId: 'Collection/countries' },
    ...{ newFieldName: 'NAME', ...more },
  });
  const plain = (packageId: string, more: object = {}) =>
    admin('POST', `${PLAIN}/operations`, request(packageId, more));
  const coordinated = (packageId: string, more: object = {}) =>
    releaser('POST', `${COORDINATED}/operations`, {
      ...request(packageId, more),
      ...{ containerTargetId: 'web', desiredImage: 'graticule:2' },
    });
  const approve = (id: string, gate: string, body?: object) =>
    admin('POST', `${COORDINATED}/operations/${id}/approve/${gate}`, body);
  const rollBack = (id: string) =>
    admin('POST', `${COORDINATED}/operations/${id}/rollback`, { reason: 'wrong' });

  it('applies a package here, once for one key', async () => {
    const packageId = await packaged();
    expect((await admin('GET', `${PLAIN}/${packageId}/operation`)).status).toBe(404);
    const more = { idempotencyKey: `plain ${packageId}`, scriptId: 'fill' };
    const made = await plain(packageId, more);
    expect(made.body).toMatchObject({ kind: 'MetadataRelease', status: 'Succeeded' });
    expect(made.body.warnings).toEqual(['This server runs no scripts: run fill.']);
    expect(made.status).toBe(201);
    expect(await title()).toBe('New');
    await entitle('Later');
    expect((await plain(packageId, more)).body).toEqual(made.body);
    expect(await title()).toBe('Later');
    expect((await plain(packageId, { ...more, reason: 'other' })).status).toBe(409);
    expect((await admin('GET', `${PLAIN}/${packageId}/operation`)).body).toEqual(made.body);
  });

  it('refuses what is not there, of another type, or at another revision, and changes nothing', async () => {
    const packageId = await packaged();
    const { body } = await admin('GET', '/metadata/environments/staging/inventory');
    for (const [status, more] of [
      [400, { newFieldName: 'NONE' }],
      [400, { resourceSemanticId: 'Collection/none' }],
      [400, { packageId: 'none' }],
      [409, { newFieldType: 'other' }],
      [409, { desiredRevision: body.revision + 1 }],
    ] as const)
      expect((await plain(packageId, more)).status, JSON.stringify(more)).toBe(status);
    expect(await title()).toBe('Old');
    expect((await plain(packageId, { desiredRevision: body.revision })).status).toBe(201);
  });

  it('tells that a package for another environment waits there', async () => {
    const packageId = await packaged({ targetEnvironments: ['production'] });
    expect((await plain(packageId)).status).toBe(400);
    const { body } = await plain(packageId, { targetEnvironment: 'production' });
    expect(body).toMatchObject({ status: 'ManualInterventionRequired', completedAt: null });
    expect(body.blockingReasons[0]).toMatch(/production is another server/);
    expect(await title()).toBe('Old');
  });

  it('waits at the gates in their order, applies at the last one, and goes back', async () => {
    const packageId = await packaged();
    const { body: made, status } = await coordinated(packageId);
    expect(status).toBe(201);
    expect(made).toMatchObject({ status: 'AwaitingApproval', currentStep: 'ContainerRollout' });
    const id = made.operationId;
    expect((await coordinated(packageId)).status).toBe(409);
    expect((await approve(id, 'metadata')).status).toBe(400);
    expect((await approve(id, 'data')).status).toBe(400);
    expect((await approve(id, 'gate')).status).toBe(400);
    expect((await approve('none', 'container')).status).toBe(404);
    // The author, and keys that the author made, are the same person.
    for (const key of [author, await makeKey(author)]) {
      const path = `${COORDINATED}/operations/${id}/approve/container`;
      const refused = await admin('POST', path, undefined, key);
      expect([refused.status, refused.body.detail]).toEqual([403, expect.stringContaining('same person')]);
    }
    const first = await approve(id, 'Container', { reason: 'tested' });
    expect(first.body).toMatchObject({ containerGateApproved: true, currentPhase: 'data' });
    expect(first.body.steps[1].detail).toMatch(/approved by .+ at .+: tested\./);
    expect((await approve(id, 'container')).status).toBe(400);
    await approve(id, 'data');
    expect(await title()).toBe('Old');
    const last = await approve(id, 'metadata');
    expect(last.body).toMatchObject({ status: 'Succeeded', currentStep: 'Complete', rollbackReady: true });
    expect(await title()).toBe('New');
    expect((await admin('GET', `${COORDINATED}/${packageId}/operation`)).body).toEqual(last.body);

    const back = await rollBack(id);
    expect(back.body).toMatchObject({ status: 'RolledBack', rollbackReady: false });
    expect(await title()).toBe('Old');
    await entitle('Later');
    expect((await rollBack(id)).body).toEqual(back.body);
    expect(await title()).toBe('Later');
    expect((await rollBack('none')).status).toBe(404);
  });

  it('takes away by a rollback what the release made', async () => {
    const resources = [{ kind: 'Role', metadata: { name: 'clerk' }, spec: { permissions: [] } }];
    await admin('POST', '/metadata/manifest/apply', { resources });
    const packageId = await packaged({ semanticIds: ['Role/clerk'] });
    const roles = async () =>
      (await admin('GET', '/metadata/manifest')).body.data.resources.filter(
        ({ kind }: Json) => kind === 'Role',
      );
    await admin('POST', '/metadata/manifest/apply', { resources, prune: true });
    await admin('POST', '/metadata/manifest/apply', { resources: [], prune: true });
    expect(await roles()).toEqual([]);
    const { operationId: id } = (await coordinated(packageId)).body;
    for (const gate of ['container', 'data', 'metadata']) await approve(id, gate);
    expect(await roles()).toHaveLength(1);
    expect((await rollBack(id)).body.status).toBe('RolledBack');
    expect(await roles()).toEqual([]);
  });

  it('ends a release that has applied nothing', async () => {
    const { operationId: id } = (await coordinated(await packaged())).body;
    expect((await rollBack(id)).body.warnings).toContain('Nothing had been applied here.');
    expect((await approve(id, 'container')).status).toBe(400);
  });

  it('needs the rights of what it changes', async () => {
    const permissions = ['admin:releases:write', 'admin:manifest:write'];
    const key = (await admin('POST', '/api-keys', { name: 'releases', permissions })).body.data.key;
    const body = request(await packaged());
    expect((await admin('POST', `${PLAIN}/operations`, body, key)).status).toBe(403);
    const alone = (await admin('POST', '/api-keys', { name: 'm', permissions: permissions.slice(0, 1) }))
      .body;
    expect((await admin('POST', `${PLAIN}/operations`, body, alone.data.key)).status).toBe(403);
    expect(await title()).toBe('Old');
  });

  it('is either done with its objects or not begun after kill -9', async () => {
    const killed = new Set<number>();
    for (let round = 0; round < 3; round++) {
      const packageId = await packaged();
      const { operationId: id } = (await coordinated(packageId)).body;
      await approve(id, 'container');
      await approve(id, 'data');
      const answer = approve(id, 'metadata').catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, round * 15));
      const gateway = gateways(server.process.pid!).find((pid) => !killed.has(pid))!;
      process.kill(gateway, 'SIGKILL');
      killed.add(gateway);
      await answer;
      await answering();
      const { status } = (await admin('GET', `${COORDINATED}/${packageId}/operation`)).body;
      expect(await title()).toBe(status === 'Succeeded' ? 'New' : 'Old');
      if (status !== 'Succeeded') expect((await approve(id, 'metadata')).body.status).toBe('Succeeded');
      expect(await title()).toBe('New');
    }
  });
});
