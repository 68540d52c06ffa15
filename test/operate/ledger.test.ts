import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ApiError } from '../../src/core/errors/errors.js';
import type { Actuator } from '../../src/services/actions/actuator.js';
import { openChain } from '../../src/services/operate/statements.js';
import { describeStates, type TemporaryState } from '../support/state.js';
import {
  CHIEF,
  CLERK,
  createCaller,
  createLampActuator,
  LAMP,
  listEffects,
  openLedger,
  type TestLedger,
  waitForEnd,
} from './support.js';

const WAYS: readonly Actuator['acts'][] = ['in-transaction', 'in-own-transaction', 'repeatably'];
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: ApiError) => error.code,
  );

describeStates('a ledger of actions', (temporary) => {
  let t: TemporaryState;
  let server: TestLedger;
  beforeEach(async () => {
    t = await temporary();
    server = openLedger(t.state);
    for (const acts of WAYS)
      server.ledger.register(createLampActuator(t.state, { name: `lamp.${acts}`, acts }));
    await t.state.documents.create(LAMP, 'hall', { color: 'red' }, 'me');
    await t.state.documents.create(LAMP, 'door', { color: 'red' }, 'me');
  });
  afterEach(async () => {
    await server.engine.stop();
    await t.close();
  });

  const propose = async (color: string, acts = WAYS[0], further: object = {}) =>
    (
      await server.ledger.propose({
        ...{ actuator: `lamp.${acts}`, parameters: { lamp: 'hall', color }, requester: CLERK },
        ...further,
      })
    ).row.id;
  const colorOf = async (lamp: string) =>
    (await t.state.documents.get<{ color: string }>(LAMP, lamp))!.body.color;

  it.each(WAYS)('executes an approved action that acts %s, once, with a chain of seals', async (acts) => {
    server.engine.start();
    const document = { rule: 'lamp-red', measured: 1 };
    const digest = (await import('../../src/services/operate/statements.js')).computeEvidenceDigest(document);
    const id = await propose('green', acts, { evidence: { digest, document }, findingId: 'lamp-1' });
    expect(await propose('green', acts, { evidence: { digest, document }, findingId: 'lamp-1' })).toBe(id);
    expect(await codeOf(server.ledger.approve(id, CLERK))).toBe('forbidden');
    const own = await propose('own', acts, { requester: CHIEF });
    await expect(server.ledger.approve(own, CHIEF)).rejects.toThrow('by its author');
    expect(await codeOf(server.ledger.approve(id, createCaller('other')))).toBe('forbidden');
    expect(await codeOf(server.ledger.approve(id, CHIEF, ['other']))).toBe('precondition-failed');
    const { row } = await server.ledger.approve(id, CHIEF, [id]);
    expect([row.status, row.resolved_by]).toEqual(['Submitted', 'api-key:chief']);
    expect(await codeOf(server.ledger.approve(id, CHIEF))).toBe('conflict');
    const ended = await waitForEnd(t.state, id);
    expect([ended.status, ended.outcome, ended.blocking_json]).toEqual(['Succeeded', 'Succeeded', '[]']);
    expect([await colorOf('hall'), await listEffects(t.state)]).toEqual(['green', ['hall green']]);
    const chain = await openChain({ ...ended, evidence: ended.evidence_json }, await server.keys.published());
    expect(chain.receipt?.payload).toMatchObject({ outcome: 'Succeeded', operationId: row.job_id });
    expect(chain.statement.payload).toMatchObject({ evidence: digest, findingId: 'lamp-1' });
    const job = await server.engine.finished(row.job_id!);
    expect([job.state, await server.engine.retryRefusal({ ...job, state: 'Failed' })]).toEqual([
      'Succeeded',
      'An approval is used once. Propose the action again.',
    ]);
    const artifacts = await t.state.jobs.artifacts(row.job_id!);
    expect(artifacts.map(({ kind }) => kind).sort()).toEqual([
      ...['svc-approval+jws', 'svc-proposal+jws', 'svc-receipt+jws'],
    ]);
    expect(server.errors).toEqual([]);
  });

  it.each(WAYS)('does nothing %s if the target has changed, and ignores other changes', async (acts) => {
    const [stale, fresh] = [await propose('green', acts), undefined];
    await server.ledger.approve(stale, CHIEF);
    await t.state.documents.put(LAMP, 'hall', { color: 'blue' }, 'someone');
    server.engine.start();
    const ended = await waitForEnd(t.state, stale);
    expect([ended.status, JSON.parse(ended.blocking_json)]).toEqual([
      'Failed',
      ['stale: Lamp/hall changed.'],
    ]);
    expect([await colorOf('hall'), await listEffects(t.state)]).toEqual(['blue', []]);
    await server.engine.stop();
    const next = fresh ?? (await propose('green', acts));
    await server.ledger.approve(next, CHIEF);
    await t.state.documents.put(LAMP, 'door', { color: 'blue' }, 'someone');
    server.engine.start();
    expect((await waitForEnd(t.state, next)).status).toBe('Succeeded');
  });

  it('reports an action without effect as manual intervention, or as rolled back if the undo is shown', async () => {
    server.engine.start();
    const cases = [
      ['no undo', {}, 'Failed', 'ManualInterventionRequired'],
      ['shown', { works: false, undo: 'works' }, 'RolledBack', 'RolledBack'],
      ['not shown', { works: true, undo: 'does nothing' }, 'Failed', 'ManualInterventionRequired'],
    ] as const;
    for (const [name, options, status, outcome] of cases) {
      await t.state.documents.put(LAMP, 'hall', { color: 'red' }, 'me');
      const actuator = createLampActuator(t.state, {
        ...{ name: `lamp.${name.replace(' ', '-')}`, acts: 'in-transaction', works: false, verifyMs: 100 },
        ...options,
      });
      // An effect that is not the promised one.
      const verify = async () => ({ state: 'pending' as const, message: 'It is still dark.' });
      server.ledger.register({ ...actuator, verify } as Actuator);
      const { row } = await server.ledger.propose({
        ...{ actuator: actuator.name, parameters: { lamp: 'hall', color: 'green' }, requester: CLERK },
      });
      await server.ledger.approve(row.id, CHIEF);
      const ended = await waitForEnd(t.state, row.id);
      expect([name, ended.status, ended.outcome]).toEqual([name, status, outcome]);
      const [reason] = JSON.parse(ended.blocking_json) as string[];
      expect(reason).toContain('It is still dark.');
      expect(reason!.includes('Set the lamp by hand.')).toBe(outcome === 'ManualInterventionRequired');
    }
  });

  it('verifies an effect that comes late', async () => {
    server.engine.start();
    const actuator = createLampActuator(t.state, { name: 'lamp.late', acts: 'in-transaction', works: false });
    server.ledger.register(actuator);
    const { row } = await server.ledger.propose({
      ...{ actuator: 'lamp.late', parameters: { lamp: 'hall', color: 'green' }, requester: CLERK },
    });
    await server.ledger.approve(row.id, CHIEF);
    while ((await t.state.proposals.get(row.id))!.status !== 'Reconciling')
      await new Promise((resolve) => setTimeout(resolve, 5));
    await t.state.documents.put(LAMP, 'hall', { color: 'green' }, 'slow');
    expect((await waitForEnd(t.state, row.id)).status).toBe('Succeeded');
  });

  it('executes one of 200 approvals from two servers', async () => {
    const other = openLedger(await t.again());
    for (const acts of WAYS)
      other.ledger.register(createLampActuator(t.state, { name: `lamp.${acts}`, acts }));
    server.engine.start();
    other.engine.start();
    const id = await propose('green');
    const results = await Promise.all(
      Array.from({ length: 200 }, (_, n) => codeOf((n % 2 ? server : other).ledger.approve(id, CHIEF))),
    );
    expect(results.filter((code) => code === undefined).length).toBe(1);
    expect(new Set(results)).toEqual(new Set([undefined, 'conflict']));
    expect((await waitForEnd(t.state, id)).status).toBe('Succeeded');
    expect(await listEffects(t.state)).toEqual(['hall green']);
    await other.engine.stop();
  });

  it('lets policies approve with a key outside the database, within their limits', async () => {
    const policy = { rule: 'lamp-red', version: 3, setBy: 'api-key:owner' };
    const open = openLedger(t.state, { stateKey: '' });
    const first = await propose('green');
    expect(await codeOf(open.ledger.approveByPolicy(first, policy, async () => {}))).toBe('conflict');
    const refuse = server.ledger.approveByPolicy(first, policy, async () => {
      throw new Error('the budget is spent');
    });
    await expect(refuse).rejects.toThrow('the budget is spent');
    expect((await t.state.proposals.get(first))!.status).toBe('AwaitingApproval');
    let stop: string | undefined;
    server.ledger.guardPolicies(async () => stop);
    const settled: unknown[] = [];
    server.ledger.onSettled(async (_stores, one) => void settled.push(one));
    await server.ledger.approveByPolicy(first, policy, async () => {});
    stop = 'the kill switch is on';
    server.engine.start();
    const stopped = await waitForEnd(t.state, first);
    expect(JSON.parse(stopped.blocking_json)).toEqual(['stopped: the kill switch is on']);
    expect(await listEffects(t.state)).toEqual([]);
    stop = undefined;
    const second = await propose('green', 'repeatably', { autonomyRule: 'lamp-red' });
    await server.ledger.approveByPolicy(second, policy, async () => {});
    const ended = await waitForEnd(t.state, second);
    const { receipt } = await openChain({ ...ended, evidence: null }, await server.keys.published());
    expect(receipt?.payload).toMatchObject({ outcome: 'Succeeded', policy });
    expect(ended.resolved_by).toBe('policy:lamp-red@3');
    expect(settled).toMatchObject([
      { proposalId: first, outcome: 'Failed', isUnverified: false },
      { proposalId: second, outcome: 'Succeeded', autonomyRule: 'lamp-red' },
    ]);
  });

  it('leaves actions that this version does not know to other servers, and ends cancelled ones', async () => {
    const newer = {
      ...createLampActuator(t.state, { name: 'lamp.new', acts: 'in-transaction' }),
      version: 2,
    };
    const other = openLedger(t.state);
    other.ledger.register(newer as Actuator);
    const parameters = { lamp: 'hall', color: 'green' };
    const ids: string[] = [];
    for (const color of ['green', 'blue'])
      ids.push(
        (
          await other.ledger.propose({
            actuator: 'lamp.new',
            parameters: { ...parameters, color },
            requester: CLERK,
          })
        ).row.id,
      );
    for (const id of ids) await other.ledger.approve(id, CHIEF);
    server.engine.start();
    const known = await propose('white');
    await server.ledger.approve(known, CHIEF);
    expect((await waitForEnd(t.state, known)).status).toBe('Succeeded');
    expect((await t.state.proposals.get(ids[0]!))!.status).toBe('Submitted');
    await other.engine.cancel((await t.state.proposals.get(ids[1]!))!.job_id!);
    const cancelled = await waitForEnd(t.state, ids[1]!);
    expect([cancelled.status, cancelled.outcome]).toEqual(['Failed', 'Failed']);
    expect(cancelled.receipt).not.toBeNull();
    other.engine.start();
    expect(JSON.parse((await waitForEnd(t.state, ids[0]!)).blocking_json)).toEqual([
      'stale: Lamp/hall changed.',
    ]);
    await other.engine.stop();
  });

  it('refuses expired proposals, and removes old ones', async () => {
    const [old, expired] = [await propose('green'), await propose('blue')];
    await t.run(`UPDATE proposals SET updated_at = 1 WHERE id = '${old}'`);
    await t.run(`UPDATE proposals SET expires_at = 1 WHERE id = '${expired}'`);
    await expect(server.ledger.approve(expired, CHIEF)).rejects.toThrow('expired');
    const other = openLedger(t.state);
    other.ledger.register(
      createLampActuator(t.state, { name: 'lamp.in-transaction', acts: 'in-transaction' }),
    );
    const parameters = { lamp: 'hall', color: 'white' };
    await other.ledger.propose({ actuator: 'lamp.in-transaction', parameters, requester: CLERK });
    expect(await codeOf(server.ledger.get(old, CHIEF))).toBe('not-found');
    expect((await server.ledger.get(expired, CHIEF)).row.status).toBe('AwaitingApproval');
  });

  it('shows proposals to their tenant, and limits those of a caller', async () => {
    const north = createCaller('a', [], 'north');
    const ids: string[] = [];
    for (let n = 0; n < 100; n++) ids.push(await propose(`c${n}`, WAYS[0], { requester: north }));
    expect(await codeOf(propose('more', WAYS[0], { requester: north }))).toBe('conflict');
    expect(await codeOf(server.ledger.get(ids[0]!, createCaller('b', [], 'south')))).toBe('not-found');
    expect((await server.ledger.list(createCaller('b', [], 'south'))).length).toBe(0);
    for (const reader of [createCaller('b', [], 'north'), CHIEF])
      expect((await server.ledger.list(reader)).map(({ row }) => row.id)[99]).toBe(ids[0]);
    await server.ledger.reject(ids[0]!, 'no', CHIEF);
    expect(await codeOf(server.ledger.reject(ids[0]!, 'no', CHIEF))).toBe('conflict');
    expect((await server.ledger.list(CHIEF, { status: 'Rejected' })).map(({ row }) => row.id)).toEqual([
      ids[0],
    ]);
    await propose('more', WAYS[0], { requester: north });
    expect(await codeOf(propose('x'.repeat(70_000)))).toBe('payload-too-large');
    const wrong = server.ledger.propose({ actuator: 'lamp.off', parameters: {}, requester: CLERK });
    await expect(wrong).rejects.toThrow(
      "there is no actuator 'lamp.off'. Use one of lamp.in-own-transaction",
    );
    const missing = server.ledger.propose({
      ...{ actuator: 'lamp.repeatably', parameters: { lamp: 'hall' }, requester: CLERK },
    });
    expect(await codeOf(missing)).toBe('invalid-body');
  });
});
