import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { compile } from '../support/compile.js';
import { isFullRun } from '../support/soak.js';
import { describeStates, stateWorker, type TemporaryState } from '../support/state.js';

/** A brief run kills once. */
const IS_FULL = isFullRun(import.meta.url);
const full = it.runIf(IS_FULL);
const script = fileURLToPath(compile('test/admin/support/job-child.ts'));

describeStates('jobs of a process that dies', (temporary) => {
  let t: TemporaryState;
  let trace: string;
  const children: ChildProcess[] = [];
  beforeEach(async () => {
    t = await temporary();
    trace = join(t.directory, 'trace.txt');
  });
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    await t.close();
  });

  async function startServer(resumable = true): Promise<ChildProcess> {
    const child = fork(script, [t.place, stateWorker().href, trace, String(resumable)]);
    children.push(child);
    await once(child, 'message');
    return child;
  }
  const submit = async () =>
    (await t.state.jobs.add({ kind: 'count', input: {}, owner: 'me', maxAttempts: 3, resources: [] })).job.id;
  const traced = () => readFileSync(trace, 'utf8').trim().split('\n');
  async function until<T>(read: () => T | Promise<T>, good: (value: T) => boolean): Promise<T> {
    for (let i = 0; i < 2400; i++) {
      const value = await read();
      if (good(value)) return value;
      await sleep(25);
    }
    throw new Error('it did not come to that');
  }
  const atThree = () =>
    until(
      () => t.state.jobs.get(id),
      (job) => (JSON.parse(job!.checkpoint_json ?? '{"next":0}') as { next: number }).next >= 4,
    );
  let id: string;

  it('resumes after kill -9 from the checkpoint, and runs to the end', async () => {
    id = await submit();
    const first = await startServer();
    await atThree();
    first.kill('SIGKILL');
    await once(first, 'exit');
    expect((await t.state.jobs.get(id))?.state).toBe('Running');
    await startServer();
    const job = await until(
      () => t.state.jobs.get(id),
      (row) => row!.state === 'Succeeded',
    );
    expect(job).toMatchObject({ attempt: 2, result_json: '{"counted":10}', fraction: 1, lease_owner: null });
    const numbers = traced().filter((line) => line !== 'cleaned');
    expect([...new Set(numbers)]).toEqual(['1', '2', '3', '4', '5', '6', '7', '8', '9', '10']);
    expect(numbers.filter((n) => n === '1' || n === '2' || n === '3')).toHaveLength(3);
  });

  full('cleans up and fails a job that cannot be resumed', async () => {
    id = await submit();
    const first = await startServer(false);
    await atThree();
    first.kill('SIGKILL');
    await once(first, 'exit');
    await startServer(false);
    const job = await until(
      () => t.state.jobs.get(id),
      (row) => row!.state === 'Failed',
    );
    expect(job?.failure_message).toMatch(/cannot be resumed/);
    expect(traced()).toContain('cleaned');
    expect(traced().filter((line) => line === '1')).toHaveLength(1);
  });

  full('lets a running server take over from one that died, without waiting for a restart', async () => {
    const servers = await Promise.all([startServer(), startServer()]);
    id = await submit();
    const { lease_owner: holder } = (await atThree())!;
    // Host, process id and a random part name an instance.
    servers.find(({ pid }) => holder?.split(':')[1] === String(pid))!.kill('SIGKILL');
    const job = await until(
      () => t.state.jobs.get(id),
      (row) => row!.state === 'Succeeded',
    );
    expect(job?.attempt).toBe(2);
  });

  full('hands a job on at once when it is stopped in order', async () => {
    id = await submit();
    const first = await startServer();
    await atThree();
    first.kill('SIGTERM');
    await once(first, 'exit');
    expect(await t.state.jobs.get(id)).toMatchObject({ state: 'Running', lease_expires_at: 0, attempt: 0 });
    expect(traced()).not.toContain('cleaned');
    await startServer();
    const job = await until(
      () => t.state.jobs.get(id),
      (row) => row!.state === 'Succeeded',
    );
    expect(job?.attempt).toBe(1);
  });

  full('gives a job up that brings the server down again and again', async () => {
    id = await submit();
    for (let i = 0; i < 3; i++) {
      const child = await startServer();
      await until(
        () => t.state.jobs.get(id),
        (row) => row!.attempt === i + 1,
      );
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    await startServer();
    const job = await until(
      () => t.state.jobs.get(id),
      (row) => row!.state === 'Failed',
    );
    expect(job?.failure_message).toMatch(/stopped 3 times while the job ran/);
  });

  full('cancels a job that runs in another process', async () => {
    id = await submit();
    await startServer();
    await atThree();
    await t.state.jobs.cancel(id);
    await until(
      () => t.state.jobs.get(id),
      (row) => row!.state === 'Cancelled',
    );
    expect(traced()).toContain('cleaned');
    expect(traced()).not.toContain('10');
  });
});
