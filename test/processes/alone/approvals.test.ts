import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ApiError } from '../../../src/core/errors/errors.js';
import type { Principal } from '../../../src/core/http/operation.js';
import type { Execution } from '../../../src/services/processes/execution.js';
import { type ProposalDraft, Proposals } from '../../../src/services/processes/proposals.js';
import { DocumentStore } from '../../../src/stores/state/documents.js';
import { startServer, type TestServer } from '../../support/server.js';
import { temporaryState } from '../../support/state.js';
import { type Json, ProcessClient } from '../support.js';

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

const sharesOrigin = async (decider: string, author: string) => decider === author;

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
    chief = askerOf(await keyOf('chief', ['admin:proposals:write']));
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

  const outputs = { features: { publish: { collection: 'together' } } };

  it('executes what somebody else approves, for who proposed it', async () => {
    const id = await propose({ inputs: { features: square }, outputs });
    expect(await propose({ inputs: { features: square }, outputs })).toBe(id);
    const { body } = await chief('GET', `/proposals/${id}`);
    expect(body).toMatchObject({
      ...{ proposalId: id, kind: 'Geoprocess', status: 'AwaitingApproval', riskLevel: 'Medium' },
      ...{ actionDiscriminator: UNION, executionOperationId: null, resolvedBy: null },
      ...{ diff: ['The collection together is made.'], dryRun: [`${UNION}: features is sent by value`] },
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
    const approval = await chief('POST', `/proposals/${id}/approve`);
    expect([approval.status, approval.body.resolvedBy]).toEqual([200, expect.stringMatching(/^api-key:/)]);
    expect((await analyst.ended(approval.body.executionOperationId)).status).toBe('successful');
    expect((await analyst.json('/ogc/features/collections/together/items')).numberReturned).toBe(1);
    expect((await chief('GET', `/proposals/${id}`)).body.status).toBe('Succeeded');
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
      const { body } = await chief('POST', `/proposals/${id}/approve`);
      expect(body).toMatchObject({
        ...{ status: 'Failed', executionOperationId: null },
        blockingReasons: [expect.stringMatching(reason)],
      });
    }
  });

  it('says why what was approved cannot be executed by now', async () => {
    const publish = { features: { publish: { collection: 'later' } } };
    const id = await propose({ inputs: { features: square }, outputs: publish });
    await analyst.results('geometry.centroid', { inputs: { features: square }, outputs: publish });
    const { body } = await chief('POST', `/proposals/${id}/approve`);
    expect([body.status, body.blockingReasons]).toEqual(['Failed', [expect.stringContaining('later')]]);
  });
});

describe('proposals', () => {
  const caller = (id: string, tenantId?: string): Principal => ({
    ...{ kind: 'api-key', id, name: id, permissions: [] },
    ...(tenantId === undefined ? {} : { tenantId }),
  });
  const execution = (n: number) => ({ values: { n }, sources: {}, outputs: {}, response: 'document' });
  const draft = (principal: Principal, n = 0): ProposalDraft => ({
    ...{ process: UNION, execution: execution(n) as Execution, principal },
    ...{ baseUrl: 'http://localhost', priority: 'Normal' },
  });
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (error: ApiError) => error.code,
    );

  it('are those of a tenant, and bounded for each caller', async () => {
    const t = await temporaryState();
    const { documents, jobs } = t.state;
    const proposals = new Proposals({ documents, jobs, sharesOrigin, execute: async () => {} });
    const id = await proposals.propose(draft(caller('a', 'north')));
    expect(await codeOf(proposals.get(id, caller('b', 'south')))).toBe('not-found');
    expect((await proposals.list(caller('b', 'south'))).length).toBe(0);
    for (const reader of [caller('b', 'north'), caller('c')])
      expect((await proposals.list(reader)).map((one) => one.id)).toEqual([id]);
    for (let n = 1; n < 100; n++) await proposals.propose(draft(caller('a', 'north'), n));
    expect(await codeOf(proposals.propose(draft(caller('a', 'north'), 100)))).toBe('conflict');
    const ids = (await proposals.list(caller('c'))).map((one) => one.id);
    const old = ids.at(-1)!;
    await proposals.reject(old, 'no', caller('c'));
    expect((await proposals.list(caller('c'), { status: 'Rejected' })).map((one) => one.id)).toEqual([old]);
    // What is decided counts no more, and is not read.
    const list = vi.spyOn(DocumentStore.prototype, 'list');
    await proposals.propose(draft(caller('a', 'north'), 100));
    expect((await Promise.all(list.mock.results.map(({ value }) => value))).map((all) => all.length)).toEqual(
      [99],
    );
    expect(JSON.stringify(await list.mock.results[0]!.value)).not.toContain('values');
    list.mockRestore();
    const large = { ...draft(caller('d')), baseUrl: 'x'.repeat(65_536) };
    expect(await codeOf(proposals.propose(large))).toBe('payload-too-large');
    await t.close();
  });

  it('are gone with what they proposed, long after they were decided', async () => {
    const t = await temporaryState();
    const { documents, jobs } = t.state;
    const proposals = new Proposals({ documents, jobs, sharesOrigin, execute: async () => {} });
    vi.useFakeTimers({ toFake: ['Date'] });
    try {
      const day = 86_400_000;
      const id = await proposals.propose(draft(caller('a')));
      vi.setSystemTime(Date.now() + 80 * day);
      await proposals.reject(id, 'no', caller('b'));
      vi.setSystemTime(Date.now() + 80 * day);
      await proposals.propose(draft(caller('a')));
      expect((await proposals.get(id, caller('b'))).draft.process).toBe(UNION);
      vi.setSystemTime(Date.now() + 20 * day);
      await proposals.propose(draft(caller('a'), 1));
      expect(await codeOf(proposals.get(id, caller('b')))).toBe('not-found');
      const kinds = ['process proposal', 'process proposal draft', 'process proposal that waits'];
      const all = await Promise.all(kinds.map((kind) => documents.list(kind)));
      expect(all.map(({ length }) => length)).toEqual([2, 2, 2]);
    } finally {
      vi.useRealTimers();
      await t.close();
    }
  });

  it('are executed by a second approval after a crash', async () => {
    const t = await temporaryState();
    const { documents, jobs } = t.state;
    const ids: string[] = [];
    let isDown = true;
    const proposals = new Proposals({
      ...{ documents, jobs, sharesOrigin },
      execute: async (_draft, jobId) => {
        ids.push(jobId);
        if (isDown) throw new Error('killed');
      },
    });
    const id = await proposals.propose(draft(caller('a')));
    await expect(proposals.approve(id, caller('b'))).rejects.toThrow('killed');
    expect(await codeOf(proposals.reject(id, 'no', caller('b')))).toBe('conflict');
    isDown = false;
    expect((await proposals.approve(id, caller('b'))).status).toBe('Executing');
    expect(new Set(ids).size).toBe(1);
    await t.close();
  });
});
