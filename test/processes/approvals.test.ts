import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { type Json, ProcessClient } from './support.js';

/** Processes that nobody executes before somebody else has approved it. */

const UNION = 'geometry.union';
const square = {
  type: 'Polygon',
  coordinates: [
    [
      [0, 0],
      [1, 0],
      [1, 1],
      [0, 0],
    ],
  ],
};

describe('a server', () => {
  let server: TestServer;
  let analyst: ProcessClient;
  let chief: Asker;
  let proposer: Asker;

  beforeAll(async () => {
    server = await startServer({ env: { SVC_PROCESSES__APPROVAL: UNION } });
    const permissions = [
      'processes:execute',
      'processes:read',
      'admin:import:write',
      'admin:proposals:write',
      'admin:api-keys:write',
    ];
    const adminKey = await keyOf('analyst', permissions);
    analyst = new ProcessClient({ url: server.url, adminKey });
    proposer = askerOf(adminKey);
    chief = askerOf(await keyOf('chief', ['admin:proposals:write', 'processes:execute']));
  });
  afterAll(() => server?.stop());

  type Asker = (method: string, path: string, body?: Json) => Promise<{ status: number; body: Json }>;

  const askerOf =
    (key: string): Asker =>
    async (method, path, body) => {
      const response = await fetch(`${server.url}/api/v1/admin${path}`, {
        method,
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: await response.json() };
    };

  const admin: Asker = (...request) => askerOf(server.adminKey)(...request);

  async function keyOf(name: string, permissions: string[]): Promise<string> {
    const { body } = await askerOf(server.adminKey)('POST', '/api-keys', { name, permissions });
    return body.data.key;
  }

  /** Id of the proposal that an execution becomes. */
  async function propose(body: Json, headers: Record<string, string> = {}): Promise<string> {
    const response = await analyst.execute(UNION, body, headers);
    const { detail } = (await response.json()) as Json;
    expect([response.status, detail]).toEqual([403, expect.stringContaining('Approval required')]);
    return /proposal ([\w-]+)/.exec(detail)![1]!;
  }

  /** The proposal once its execution has ended. */
  async function ended(id: string): Promise<Json> {
    for (;;) {
      const { body } = await chief('GET', `/proposals/${id}`);
      if (!['Submitted', 'Executing', 'Reconciling'].includes(body.status)) return body;
      await pause(20);
    }
  }

  const outputs = { features: { publish: { collection: 'together' } } };

  it('executes what somebody else approves, for who proposed it', async () => {
    const id = await propose({ inputs: { features: square }, outputs });
    expect(await propose({ inputs: { features: square }, outputs })).toBe(id);
    const { body } = await chief('GET', `/proposals/${id}`);
    expect(body).toMatchObject({
      ...{ proposalId: id, kind: 'Geoprocess', status: 'AwaitingApproval', riskLevel: 'Medium' },
      ...{ actionDiscriminator: UNION, executionOperationId: null, resolvedBy: null },
      ...{ diff: ['Create the collection together.'], dryRun: [`${UNION}: features is sent by value`] },
    });
    expect((await proposer('POST', `/proposals/${id}/approve`)).status).toBe(403);
    // Nor with a key that the proposer makes, or with one that this key makes.
    const rights = { name: 'second', permissions: ['admin:proposals:write', 'admin:api-keys:write'] };
    let helper = proposer;
    for (let i = 0; i < 2; i++) {
      helper = askerOf((await helper('POST', '/api-keys', rights)).body.data.key);
      const refused = await helper('POST', `/proposals/${id}/approve`);
      expect([refused.status, refused.body.detail]).toEqual([403, expect.stringContaining('same person')]);
    }
    // Nor by somebody who may not execute processes.
    const reader = askerOf(await keyOf('reader', ['admin:proposals:write']));
    expect(await reader('POST', `/proposals/${id}/approve`)).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining('processes:execute') },
    });
    const approval = await chief('POST', `/proposals/${id}/approve`);
    expect([approval.status, approval.body.resolvedBy]).toEqual([200, expect.stringMatching(/^api-key:/)]);
    expect(approval.body).toMatchObject({ status: 'Submitted', executionOperationId: expect.any(String) });
    expect((await ended(id)).status).toBe('Succeeded');
    expect((await analyst.json('/ogc/features/collections/together/items')).numberReturned).toBe(1);
    const { jobs } = await analyst.json('/ogc/processes/jobs');
    expect(jobs.map((job: Json) => [job.processID, job.status])).toEqual([[UNION, 'successful']]);
    for (const [action, sent] of [['approve'], ['reject', { reason: 'late' }]] as const)
      expect((await chief('POST', `/proposals/${id}/${action}`, sent)).status).toBe(409);
  });

  it('does nothing with what somebody rejects', async () => {
    const id = await propose({ inputs: { features: { ...square, bbox: [0, 0, 1, 1] } } });
    expect((await chief('POST', `/proposals/${id}/reject`, { reason: ' ' })).status).toBe(400);
    const { body } = await chief('POST', `/proposals/${id}/reject`, { reason: 'too small' });
    expect(body).toMatchObject({
      status: 'Rejected',
      resolutionReason: 'too small',
      executionOperationId: null,
    });
    const listed = async (query: string): Promise<string[]> =>
      (await chief('GET', `/proposals?${query}`)).body.proposals.map((one: Json) => one.proposalId);
    expect(await listed('status=Rejected')).toEqual([id]);
    expect(await listed('kind=Deploy')).toEqual([]);
    expect((await listed('kind=Nonsense&status=Nonsense'))[0]).toBe(id);
    expect((await chief('GET', '/proposals/nowhere')).status).toBe(404);
  });

  it('says what is wrong before anybody is asked', async () => {
    const response = await analyst.execute(UNION, { inputs: { features: { collection: 'nowhere' } } });
    expect(response.status).toBe(400);
  });

  it('executes nothing for who has lost the access, or what it takes', async () => {
    const { data: key } = (await admin('POST', '/api-keys', { name: 'leaver', permissions: ['processes:*'] }))
      .body;
    const password = 'correct horse battery';
    const user = { name: 'ursula', password, roles: ['administrator'] };
    const { userId } = (await admin('POST', '/../users', user)).body;
    const basic = `Basic ${Buffer.from(`ursula:${password}`).toString('base64')}`;
    const losses = [
      [`Bearer ${key.key}`, () => admin('POST', `/api-keys/${key.apiKey.id}/revoke`), /no longer has access/],
      [basic, () => admin('PUT', `/users/${userId}/roles`, { roles: ['editor'] }), /may no longer execute/],
    ] as const;
    for (const [authorization, lose, reason] of losses) {
      const id = await propose({ inputs: { features: square } }, { authorization });
      expect((await lose()).status).toBe(200);
      expect((await chief('POST', `/proposals/${id}/approve`)).status).toBe(200);
      expect(await ended(id)).toMatchObject({
        status: 'Failed',
        blockingReasons: [expect.stringMatching(reason)],
      });
    }
  });

  it('says why what was approved cannot be executed by now', async () => {
    const publish = { features: { publish: { collection: 'later' } } };
    const id = await propose({ inputs: { features: square }, outputs: publish });
    await analyst.results('geometry.centroid', { inputs: { features: square }, outputs: publish });
    expect((await chief('POST', `/proposals/${id}/approve`)).status).toBe(200);
    const { status, blockingReasons } = await ended(id);
    expect([status, blockingReasons]).toEqual(['Failed', [expect.stringContaining('later')]]);
  });
});
