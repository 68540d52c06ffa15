import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from '../../src/core/errors/errors.js';
import { ANONYMOUS } from '../../src/core/http/operation.js';
import { jsonPage } from '../../src/gateway/pages/for-browsers.js';
import type { JobContext } from '../../src/services/jobs/kinds.js';
import { type AdminHarness, adminHarness } from '../admin/support/admin.js';
import { expectSoundPage } from '../pages/structure.js';

describe('console jobs', () => {
  let api: AdminHarness;
  beforeEach(async () => {
    api = await adminHarness();
    api.jobs.register<{ mode: string }, unknown>({
      kind: 'paint',
      title: 'Paint',
      console: 'Geoprocessing',
      operationType: 9,
      resumable: true,
      run: paint,
    });
    api.jobs.start();
  });
  afterEach(() => api.close());

  async function paint(context: JobContext<{ mode: string }>): Promise<string> {
    const { mode } = context.input;
    await context.step('mix', 'Mixing', async () => {});
    if (mode === 'fail' && context.attempt === 1) throw new ApiError('unprocessable', 'The paint is dry.');
    if (mode === 'hang') await sleep(60_000, undefined, { signal: context.signal });
    for (let i = 0; i < 5; i++) await context.log('info', `coat ${i}`);
    const file = { kind: 'image', content_type: 'image/png', size_bytes: 10, location: '/x' };
    for (const label of ['front', 'back']) await context.artifact({ ...file, label });
    return 'done';
  }
  const submit = async (mode: string, extra = {}) =>
    (await api.jobs.submit('paint', { mode }, { owner: 'api-key:a', ...extra })).job.id;
  const get = (jobId: string, rest = '', query = {}) =>
    api.call(`GET /jobs/{jobId}${rest}`, { path: { jobId }, query });
  const list = async (query: Record<string, string> = {}) => (await api.call('GET /jobs', { query })).body;
  const ids = (body: { items: { jobId: string }[] }) => body.items.map((item) => item.jobId);

  it('has pages with a table of jobs, the steps and the log of a job', async () => {
    const id = await submit('fail', { resources: ['collection:trees', 'caller:x'] });
    await api.jobs.finished(id);
    const show = async (rest: string, body: unknown) => {
      const path = `/api/v1/admin/jobs${rest}`;
      const page = jsonPage({
        ...{ baseUrl: 'https://x', path, query: '', principal: ANONYMOUS, format: 'json' },
        json: JSON.stringify(body),
      });
      await expectSoundPage(page);
      return page.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
    };
    expect(await show('', await list())).toMatch(
      /Job Data State .*Paint trees (?:Failed|Succeeded) .* api-key:a/,
    );
    const { body } = await get(id);
    expect(await show(`/${id}`, body)).toMatch(/Run again .*Data trees .*Steps .* mix Succeeded/);
    expect(await show(`/${id}/logs`, (await get(id, '/logs')).body)).toMatch(/Log of the job/);
    expect(await show('', { items: [] })).toContain('There are no jobs.');
  });

  it('shows a job in full', async () => {
    const id = await submit('work', { resources: ['layer:3'], correlationId: 'corr' });
    await api.jobs.finished(id);
    const { body } = await get(id);
    expect(body).toMatchObject({
      jobId: id,
      kind: 'Geoprocessing',
      status: 'Succeeded',
      priority: 'Normal',
      workloadName: 'Paint',
      backend: 'embedded',
      requestedBy: 'api-key:a',
      correlationId: 'corr',
      percentComplete: 100,
      attemptCount: 1,
      maxAttempts: 3,
      artifactCount: 2,
      resourceRefs: ['layer:3'],
      latestEvent: { type: 'job.succeeded', status: 'Succeeded' },
      links: { self: `/api/v1/admin/jobs/${id}` },
      stages: [{ name: 'mix', status: 'Succeeded', percentComplete: 100 }],
      failure: null,
      claimedBy: null,
    });
    expect(body.durationMs).toBeGreaterThanOrEqual(0);
    expect(body.actions.map((one: { allowed: boolean }) => one.allowed)).toEqual([false, false]);
    expect((await get(id, '/steps')).body).toMatchObject({
      state: 'available',
      steps: [{ ordinal: 1, phase: 'mix' }],
    });
  });

  it('diagnoses a job: its last events, all of them page by page, and why it failed', async () => {
    const id = await submit('work');
    await api.jobs.finished(id);
    const diagnose = async (jobId: string, query = {}) => (await get(jobId, '/diagnostics', query)).body;
    const latest = await diagnose(id, { events: '2' });
    const messages = ({ events }: { events: { items: { message: string }[] } }) =>
      events.items.map(({ message }) => message);
    expect(latest).toMatchObject({
      ...{ schema: 'svc.job-diagnostics/v1', jobId: id, lifecycle: 'Succeeded', attempt: 1, failure: null },
      evidence: { missing: [], truncated: ['events'], notes: [] },
      events: { state: 'available', totalCount: 6, limit: 2, truncated: true, mode: 'latest' },
      artifacts: { state: 'available', availableCount: 2, expiredCount: 0, unavailableCount: 0 },
    });
    expect(messages(latest)).toEqual(['coat 3', 'coat 4']);
    const first = await diagnose(id, { events: '4', eventCursor: 'start' });
    const second = await diagnose(id, { events: '4', eventCursor: first.events.nextCursor });
    expect([...messages(first), ...messages(second)]).toEqual([
      'Mixing',
      'coat 0',
      'coat 1',
      'coat 2',
      'coat 3',
      'coat 4',
    ]);
    expect(second.events).toMatchObject({ mode: 'forward', nextCursor: null });
    const fromLatest = await diagnose(id, { eventCursor: latest.events.firstCursor });
    expect(messages(fromLatest)).toEqual(['coat 3', 'coat 4']);
    for (const query of [{ eventCursor: 'x' }, { events: '0' }])
      await expect(diagnose(id, query)).rejects.toMatchObject({ status: 400 });
    const failed = await submit('fail');
    await api.jobs.finished(failed);
    expect(await diagnose(failed)).toMatchObject({
      lifecycle: 'Failed',
      failure: {
        classification: 'execution_failed',
        message: 'The paint is dry.',
        recovery: expect.any(String),
      },
    });
  });

  it('pages logs and artifacts', async () => {
    const id = await submit('work');
    await api.jobs.finished(id);
    const first = (await get(id, '/logs', { limit: '4' })).body;
    const second = (await get(id, '/logs', { limit: '4', cursor: first.nextCursor })).body;
    const messages = [...first.items, ...second.items].map((item: { message: string }) => item.message);
    expect(messages).toEqual(['Mixing', 'coat 0', 'coat 1', 'coat 2', 'coat 3', 'coat 4']);
    expect(second.nextCursor).toBeUndefined();
    const front = (await get(id, '/artifacts', { limit: '1' })).body;
    const back = (await get(id, '/artifacts', { limit: '1', cursor: front.nextCursor })).body;
    expect([...front.items, ...back.items].map((item: { label: string }) => item.label).sort()).toEqual([
      'back',
      'front',
    ]);
    expect(back.nextCursor).toBeUndefined();
    await expect(get(id, '/logs', { limit: '501' })).rejects.toMatchObject({ status: 400 });
    await expect(get(id, '/logs', { cursor: front.nextCursor })).rejects.toMatchObject({ status: 400 });
  });

  it('pages the list newest first without a gap', async () => {
    const made: string[] = [];
    for (let i = 0; i < 7; i++) made.push(await submit('work'));
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await list({ limit: '3', ...(cursor ? { cursor } : {}) });
      seen.push(...ids(page));
      cursor = page.nextCursor;
    } while (cursor);
    expect(new Set(seen)).toEqual(new Set(made));
    expect(seen).toHaveLength(7);
    const times = (await list()).items.map((item: { createdAt: string }) => item.createdAt);
    expect(times).toEqual([...times].sort().reverse());
  });

  it('filters the list', async () => {
    const done = await submit('work', { resources: ['layer:1', 'layer:2'], correlationId: 'c1' });
    const failed = await submit('fail', { owner: 'cli' });
    await Promise.all([done, failed].map((id) => api.jobs.finished(id)));
    expect(ids(await list({ status: 'failed,cancelled' }))).toEqual([failed]);
    expect(ids(await list({ actor: 'cli' }))).toEqual([failed]);
    expect(ids(await list({ requestedBy: 'cli' }))).toEqual([failed]);
    expect(ids(await list({ resourceRef: 'layer:2' }))).toEqual([done]);
    expect(ids(await list({ correlationId: 'c1' }))).toEqual([done]);
    expect(ids(await list({ kind: 'geoprocessing' }))).toHaveLength(2);
    expect(ids(await list({ kind: 'TileCache' }))).toEqual([]);
    expect(ids(await list({ backend: 'embedded' }))).toHaveLength(2);
    expect(ids(await list({ backend: 'cloud' }))).toEqual([]);
    expect(ids(await list({ releaseId: 'r' }))).toEqual([]);
    expect(ids(await list({ from: '2100-01-01T00:00:00Z' }))).toEqual([]);
    expect(ids(await list({ to: '2100-01-01T00:00:00Z' }))).toHaveLength(2);
    const wrong: Record<string, string>[] = [
      { status: 'Done' },
      { status: '1' },
      { limit: '0' },
      { cursor: '!' },
      { from: '2026-01-01' },
    ];
    for (const query of wrong) {
      await expect(list(query)).rejects.toMatchObject({ status: 400 });
    }
  });

  it('cancels and runs again', async () => {
    const hanging = await submit('hang');
    await sleep(100);
    const actions = (await get(hanging, '/actions')).body.actions;
    expect(actions).toMatchObject([
      { name: 'cancel', method: 'POST', allowed: true },
      { name: 'retry', allowed: false },
    ]);
    const cancelled = await api.call('POST /jobs/{jobId}/cancel', { path: { jobId: hanging } });
    expect(cancelled.body).toMatchObject({ jobId: hanging, action: 'cancel' });
    await api.jobs.finished(hanging);
    expect((await get(hanging)).body).toMatchObject({
      status: 'Cancelled',
      failure: { classification: 'cancelled' },
    });

    const failing = await submit('fail');
    await api.jobs.finished(failing);
    expect((await get(failing)).body.failure).toEqual({
      classification: 'execution_failed',
      message: 'The paint is dry.',
    });
    const retried = await api.call('POST /jobs/{jobId}/retry', { path: { jobId: failing } });
    expect(retried.body).toMatchObject({ action: 'retry', status: 'Queued' });
    await api.jobs.finished(failing);
    expect((await get(failing)).body).toMatchObject({
      status: 'Succeeded',
      attemptCount: 2,
      stages: [{ name: 'mix' }],
    });
    for (const what of ['cancel', 'retry']) {
      const refused = api.call(`POST /jobs/{jobId}/${what}`, { path: { jobId: failing } });
      await expect(refused).rejects.toMatchObject({ status: 409 });
    }
  });

  it('answers 404 for a job that is not there', async () => {
    for (const rest of ['', '/logs', '/artifacts', '/actions', '/steps']) {
      await expect(get('nope', rest)).rejects.toMatchObject({ status: 404 });
    }
    const paintJob = await submit('work');
    await expect(api.call('GET /import/jobs/{jobId}', { path: { jobId: paintJob } })).rejects.toMatchObject({
      status: 404,
    });
  });

  it('takes operation types by name and by ordinal', async () => {
    await submit('hang');
    for (const operationType of ['9', 'geoprocessing'])
      await vi.waitFor(async () => {
        const { body } = await api.call('GET /operations/type/{operationType}', { path: { operationType } });
        expect(body).toMatchObject({ OperationType: 9, TotalCount: 1, Operations: [{ type: 9, Status: 1 }] });
      });
    expect((await api.call('GET /operations/active', { query: { type: '1' } })).body.TotalCount).toBe(0);
    for (const operationType of ['15', 'Nothing']) {
      const refused = api.call('GET /operations/type/{operationType}', { path: { operationType } });
      await expect(refused).rejects.toMatchObject({ status: 400 });
    }
  });
});
