import { afterEach, beforeEach, expect, it } from 'vitest';
import { type JobPriority, parsePriorityHeader } from '../../src/core/jobs/job-priority.js';
import type { JobSearch } from '../../src/stores/jobs/job-runs.js';
import { JobRuns } from '../../src/stores/jobs/job-runs.js';
import { describeStates, type TemporaryState } from '../support/state.js';

it.each([
  [undefined, 'Normal'],
  ['u=0', 'Critical'],
  ['u=1', 'High'],
  ['i, u=5', 'Low'],
  ['u=3;x', 'Normal'],
  ['u=9', 'Normal'],
  ['u=10', 'Normal'],
  ['x="u=1"', 'Normal'],
])('reads the urgency of %j', (header, priority) => expect(parsePriorityHeader(header)).toBe(priority));

describeStates('shares of jobs', (temporary) => {
  let t: TemporaryState;
  beforeEach(async () => {
    t = await temporary();
  });
  afterEach(() => t.close());

  interface Row {
    id: string;
    owner: string;
    kind?: string;
    tenant?: string;
    priority?: JobPriority;
  }

  async function add(...rows: Row[]) {
    for (const [i, row] of rows.entries()) {
      await t.state.jobs.add({ kind: 'k', input: {}, maxAttempts: 3, resources: [], ...row });
      // One after the other, whatever the clock says.
      await t.state.jobs.db.updateTable('jobs').set({ created_at: i }).where('id', '=', row.id).execute();
    }
  }

  /** The ids of the jobs that are leased one after the other, until none may be. */
  async function claimAll(search: Partial<JobSearch> = {}): Promise<string[]> {
    const runs = new JobRuns(t.state.jobs.db, 'elsewhere:1:x');
    const ids: string[] = [];
    for (;;) {
      const claim = await runs.claim({ kinds: ['k', 'parent'], leaseMs: 60_000, ...search });
      if (!claim) return ids;
      ids.push(claim.job.id);
    }
  }

  it('gives owners their turns, however many jobs one of them has', async () => {
    await add(
      { id: 'a1', owner: 'a' },
      { id: 'a2', owner: 'a' },
      { id: 'a3', owner: 'a' },
      { id: 'b1', owner: 'b' },
      { id: "c'1", owner: "c'" },
    );
    expect(await claimAll()).toEqual(['a1', 'b1', "c'1", 'a2', 'a3']);
  });

  it('gives tenants their turns before the owners of one', async () => {
    await add(
      { id: 'x1', owner: 'a', tenant: 'x' },
      { id: 'x2', owner: 'b', tenant: 'x' },
      { id: 'y1', owner: 'c', tenant: 'y' },
      { id: 'y2', owner: 'c', tenant: 'y' },
    );
    expect(await claimAll()).toEqual(['x1', 'y1', 'x2', 'y2']);
  });

  it('runs the urgent ones first', async () => {
    await add(
      { id: 'low', owner: 'a', priority: 'Low' },
      { id: 'normal', owner: 'a' },
      { id: 'critical', owner: 'a', priority: 'Critical' },
      { id: 'high', owner: 'b', priority: 'High' },
    );
    expect(await claimAll()).toEqual(['critical', 'high', 'normal', 'low']);
  });

  it('runs no more of an owner or a tenant than may, and counts no job that waits for others', async () => {
    await add(
      { id: 'parent', owner: 'a', kind: 'parent' },
      { id: 'a1', owner: 'a' },
      { id: 'a2', owner: 'a' },
      { id: 'x1', owner: 'b', tenant: 'x' },
      { id: 'x2', owner: 'c', tenant: 'x' },
      { id: 'parent2', owner: 'a', kind: 'parent' },
    );
    const waiting = ['parent'];
    expect(await claimAll({ waiting, limits: { kinds: {}, perOwner: 1, perTenant: 1 } })).toEqual([
      ...['parent', 'a1', 'x1', 'parent2'],
    ]);
    expect(await claimAll({ waiting, limits: { kinds: { k: 2 } } })).toEqual([]);
    expect(await claimAll({ waiting, limits: { kinds: { k: 3 }, perTenant: 1 } })).toEqual(['a2']);
  });

  it('counts no job whose lease has run out', async () => {
    await add({ id: 'a1', owner: 'a' }, { id: 'a2', owner: 'a' });
    const limits = { kinds: {}, perOwner: 1 };
    expect(await claimAll({ limits })).toEqual(['a1']);
    await t.state.jobs.db.updateTable('jobs').set({ lease_expires_at: 1 }).where('id', '=', 'a1').execute();
    expect(await claimAll({ limits })).toEqual(['a1']);
  });
});
