import { afterEach, beforeEach, expect, it } from 'vitest';
import { createAlertActuators } from '../../src/services/alerts/actuators.js';
import { createJobActuators } from '../../src/services/operate/job-actuators.js';
import { describeStates, type TemporaryState } from '../support/state.js';
import { CLERK, createCaller, openLedger, type TestLedger, waitForEnd } from './support.js';

/** Actions on jobs and on dead letters, with their verifications. */

const CHIEF = createCaller('chief', ['admin:write']);
const OWNER = { owner: 'api-key:owner' };

describeStates('actuators', (temporary) => {
  let t: TemporaryState;
  let server: TestLedger;
  /** Whether the work of jobs succeeds. */
  let works: boolean;
  beforeEach(async () => {
    t = await temporary();
    server = openLedger(t.state);
    works = false;
    const about = { title: 'Work', console: 'TileCache', operationType: 4, resumable: true } as const;
    server.engine.register({
      ...about,
      kind: 'flaky',
      async run() {
        if (!works) throw new Error('it does not work');
        return {};
      },
    });
    server.engine.register({
      ...about,
      kind: 'slow',
      run: ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
        }),
    });
    for (const one of createJobActuators(server.engine)) server.ledger.register(one);
    for (const one of createAlertActuators(t.state.deliveries, new Set(['slack'])))
      server.ledger.register(one);
    server.engine.start();
  });
  afterEach(async () => {
    await server.engine.stop();
    await t.close();
  });

  const approve = async (actuator: string, parameters: object) => {
    const { row } = await server.ledger.propose({ actuator, parameters, requester: CLERK });
    await server.ledger.approve(row.id, CHIEF);
    return row.id;
  };
  const reach = async (read: () => Promise<string | undefined>, state: string) => {
    while ((await read()) !== state) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  const stateOf = async (id: string) => (await t.state.jobs.get(id))!.state;

  it('retry a failed job once, and report if it fails again', async () => {
    const { job } = await server.engine.submit('flaky', {}, OWNER);
    await reach(() => stateOf(job.id), 'Failed');
    const failed = await waitForEnd(t.state, await approve('job.retry', { jobId: job.id }));
    expect([failed.status, JSON.parse(failed.blocking_json)]).toEqual([
      ...['Failed', [expect.stringContaining('The job ended again as Failed')]],
    ]);
    works = true;
    const ended = await waitForEnd(t.state, await approve('job.retry', { jobId: job.id }));
    expect([ended.status, (await t.state.jobs.get(job.id))!.attempt]).toEqual(['Succeeded', 3]);
    const wrong = server.ledger.propose({
      ...{ actuator: 'job.retry', parameters: { jobId: job.id }, requester: CLERK },
    });
    await expect(wrong).rejects.toThrow('parameters.jobId: Only failed and cancelled jobs');
  });

  it('cancel a running job, and nothing else', async () => {
    const [first, second] = [
      (await server.engine.submit('slow', {}, OWNER)).job.id,
      (await server.engine.submit('slow', {}, OWNER)).job.id,
    ];
    for (const id of [first, second]) await reach(() => stateOf(id), 'Running');
    const ended = await waitForEnd(t.state, await approve('job.cancel', { jobId: first }));
    expect([ended.status, await stateOf(first), await stateOf(second)]).toEqual([
      ...['Succeeded', 'Cancelled', 'Running'],
    ]);
    // A job that ended after the proposal is stale.
    const { row } = await server.ledger.propose({
      ...{ actuator: 'job.cancel', parameters: { jobId: second }, requester: CLERK },
    });
    await server.engine.cancel(second);
    await reach(() => stateOf(second), 'Cancelled');
    await server.ledger.approve(row.id, CHIEF);
    const stale = await waitForEnd(t.state, row.id);
    expect(JSON.parse(stale.blocking_json)).toEqual([`stale: Job/${second} changed.`]);
  });

  it('send dead letters again, and wait until the receiver has them', async () => {
    const lane = ':alert:slack';
    await t.state.deliveries.record(
      ['a', 'b', 'c'].map((eventId) => ({ sink: lane, eventId, body: '{}' })) as never,
    );
    const statesOf = async () => (await t.state.deliveries.laneStates([lane]))[0]!;
    const none = server.ledger.propose({
      ...{ actuator: 'alert.channel.redrive', parameters: { receiver: 'slack' }, requester: CLERK },
    });
    await expect(none).rejects.toThrow("'slack' has no dead letters");
    await t.run(`UPDATE deliveries SET state = 'dead_lettered'`);
    const id = await approve('alert.channel.redrive', { receiver: 'slack', maxCount: 2 });
    await reach(async () => (await t.state.proposals.get(id))!.status, 'Reconciling');
    expect(await statesOf()).toMatchObject({ pending: 2, dead: 1 });
    await t.run(`UPDATE deliveries SET state = 'dispatched' WHERE state = 'pending'`);
    const ended = await waitForEnd(t.state, id);
    expect([ended.status, JSON.parse(ended.result_json!)]).toEqual(['Succeeded', { redriven: 2, dead: 1 }]);
    const unknown = server.ledger.propose({
      ...{ actuator: 'alert.channel.redrive', parameters: { receiver: 'email' }, requester: CLERK },
    });
    await expect(unknown).rejects.toThrow("'email' is not a receiver. Use one of slack");
  });
});
