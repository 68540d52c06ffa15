import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ApiError } from '../../../src/core/errors/errors.js';
import { JobEngine, type JobNews } from '../../../src/services/jobs/engine.js';
import type { JobContext, JobKind } from '../../../src/services/jobs/kinds.js';
import { sharePlaces } from '../../../src/services/jobs/places.js';
import { jobQueue, uploadQueue } from '../../../src/services/telemetry/store-metrics.js';
import { JobRuns } from '../../../src/stores/jobs/job-runs.js';
import { describeStates, type TemporaryState } from '../../support/state.js';

describeStates('job engine', (temporary) => {
  let t: TemporaryState;
  let jobs: JobEngine;
  let errors: unknown[];
  beforeEach(async () => {
    t = await temporary();
    errors = [];
    jobs = new JobEngine(t.state.jobs, { leaseMs: 1500, pollMs: 30, onError: (error) => errors.push(error) });
  });
  afterEach(async () => {
    await jobs.stop();
    await t.close();
  });

  function kind(run: (context: JobContext<never>) => Promise<unknown>, extra: Partial<JobKind<never>> = {}) {
    jobs.register<never, unknown>({
      kind: 'k',
      title: 'K',
      console: 'Geoprocessing',
      operationType: 9,
      resumable: true,
      run,
      ...extra,
    });
    jobs.start();
  }
  const submit = async (input: unknown = {}, key?: string) =>
    (await jobs.submit('k', input, { owner: 'me', ...(key ? { idempotencyKey: key } : {}) })).job.id;
  const forever = (context: JobContext<never>) => sleep(60_000, undefined, { signal: context.signal });

  it('runs a job with its input and keeps result, steps, logs and artifacts', async () => {
    kind(async (context) => {
      const { n } = context.input as { n: number };
      const doubled = await context.step('double', 'Doubling', async () => n * 2);
      await context.warn('odd');
      const file = { label: 'out', kind: 'file', content_type: 'text/plain', size_bytes: 1, location: '/x' };
      await context.artifact(file);
      return { doubled };
    });
    const id = await submit({ n: 21 });
    const job = await jobs.finished(id);
    expect(job).toMatchObject({
      state: 'Succeeded',
      result_json: '{"doubled":42}',
      warnings_json: '["odd"]',
    });
    expect(await t.state.jobs.steps(id)).toMatchObject([
      { ordinal: 1, phase: 'double', status: 'Succeeded' },
    ]);
    expect((await t.state.jobs.logs(id, 0, 10)).map((line) => line.message)).toEqual(['Doubling', 'odd']);
    expect(await t.state.jobs.artifacts(id)).toMatchObject([{ label: 'out' }]);
  });

  it('goes on where something could not be told of it, and not where it could not be kept', async () => {
    const away = new Error('the state is away');
    vi.spyOn(JobRuns.prototype, 'beginStep').mockRejectedValueOnce(away);
    vi.spyOn(JobRuns.prototype, 'log').mockRejectedValueOnce(away);
    kind(async (context) => {
      if ((context.input as { keeps?: boolean }).keeps) await context.checkpoint({ n: 1 });
      await context.step('a', 'A', async () => {});
      await context.step('b', 'B', async () => {});
      return { done: true };
    });
    const id = await submit();
    expect(await jobs.finished(id)).toMatchObject({ state: 'Succeeded', attempt: 1 });
    expect(errors).toEqual([away, away]);
    expect((await t.state.jobs.steps(id)).map(({ phase, status }) => [phase, status])).toEqual([
      ['b', 'Succeeded'],
    ]);
    vi.spyOn(JobRuns.prototype, 'checkpoint').mockRejectedValueOnce(away);
    expect((await jobs.finished(await submit({ keeps: true }))).state).toBe('Failed');
    vi.restoreAllMocks();
  });

  it('runs only jobs of its owner where it has one, also such that another instance left behind', async () => {
    kind(async () => {});
    await jobs.stop();
    const add = (owner: string) =>
      t.state.jobs.add({ kind: 'k', input: {}, owner, maxAttempts: 3, resources: [] });
    const queued = (await add('api-key:1')).job.id;
    const own = (await add('command line')).job.id;
    const command = new JobEngine(t.state.jobs, { owner: 'command line', pollMs: 30 });
    command.register({
      ...{ kind: 'k', title: 'K', console: 'Geoprocessing', operationType: 9, resumable: true },
      run: async () => ({}),
    });
    command.start();
    expect((await command.finished(own)).state).toBe('Succeeded');
    // Several looks later.
    await sleep(200);
    const lost = new JobRuns(t.state.jobs.db, 'lost');
    expect((await lost.claim({ kinds: ['k'], leaseMs: 1 }))?.job.id).toBe(queued);
    await sleep(200);
    await command.stop();
    expect(await t.state.jobs.get(queued)).toMatchObject({ state: 'Running', attempt: 1 });
  });

  it('writes nothing of a run whose lease another instance holds', async () => {
    kind(async () => {});
    await jobs.stop();
    const id = await submit();
    const search = { kinds: ['k'], leaseMs: 60_000 };
    const [holder, other] = ['a', 'b'].map((name) => new JobRuns(t.state.jobs.db, name));
    await holder!.claim(search);
    const step = { attempt: 1, phase: 'p', message: 'm' };
    const line = { at: 1, level: 'info', message: 'm', phase: null };
    const file = { id: 'f', label: 'l', kind: 'k', content_type: 't', size_bytes: 1, location: '/x' };
    const write = async (runs: JobRuns) => [
      await runs.beginStep(id, step),
      await runs.beginStep(id, step),
      await runs.log(id, line),
      await runs.endStep(id, 1, 'Succeeded'),
      await runs.addArtifact(id, { ...file, created_at: 1 }),
    ];
    expect(await write(other!)).toEqual([undefined, undefined, false, false, false]);
    expect(await t.state.jobs.steps(id)).toEqual([]);
    expect(await write(holder!)).toEqual([1, 2, true, true, true]);
    expect((await t.state.jobs.steps(id)).map(({ status }) => status)).toEqual(['Succeeded', 'Running']);
    expect((await t.state.jobs.logs(id, 0, 10)).length).toBe(1);
  });

  it('reports progress to observers at once and to the row as it goes', async () => {
    const seen: (number | null)[] = [];
    let watched = false;
    kind(async (context) => {
      for (let i = 1; !watched; i++) {
        context.progress(Math.min(i / 1000, 0.9));
        await sleep(20);
      }
      context.progress(1);
    });
    const id = await submit();
    jobs.observe(id, (news: JobNews) => seen.push(news.fraction));
    const half = await vi.waitFor(async () => {
      const row = await jobs.get(id);
      expect(row.fraction).toBeGreaterThan(0);
      expect(row.eta_ms).toBeGreaterThan(0);
      return row;
    }, 10_000);
    watched = true;
    expect(half.fraction).toBeLessThan(1);
    await jobs.finished(id);
    expect(seen).toEqual([...seen].sort((a, b) => a! - b!));
    expect(seen.at(-1)).toBe(1);
  });

  it('tells how many jobs wait and run, and how many uploads wait', async () => {
    kind(forever, { ofUpload: true });
    for (let n = 0; n < 3; n++) await submit();
    await vi.waitFor(() => {
      expect(jobQueue.cell('Running', 'embedded').value).toBe(2);
      expect(jobQueue.cell('Queued', 'embedded').value).toBe(1);
      expect(uploadQueue.samples()).toEqual([{ labels: {}, value: 1 }]);
    }, 10_000);
  });

  it('keeps the reason of a failure when it has a meaning, and hides it when it has none', async () => {
    kind(async (context) => {
      if ((context.input as { known: boolean }).known)
        throw new ApiError('unprocessable', 'The file is empty.');
      throw new TypeError('secret detail');
    });
    const known = await jobs.finished(await submit({ known: true }));
    expect(known).toMatchObject({ failure_code: 'unprocessable', failure_message: 'The file is empty.' });
    const unknown = await jobs.finished(await submit({ known: false }));
    expect(unknown.failure_code).toBe('internal');
    expect(unknown.failure_message).not.toContain('secret');
    expect(errors).toMatchObject([{ message: 'secret detail' }]);
  });

  it('cancels a running job through its signal, and cleans up', async () => {
    const cleaned: string[] = [];
    kind(forever, { cleanup: async (_input, id) => void cleaned.push(id) });
    const id = await submit();
    await sleep(100);
    await jobs.cancel(id);
    expect(await jobs.finished(id)).toMatchObject({ state: 'Cancelled', failure_code: 'cancelled' });
    expect(cleaned).toEqual([id]);
    expect((await jobs.cancel(id)).state).toBe('Cancelled');
  });

  it('cancels a waiting job at once, refuses to cancel an ended one', async () => {
    const cleaned: string[] = [];
    jobs = new JobEngine(t.state.jobs, { concurrency: 1, pollMs: 30 });
    kind(forever, { cleanup: async (_input, id) => void cleaned.push(id) });
    const ids = [await submit(), await submit()];
    const readState = async (id: string) => (await t.state.jobs.get(id))?.state;
    // Of two jobs of one millisecond either may run first.
    const running = await vi.waitFor(async () => {
      for (const id of ids) if ((await readState(id)) === 'Running') return id;
      throw new Error('neither runs yet');
    });
    const waiting = ids.find((id) => id !== running)!;
    expect((await jobs.cancel(waiting)).state).toBe('Cancelled');
    expect(cleaned).toEqual([waiting]);
    await jobs.cancel(running);
    await jobs.finished(running);
    await expect(jobs.cancel('nope')).rejects.toMatchObject({ code: 'not-found' });
  });

  it('runs a failed job again when asked, and no other', async () => {
    kind(async (context) => {
      if (context.attempt === 1) throw new ApiError('unavailable', 'Not now.');
      return 'done';
    });
    const id = await submit();
    expect((await jobs.finished(id)).state).toBe('Failed');
    await jobs.retry(id);
    expect(await jobs.finished(id)).toMatchObject({ state: 'Succeeded', attempt: 2, failure_code: null });
    await expect(jobs.retry(id)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('gives the same job for the same idempotency key of the same owner', async () => {
    kind(async () => 1);
    const first = await submit({}, 'once');
    expect(await submit({}, 'once')).toBe(first);
    expect((await jobs.submit('k', {}, { owner: 'you', idempotencyKey: 'once' })).job.id).not.toBe(first);
  });

  it('runs no more at once than it may, and each job once over two engines', async () => {
    const other = new JobEngine((await t.again()).jobs, { concurrency: 2, pollMs: 30 });
    let now = 0;
    let most = 0;
    const ran: string[] = [];
    const run = async (context: JobContext<never>) => {
      ran.push(context.id);
      most = Math.max(most, ++now);
      await sleep(30);
      now -= 1;
    };
    kind(run);
    other.register<never, unknown>({ ...jobs.kindOf('k')!, run } as JobKind<never>);
    other.start();
    const ids = await Promise.all(Array.from({ length: 12 }, () => submit()));
    await Promise.all(ids.map((id) => jobs.finished(id)));
    expect(ran.sort()).toEqual(ids.sort());
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(4);
    await other.stop();
  });

  it('lets the long jobs of one owner hold up nobody', async () => {
    jobs = new JobEngine(t.state.jobs, { concurrency: 3, pollMs: 30, places: sharePlaces(3) });
    const ran: string[] = [];
    const run = (context: JobContext<never>) => {
      ran.push((context.input as { name: string }).name);
      return forever(context);
    };
    const row = { title: 'L', console: 'Geoprocessing', operationType: 9, resumable: true } as const;
    jobs.register<never, unknown>({ ...row, kind: 'long', isLong: true, run });
    const add = async (kind: string, name: string, owner: string) =>
      (await jobs.submit(kind, { name }, { owner })).job.id;
    await add('long', 'weak 1', 'weak');
    await add('long', 'weak 2', 'weak');
    await add('long', 'other', 'other');
    await add('long', 'third', 'third');
    kind(run);
    await expect.poll(() => ran.length).toBe(2);
    // Rows of one millisecond have no order of their own.
    const owners = (names: string[]) => new Set(names.map((name) => name.slice(0, 4)));
    expect(owners(ran).size).toBe(2);
    // The place that is left is for what people wait for, of an owner with a long job too.
    await add('k', 'import', 'weak');
    await expect.poll(() => ran.length).toBe(3);
    expect(ran[2]).toBe('import');
  });

  it('leaves a place to the others where one owner has many jobs', async () => {
    jobs = new JobEngine(t.state.jobs, { concurrency: 3, pollMs: 30, places: sharePlaces(3) });
    const ran: unknown[] = [];
    kind((context) => {
      ran.push(context.input);
      return forever(context);
    });
    await Promise.all([submit(1), submit(2), submit(3)]);
    await expect.poll(() => ran.length).toBe(2);
    await jobs.submit('k', 'other', { owner: 'you' });
    await expect.poll(() => ran.length).toBe(3);
    expect(ran[2]).toBe('other');
  });

  it('fails a job that runs longer than its kind may', async () => {
    jobs = new JobEngine(t.state.jobs, { pollMs: 30, deadlinesMs: { k: 100 } });
    kind(forever);
    const end = await jobs.finished(await submit());
    expect(end).toMatchObject({ state: 'Failed', failure_code: 'deadline-exceeded' });
    expect(end.failure_message).toContain('jobs.deadlines.k');
  });

  it('runs what a job waits for beside it where one may run at a time', async () => {
    jobs = new JobEngine(t.state.jobs, { concurrency: 1, pollMs: 30 });
    const row = { title: 'P', console: 'Geoprocessing', operationType: 9, resumable: true } as const;
    jobs.register<never, string>({
      ...row,
      kind: 'parent',
      waits: true,
      run: async ({ signal }) => (await jobs.finished(await submit(), signal)).state,
    });
    kind(async () => {});
    const { job } = await jobs.submit('parent', {}, { owner: 'me' });
    const end = jobs.finished(job.id, AbortSignal.timeout(60_000));
    expect(await end).toMatchObject({ state: 'Succeeded', result_json: '"Succeeded"' });
  });

  it('leaves a job to another machine until its lease has run out', async () => {
    const job = { kind: 'k', input: {}, owner: 'me', maxAttempts: 3, resources: [] };
    const { id } = (await t.state.jobs.add(job)).job;
    const search = { kinds: ['k'], leaseMs: 60_000 };
    const runs = new JobRuns(t.state.jobs.db, 'here:2:y');
    await new JobRuns(t.state.jobs.db, 'elsewhere:1:x').claim(search);
    expect(await runs.claim(search)).toBeUndefined();
    await t.state.jobs.db.updateTable('jobs').set({ lease_expires_at: Date.now() }).execute();
    expect(await runs.claim(search)).toMatchObject({
      job: { id },
      takenOver: true,
    });
  });

  it('does not begin a job of its own again when heartbeats are late', async () => {
    // A lease of no length has run out whenever the engine looks.
    const late = new JobEngine(t.state.jobs, { leaseMs: 0, pollMs: 5 });
    let begun = 0;
    const run = async () => {
      begun += 1;
      await sleep(100);
    };
    late.register<never, unknown>({
      kind: 'k',
      title: 'K',
      console: 'Geoprocessing',
      operationType: 9,
      resumable: true,
      run,
    });
    late.start();
    const { job } = await late.submit('k', {}, { owner: 'me' });
    expect(await late.finished(job.id)).toMatchObject({ state: 'Succeeded', attempt: 1 });
    await late.stop();
    expect(begun).toBe(1);
  });

  it('stops a run whose lease was taken, and leaves the row to the new holder', async () => {
    let reason: unknown;
    kind(async (context) => {
      await forever(context).catch(() => {
        reason = context.signal.reason;
      });
      throw reason;
    });
    const id = await submit();
    await sleep(60);
    const { db } = t.state.jobs;
    await db
      .updateTable('jobs')
      .set({ lease_owner: 'someone', lease_expires_at: Date.now() + 60_000 })
      .execute();
    await vi.waitFor(() => expect(reason).toMatchObject({ reason: 'lease-lost' }), 20_000);
    expect(await jobs.get(id)).toMatchObject({ state: 'Running', lease_owner: 'someone' });
  });
});
