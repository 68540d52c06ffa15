import { afterEach, beforeEach, expect, it } from 'vitest';
import { Autonomy } from '../../src/services/operate/autonomy/autonomy.js';
import type { FindingDraft, OpsRule } from '../../src/services/operate/findings/finding.js';
import { FindingActions } from '../../src/services/operate/findings/finding-actions.js';
import { Findings } from '../../src/services/operate/findings/findings.js';
import { openChain } from '../../src/services/operate/statements.js';
import type { State } from '../../src/stores/state/state.js';
import { describeStates, type TemporaryState } from '../support/state.js';
import {
  CHIEF,
  CLERK,
  createCaller,
  createLampActuator,
  LAMP,
  listEffects,
  openLedger,
  waitForEnd,
} from './support.js';

const RULE = 'lamp-red';
const OWNER = 'user:owner';

/** Lamps that are red, as findings of a rule. */
function findRed(state: State, change: Partial<FindingDraft['action']> = {}): OpsRule {
  return {
    name: RULE,
    async inspect() {
      const lamps = await state.documents.list<{ color: string }>(LAMP);
      return {
        findings: lamps
          .filter(({ body }) => body.color === 'red')
          .map(({ id: lamp }) => ({
            ...{ subject: { targetId: lamp }, severity: 'Warning' as const, title: `${lamp} is red` },
            ...{ explanation: 'Look at it.', evidenceRefs: [`lamp:${lamp}`], facts: { lamp, color: 'red' } },
            action: {
              ...({
                kind: 'AdminConfigChange',
                actuator: 'lamp.set',
                isAutoSafe: true,
                blastRadius: 1,
              } as const),
              ...{ parameters: { lamp, color: 'green' }, summary: 'Set it', reason: 'Red is wrong.' },
              ...change,
            },
          })),
      };
    },
  };
}

/** A server with the workflow over a state. */
function openServer(state: State, rules: readonly OpsRule[], works = true) {
  const server = openLedger(state);
  server.ledger.register(
    createLampActuator(state, {
      name: 'lamp.set',
      acts: 'in-transaction',
      works,
      verifyMs: works ? 2000 : 50,
    }),
  );
  const findings = new Findings({ rules, store: state.findings });
  const onError = (error: unknown) => void server.errors.push(error);
  const actions = new FindingActions({ findings, ledger: server.ledger, autonomy: state.autonomy, onError });
  const autonomy = new Autonomy({
    ...{ store: state.autonomy, rules: findings.rules, hasOwnKey: true },
    countByRule: () => state.proposals.countByRule(),
  });
  return { ...server, findings, actions, autonomy };
}

