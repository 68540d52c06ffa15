import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { convergeServers } from '../../src/services/deploy/converge.js';
import type { DeployStatus } from '../../src/services/deploy/operation-state.js';
import { compile } from '../support/compile.js';
import { describeStates, stateWorker, type TemporaryState } from '../support/state.js';
import { NEXT, OPERATOR, OTHER, openDeployments, runReleases } from './deploy-support.js';

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'none',
    ({ code }: { code: string }) => code,
  );

describeStates('deploy operations', (temporary) => {
  let t: TemporaryState;
  let server: ReturnType<typeof openDeployments>;
  beforeEach(async () => {
    t = await temporary();
    server = openDeployments(t.state);
    await runReleases(t.state, '2026.3.0', '2026.3.0', '2026.3.0');
  });
  afterEach(async () => {
    await server.engine.stop();
    await t.close();
  });

  const create = () => server.deployments.create(NEXT, OPERATOR);
  const waitFor = async (id: string, status: DeployStatus) => {
    for (;;) {
      const one = await server.deployments.get(id);
      if (one.state.status === status) return one;
      const isOver = one.document.body.end !== undefined;
      if (isOver) expect([one.state.status, one.state.message]).toEqual([status, '']);
      await pause(10);
    }
  };
  const approve = async ({ document }: Awaited<ReturnType<typeof create>>) => {
    const { proposalId } = (await t.state.documents.get<{ proposalId: string }>(
      'deploy operation',
      document.id,
    ))!.body;
    await server.ledger.approve(proposalId, OTHER);
    return document.id;
  };
  const start = async () => {
    server.engine.start();
    const id = await approve(await create());
    await waitFor(id, 'Reconciling');
    return id;
  };

  describe('that are approved', () => {
    it('succeed when all servers run the release, and not before', async () => {
      const id = await start();
      await runReleases(t.state, '2026.3.1', '2026.3.1', '2026.3.0');
      await pause(100);
      expect((await server.deployments.get(id)).state.status).toBe('Reconciling');
      // A missing server is not an updated server.
      await runReleases(t.state, '2026.3.1', '2026.3.1');
      await pause(100);
      expect((await server.deployments.get(id)).state.status).toBe('Reconciling');
      expect(await codeOf(server.deployments.promote(id, {}, OPERATOR))).toBe('conflict');
      await runReleases(t.state, '2026.3.1', '2026.3.1', '2026.3.1');
      const { document, jobId } = await waitFor(id, 'Succeeded');
      expect(document.body.end).toMatchObject({ status: 'Succeeded', message: null, jobId });
      expect(jobId).not.toBeNull();
    });

    it('are promoted once, only while the servers run the release', async () => {
      const id = await start();
      await runReleases(t.state, '2026.3.1', '2026.3.1', '2026.3.1');
      await waitFor(id, 'Succeeded');
      await runReleases(t.state, '2026.3.1', '2026.3.0');
      expect(await codeOf(server.deployments.promote(id, {}, OPERATOR))).toBe('conflict');
      await runReleases(t.state);
      expect(await codeOf(server.deployments.promote(id, {}, OPERATOR))).toBe('unavailable');
      await runReleases(t.state, '2026.3.1');
      const { document } = await server.deployments.promote(id, { reason: 'good' }, OPERATOR);
      expect(document.body.promotion).toMatchObject({ by: 'api-key:operator', reason: 'good' });
      expect(await codeOf(server.deployments.promote(id, {}, OPERATOR))).toBe('conflict');
      expect(await codeOf(server.deployments.rollback(id, {}, OPERATOR))).toBe('conflict');
    });

    it('need a person for a rollback, who learns the previous release', async () => {
      const id = await start();
      await runReleases(t.state, '2026.3.1', '2026.3.0', '2026.3.0');
      const { state } = await server.deployments.rollback(id, { reason: 'slow' }, OPERATOR);
      expect([state.status, state.message]).toEqual([
        'ManualInterventionRequired',
        'The server cannot replace servers. Start all servers with the release 2026.3.0, and create a deploy operation to it.',
      ]);
      expect(await codeOf(server.deployments.rollback(id, {}, OPERATOR))).toBe('conflict');
      while (!(await server.deployments.get(id)).document.body.end) await pause(10);
      expect((await server.deployments.get(id)).state.status).toBe('ManualInterventionRequired');
      // The servers are free for the way back.
      const back = await server.deployments.create({ ...NEXT, desiredRevision: '2026.3.0' }, OPERATOR);
      expect(back.state.status).toBe('AwaitingApproval');
    });

    it('are rolled back only if all servers were observed with the previous release', async () => {
      const id = await start();
      expect((await server.deployments.rollback(id, {}, OPERATOR)).state).toMatchObject({
        status: 'RolledBack',
        message: 'All processes run the previous release 2026.3.0.',
      });
    });

    it('end with instructions if the servers are not replaced in time', async () => {
      const other = openDeployments(await t.again(), { verifyMs: 50 });
      other.engine.start();
      const id = await approve(await create());
      const { state } = await waitFor(id, 'ManualInterventionRequired');
      expect(state.message).toBe(
        'manual intervention required: Heartbeats of 3 servers: 3 processes run 2026.3.0. 3 servers ran at the start. Start all servers with the same release, and create another deploy operation.',
      );
      await other.engine.stop();
    });

    it('do nothing if other releases run than when they were proposed', async () => {
      const created = await create();
      await runReleases(t.state, '2026.3.0', '2026.2.9');
      server.engine.start();
      const { state, document } = await waitFor(await approve(created), 'Failed');
      expect(state.message).toBe('stale: DeployTarget/servers changed.');
      expect(document.body.startedAt).toBeUndefined();
      expect(await codeOf(server.deployments.rollback(document.id, {}, OPERATOR))).toBe('conflict');
    });
  });

  it('end with the rejection of their proposal, and free the servers', async () => {
    const { document } = await create();
    expect(await codeOf(create())).toBe('conflict');
    await server.ledger.reject(document.body.proposalId!, 'not today', OTHER);
    const { state, document: after } = await server.deployments.get(document.id);
    expect([state.status, state.message]).toEqual(['Failed', 'The proposal was rejected: not today']);
    // The end remains when the proposal is removed.
    expect(after.body.end?.message).toBe('The proposal was rejected: not today');
    expect((await create()).state.status).toBe('AwaitingApproval');
  });

  it('cannot be proposed past the operation', async () => {
    const { document } = await server.deployments.create({ ...NEXT, submitImmediately: false }, OPERATOR);
    const parameters = { operationId: document.id, ...NEXT };
    const stray = await server.ledger.propose({ actuator: 'deploy.release', parameters, requester: OTHER });
    server.engine.start();
    await server.ledger.approve(stray.row.id, OPERATOR);
    for (;;) {
      const row = (await t.state.proposals.get(stray.row.id))!;
      if (row.status === 'Failed') break;
      expect(row.status).toBe('Submitted');
      await pause(10);
    }
    const { state, document: after } = await server.deployments.get(document.id);
    expect([state.status, after.body.startedAt]).toEqual(['Planned', undefined]);
    expect((await server.deployments.submit(document.id, {}, OPERATOR)).state.status).toBe(
      'AwaitingApproval',
    );
    expect(await codeOf(server.deployments.submit(document.id, {}, OPERATOR))).toBe('conflict');
  });

  it('are created one at a time, from two servers', async () => {
    const other = openDeployments(await t.again());
    const codes = await Promise.all(
      Array.from({ length: 20 }, (_, i) => {
        const { deployments } = i % 2 === 0 ? server : other;
        return codeOf(deployments.create({ ...NEXT, reason: `attempt ${i}` }, OPERATOR));
      }),
    );
    expect(codes.filter((code) => code === 'none')).toHaveLength(1);
    expect(codes.filter((code) => code === 'conflict')).toHaveLength(19);
    const all = await server.deployments.list();
    expect(all.map(({ state }) => state.status)).toEqual(['AwaitingApproval']);
    const waiting = await t.state.proposals.list({ statuses: ['AwaitingApproval'], limit: 100 });
    expect(waiting.map(({ id }) => id)).toEqual([all[0]!.document.body.proposalId]);
  });

  it('are created once with a key, by the same caller', async () => {
    const keyed = { ...NEXT, idempotencyKey: 'k' };
    const other = openDeployments(await t.again());
    const ids = await Promise.all(
      [server, other, server].map(
        async ({ deployments }) => (await deployments.create(keyed, OPERATOR)).document.id,
      ),
    );
    expect(new Set(ids).size).toBe(1);
    const different = { ...keyed, desiredRevision: '2026.3.2' };
    expect(await codeOf(server.deployments.create(different, OPERATOR))).toBe('conflict');
    expect(await codeOf(server.deployments.create(keyed, OTHER))).toBe('conflict');
    expect(await server.deployments.list()).toHaveLength(1);
  });

  it('are refused for pinned servers, another present release, and the release that runs', async () => {
    const pinned = openDeployments(await t.again(), { pinned: ['servers'] });
    const reasons = async (request: object, { deployments } = server) =>
      (await deployments.plan({ ...NEXT, ...request })).blockingReasons;
    expect(await reasons({})).toEqual([]);
    expect(await reasons({ currentRevision: '2026.3.0' })).toEqual([]);
    expect(await reasons({}, pinned)).toEqual([
      "deploy.pinned contains 'servers', so the servers keep their release.",
    ]);
    expect(await reasons({ currentRevision: '2026.2.0' })).toEqual([
      "currentRevision: '2026.2.0' is not the release of all servers: 3 processes run 2026.3.0.",
    ]);
    expect(await reasons({ desiredRevision: '2026.3.0' })).toEqual(['All servers already run 2026.3.0.']);
    expect(await codeOf(pinned.deployments.create(NEXT, OPERATOR))).toBe('conflict');
    expect(await pinned.deployments.list()).toEqual([]);
    const { warnings } = await server.deployments.plan({ ...NEXT, desiredRevision: '2025.12.0' });
    expect(warnings).toEqual([
      '2025.12.0 is older than a release that runs. Read its notes about the state first.',
    ]);
  });

  it('converge to the declared release', async () => {
    const pinned = openDeployments(await t.again(), { pinned: ['servers'] });
    const converge = ({ deployments } = server) => convergeServers(deployments, {}, OPERATOR);
    expect(await converge(pinned)).toMatchObject({ outcome: 'skipped-pinned', operationId: null });
    const created = await converge();
    expect(created).toMatchObject({ outcome: 'operation-created', lastAppliedRevision: null });
    expect(await converge()).toMatchObject({ outcome: 'blocked', operationId: created.operationId });
    server.engine.start();
    await server.ledger.approve(created.proposalId!, OTHER);
    await waitFor(created.operationId!, 'Reconciling');
    await runReleases(t.state, '2026.3.1', '2026.3.1', '2026.3.1');
    await waitFor(created.operationId!, 'Succeeded');
    expect(await converge()).toMatchObject({
      ...{ outcome: 'already-converged', lastAppliedRevision: '2026.3.1' },
      message: '3 processes run 2026.3.1',
    });
    await runReleases(t.state);
    expect(await converge()).toMatchObject({ outcome: 'unknown-treated-divergent' });
  });

  const spawnProcess = (stage: string, mode: 'create' | 'execute') => {
    const script = fileURLToPath(compile('test/operate/deploy-process.ts'));
    const child = spawn(process.execPath, [script, t.place, stateWorker().href, stage, mode], {
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    return { child, ended: once(child, 'exit') as Promise<[number | null, string | null]> };
  };

  const CREATION = ['store', 'propose', 'commit-1'].flatMap((one) => [`before:${one}`, `after:${one}`]);
  it.each(CREATION)(
    'are complete after a repeated request if the server was killed %s',
    { timeout: 60_000 },
    async (stage) => {
      expect(await spawnProcess(stage, 'create').ended).toEqual([null, 'SIGKILL']);
      const { document } = await server.deployments.create({ ...NEXT, idempotencyKey: 'k' }, OPERATOR);
      const all = await server.deployments.list();
      expect(all.map(({ state }) => state.status)).toEqual(['AwaitingApproval']);
      const waiting = await t.state.proposals.list({ statuses: ['AwaitingApproval'], limit: 100 });
      expect(waiting.map(({ id }) => id)).toEqual([document.body.proposalId]);
    },
  );

  const EXECUTION = ['before:act', 'after:act', 'before:verify', 'before:receipt', 'after:receipt'];
  it.each(EXECUTION)(
    'succeed if the server that observes was killed %s',
    { timeout: 120_000 },
    async (stage) => {
      const id = await approve(await create());
      const killed = spawnProcess(stage, 'execute');
      while (killed.child.exitCode === null && killed.child.signalCode === null) {
        const { document } = await server.deployments.get(id);
        if (document.body.startedAt !== undefined) await runReleases(t.state, ...Array(3).fill('2026.3.1'));
        else await runReleases(t.state, ...Array(3).fill('2026.3.0'));
        await pause(50);
      }
      expect(await killed.ended).toEqual([null, 'SIGKILL']);
      server.engine.start();
      for (;;) {
        const { state, document } = await server.deployments.get(id);
        if (document.body.startedAt !== undefined) await runReleases(t.state, ...Array(3).fill('2026.3.1'));
        else await runReleases(t.state, ...Array(3).fill('2026.3.0'));
        if (document.body.end) {
          expect([state.status, state.message]).toEqual(['Succeeded', null]);
          break;
        }
        await pause(50);
      }
    },
  );
});
