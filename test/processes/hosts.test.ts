import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { taskHosts } from '../support/processes.js';
import { startServerProcess, type TestServer } from '../support/server.js';
import { type Json, ProcessClient } from './support.js';

/** Processes of features run in processes of their own, which may end without the server. */

const MEMORY = 268_435_456;

let server: TestServer;
let client: ProcessClient;

beforeAll(async () => {
  server = await startServerProcess({ env: { SVC_PROCESSES__MEMORY: `${MEMORY}` } });
  client = new ProcessClient(server);
});
afterAll(() => server?.stop());

/** Places in a square of so many degrees, no three of them on a line. */
const places = (count: number, degrees: number) =>
  Array.from({ length: count }, (_, i) => [
    round(((i * 0.754_877_666) % 1) * degrees),
    round(((i * 0.569_840_291) % 1) * degrees),
  ]);
const round = (degrees: number) => Number(degrees.toFixed(6));
const multiPoint = (count: number) => ({ type: 'MultiPoint', coordinates: places(count, 90) });
const small = { inputs: { features: multiPoint(1) } };

async function begin(process: string, inputs: Json): Promise<string> {
  const response = await client.execute(process, { inputs });
  expect(response.status).toBe(201);
  return ((await response.json()) as Json).jobID;
}

const hosts = () => taskHosts(server.process.pid!);

it('says how much memory a job had', async () => {
  const { jobID } = await client.run('geometry.centroid', small);
  const { items } = await client.json(`/api/v1/admin/jobs/${jobID}/logs`);
  const line = items.map(({ message }: Json) => message).find((message: string) => /memory/.test(message));
  const mebibytes = Number(/had (\d+) MiB of memory at most/.exec(line)?.[1]);
  expect(mebibytes).toBeGreaterThan(30);
  expect(mebibytes).toBeLessThan(MEMORY / 2 ** 20);
});

it('ends a job that needs more memory than it may, and nothing else', async () => {
  const id = await begin('geometry.voronoi', { features: multiPoint(250_000) });
  const status = await client.ended(id);
  expect([status.status, status.message]).toEqual([
    'failed',
    `The task needs more memory than a process can use (${MEMORY} bytes). Use less data.`,
  ]);
  expect((await client.run('geometry.centroid', small)).status).toBe('successful');
});

/** Circles that overlap: joining them takes GEOS long. */
const circles = (count: number) => ({
  ...{ features: multiPoint(count), distance: 4, unit: 'crs', segments: 32 },
});

async function running(id: string): Promise<number[]> {
  return vi.waitFor(async () => {
    expect((await client.json(`/ogc/processes/jobs/${id}`)).status).toBe('running');
    const [host] = hosts();
    expect(host).toBeDefined();
    return hosts();
  }, 20_000);
}

it('fails the job whose process is killed, and does the next one', async () => {
  const id = await begin('geometry.buffer', circles(60_000));
  for (const pid of await running(id)) process.kill(pid, 'SIGKILL');
  const status = await client.ended(id);
  expect([status.status, status.message]).toEqual([
    'failed',
    expect.stringContaining('stopped unexpectedly'),
  ]);
  expect((await client.run('geometry.centroid', small)).status).toBe('successful');
});

it('kills a process that does not stop when its job is dismissed', async () => {
  const id = await begin('geometry.buffer', circles(60_000));
  const before = await running(id);
  for (const pid of before) process.kill(pid, 'SIGSTOP');
  expect((await client.dismiss(id)).status).toBe(200);
  await vi.waitFor(() => expect(hosts().filter((pid) => before.includes(pid))).toEqual([]), 20_000);
  expect((await client.ended(id)).status).toBe('dismissed');
});