describeStates('the way from a finding to a verified action', (temporary) => {
  let t: TemporaryState;
  const servers: ReturnType<typeof openServer>[] = [];
  const serve = (state: State, rules = [findRed(state)], works = true) => {
    const server = openServer(state, rules, works);
    servers.push(server);
    return server;
  };
  beforeEach(async () => {
    t = await temporary();
  });
  afterEach(async () => {
    for (const { engine } of servers.splice(0)) await engine.stop();
    await t.close();
  });
  const addLamps = async (...names: string[]) => {
    for (const name of names) await t.state.documents.create(LAMP, name, { color: 'red' }, 'me');
  };
  const findId = async (server: ReturnType<typeof openServer>) =>
    (await server.findings.evaluate()).findings[0]!.id;

  it('goes over a proposal that another person approves, and ends the finding', async () => {
    await addLamps('hall');
    const server = serve(t.state);
    const id = await findId(server);
    const proposed = await server.actions.propose(id, CLERK);
    expect(proposed).toMatchObject({ findingId: id, status: 'ProposalCreated' });
    expect(await server.actions.propose(id, createCaller('other'))).toMatchObject({
      proposalId: proposed.proposalId,
      status: 'ProposalCreated',
    });
    await server.ledger.approve(proposed.proposalId!, CHIEF);
    expect(await server.actions.propose(id, CLERK)).toMatchObject({ status: 'Executed' });
    server.engine.start();
    const ended = await waitForEnd(t.state, proposed.proposalId!);
    expect([ended.status, await listEffects(t.state)]).toEqual(['Succeeded', ['hall green']]);
    const keys = await server.keys.published();
    const { statement, receipt } = await openChain({ ...ended, evidence: ended.evidence_json }, keys);
    expect(statement.payload).toMatchObject({ findingId: id, autonomyRule: RULE });
    expect(JSON.parse(ended.evidence_json!)).toMatchObject({
      facts: { lamp: 'hall', color: 'red' },
      rule: RULE,
    });
    expect(receipt!.payload.outcome).toBe('Succeeded');
    expect((await server.findings.evaluate()).findings).toEqual([]);
    await expect(server.actions.propose(id, CLERK)).rejects.toMatchObject({ code: 'not-found' });
    expect((await server.autonomy.find(RULE))!.record).toMatchObject({
      raised: 1,
      approved: 1,
      autoApplied: 0,
    });
  });

  it('stops at incomplete evidence, at findings that are new, and where there is no action', async () => {
    await addLamps('hall');
    const silent = { ...findRed(t.state) };
    const incomplete: OpsRule = {
      name: RULE,
      inspect: async () => ({ ...(await silent.inspect()), silent: ['server-2'] }),
    };
    const one = serve(t.state, [incomplete]);
    const { findings } = await one.findings.evaluate();
    const id = findings.find(({ rule }) => rule === RULE)!.id;
    expect(await one.actions.propose(id, CLERK)).toEqual({
      ...{ findingId: id, status: 'Blocked' },
      message: 'The evidence is incomplete: no report from server-2.',
    });
    const other = findings.find(({ rule }) => rule === 'evidence-incomplete')!;
    expect(await one.actions.propose(other.id, CLERK)).toMatchObject({ status: 'NotSupported' });
    const young = serve(t.state, [findRed(t.state, { afterMs: 60_000 })]);
    expect(await young.actions.propose(id, CLERK)).toMatchObject({ status: 'Blocked' });
    // The clock of the state is ahead of the one of the server.
    const ahead = serve(t.state);
    await t.run('UPDATE ops_findings SET detected_at = detected_at + 5000');
    expect(await ahead.actions.propose(id, CLERK)).toMatchObject({ status: 'ProposalCreated' });
    await ahead.ledger.reject((await ahead.ledger.list({}))[0]!.row.id, 'only a test', CHIEF);
    await t.run('UPDATE ops_findings SET detected_at = detected_at - 65000');
    expect(await young.actions.propose(id, CLERK)).toMatchObject({ status: 'ProposalCreated' });
  });

  it('lets a policy act exactly as often as its budget says, from two servers', async () => {
    await addLamps(...Array.from({ length: 50 }, (_, n) => `lamp${n}`));
    const two = [serve(t.state), serve(await t.again())];
    await two[0]!.autonomy.change(RULE, OWNER, { mode: 'AutoApply', maxActions: 3 });
    const results = (await Promise.all(two.map(({ actions }) => actions.actByPolicies()))).flat();
    for (const { engine } of two) engine.start();
    const all = await t.state.proposals.list({ limit: 100 });
    expect(all).toHaveLength(50);
    const approved = all.filter(({ job_id }) => job_id !== null);
    expect(approved).toHaveLength(3);
    expect(new Set(approved.map(({ resolved_by }) => resolved_by))).toEqual(new Set([`policy:${RULE}@1`]));
    for (const { id } of approved) expect((await waitForEnd(t.state, id)).status).toBe('Succeeded');
    expect(await listEffects(t.state)).toHaveLength(3);
    const waiting = results.filter(({ status }) => status === 'ProposalCreated');
    expect(waiting.some(({ message }) => message?.includes('all actions of its window'))).toBe(true);
    expect((await two[1]!.autonomy.find(RULE))!.record).toMatchObject({
      raised: 50,
      approved: 0,
      autoApplied: 3,
    });
    expect([...two[0]!.errors, ...two[1]!.errors]).toEqual([]);
  });

  it('does nothing by itself under the kill switch, also after the approval, and lets people act', async () => {
    await addLamps('hall');
    const server = serve(t.state);
    await server.autonomy.change(RULE, OWNER, { mode: 'AutoApply' });
    await server.autonomy.setKillSwitch(true, OWNER);
    expect(await server.actions.actByPolicies()).toMatchObject([{ status: 'ProposalCreated' }]);
    await server.autonomy.setKillSwitch(false, OWNER);
    const [acted] = await server.actions.actByPolicies();
    expect(acted).toMatchObject({ status: 'Executed' });
    await server.autonomy.setKillSwitch(true, OWNER);
    server.engine.start();
    const stopped = await waitForEnd(t.state, acted!.proposalId!);
    expect(JSON.parse(stopped.blocking_json)).toEqual(['stopped: the kill switch is on']);
    expect(await listEffects(t.state)).toEqual([]);
    const id = await findId(server);
    const { proposalId } = await server.actions.propose(id, CLERK);
    await server.ledger.approve(proposalId!, CHIEF);
    expect((await waitForEnd(t.state, proposalId!)).status).toBe('Succeeded');
  });

  it('leaves what could do harm, or is too large, to people', async () => {
    await addLamps('hall');
    const unsafe = serve(t.state, [findRed(t.state, { isAutoSafe: false })]);
    await unsafe.autonomy.change(RULE, OWNER, { mode: 'AutoApply' });
    expect(await unsafe.actions.actByPolicies()).toEqual([]);
    const id = await findId(unsafe);
    expect(await unsafe.actions.propose(id, CLERK)).toMatchObject({
      ...{ status: 'ProposalCreated', message: 'A person must approve this action.' },
    });
    const large = serve(t.state, [findRed(t.state, { blastRadius: 2 })]);
    expect(await large.actions.propose(id, CLERK)).toMatchObject({
      status: 'ProposalCreated',
      message: expect.stringContaining('changes more than the policy allows'),
    });
  });

  it('turns a policy to proposing after two actions without effect', async () => {
    await addLamps('hall', 'door');
    const server = serve(t.state, [findRed(t.state)], false);
    await server.autonomy.change(RULE, OWNER, { mode: 'AutoApply', maxActions: 10 });
    server.engine.start();
    const acted = await server.actions.actByPolicies();
    expect(acted.map(({ status, message }) => [status, message])).toEqual([
      ['Executed', undefined],
      ['Executed', undefined],
    ]);
    for (const { proposalId } of acted)
      expect((await waitForEnd(t.state, proposalId!)).outcome).toBe('ManualInterventionRequired');
    expect(await server.autonomy.find(RULE)).toMatchObject({ mode: 'ProposeOnly' });
    expect(await server.actions.actByPolicies()).toEqual([]);
    expect((await server.autonomy.find(RULE))!.record).toMatchObject({ autoApplied: 2, failed: 2 });
  });
});
