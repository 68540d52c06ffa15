import { setTimeout as sleep } from 'node:timers/promises';
import { processGeometries } from '../../src/native/processing.js';
import { blob } from '../support/buildings.js';
import { median, option, publishPart } from '../support/report.js';
import { type GraticuleServer, startGraticule } from '../support/server.js';

/** What a job costs beyond what it computes, and whether a queue of jobs keeps the workers busy. */

const KEY = 'bench-bench-bench-bench';
const HEADERS = { 'x-api-key': KEY, 'content-type': 'application/json' };
const MAX_MS = 15;
/** Jobs at a time, as many as the machine has cores. */
const AT_ONCE = 2;
/** Share of the time that the places for jobs are taken in. */
const MIN_BUSY = 0.95;
const POLL_MS = 250;

const SQUARE = [0, 0, 0.001, 0, 0.001, 0.001, 0, 0.001];
const RING = [
  [0, 0],
  [0.001, 0],
  [0.001, 0.001],
  [0, 0.001],
  [0, 0],
];
const BUFFER = { features: { type: 'Polygon', coordinates: [RING] }, distance: 0.0001, unit: 'crs' };

async function execute(
  { origin }: GraticuleServer,
  process: string,
  inputs: object,
  prefer: string,
): Promise<string> {
  const response = await fetch(`${origin}/ogc/processes/processes/${process}/execution`, {
    method: 'POST',
    headers: { ...HEADERS, prefer },
    body: JSON.stringify({ inputs }),
  });
  const text = await response.text();
  const code = prefer.startsWith('wait') ? 200 : 201;
  if (response.status !== code) throw new Error(`${process}: ${response.status} ${text.slice(0, 300)}`);
  return text;
}

async function latencies(
  server: GraticuleServer,
  process: string,
  inputs: object,
  times: number,
): Promise<number[]> {
  const all: number[] = [];
  // The first tenth warms up.
  for (let i = 0; i < times * 1.1; i++) {
    const begin = performance.now();
    await execute(server, process, inputs, 'wait=30');
    if (i >= times / 10) all.push(performance.now() - begin);
  }
  return all;
}

function bareBuffer(times: number): number[] {
  const square = blob(SQUARE, 4326);
  return Array.from({ length: times }, () => {
    const begin = performance.now();
    processGeometries(
      [square],
      { name: 'buffer', distance: 0.0001 },
      { crs: 'OGC:CRS84', target: 'OGC:CRS84', srsId: 4326 },
    );
    return performance.now() - begin;
  });
}

interface Status {
  status: string;
  started: string;
  finished: string;
}

/** Queues jobs, and tells when each of them began and ended. */
async function drain(server: GraticuleServer, process: string, inputs: object, count: number) {
  const ids: string[] = [];
  for (let i = 0; i < count; i++)
    ids.push(JSON.parse(await execute(server, process, inputs, 'respond-async')).jobID);
  const path = (query: string) => `${server.origin}/ogc/processes/jobs${query}`;
  const get = async (query: string) => (await fetch(path(query), { headers: HEADERS })).json();
  for (;;) {
    const { jobs } = (await get('?status=accepted,running&limit=1')) as { jobs: unknown[] };
    if (jobs.length === 0) break;
    await sleep(POLL_MS);
  }
  const statuses: Status[] = [];
  for (const id of ids) statuses.push((await get(`/${id}`)) as Status);
  const failed = statuses.find(({ status }) => status !== 'successful');
  if (failed) throw new Error(JSON.stringify(failed));
  return statuses.map(({ started, finished }) => [Date.parse(started), Date.parse(finished)] as const);
}

/** Milliseconds from the first begin to the last end, and the share of them that the places for jobs were taken in. */
function useOf(spans: readonly (readonly [begin: number, end: number])[]): { taken: number; ms: number } {
  const ms = Math.max(...spans.map(([, end]) => end)) - Math.min(...spans.map(([begin]) => begin));
  const sum = spans.reduce((all, [begin, end]) => all + end - begin, 0);
  return { taken: sum / (ms * AT_ONCE), ms };
}

export async function measureJobs(): Promise<void> {
  const [rounds, times, queue] = [option('rounds', 3), option('times', 100), option('queue', 1000)];
  const env = { SVC_JOBS__AT_ONCE: String(AT_ONCE) };
  const server = await startGraticule(['demo/data'], { port: 18_140, cores: '0,1', env });
  const echo: number[] = [];
  const buffer: number[] = [];
  const bare: number[] = [];
  const perJob: number[] = [];
  const busy: number[] = [];
  try {
    for (let round = 0; round < rounds; round++) {
      echo.push(median(await latencies(server, 'echo', { doubleInput: 3 }, times)));
      buffer.push(median(await latencies(server, 'geometry.buffer', BUFFER, times)));
      bare.push(median(bareBuffer(times)));
    }
    const { taken, ms } = useOf(await drain(server, 'geometry.buffer', BUFFER, queue));
    perJob.push(ms / queue);
    busy.push(taken);
  } finally {
    await server.stop();
  }
  const figure = (name: string, values: number[]) => ({ name, rounds: { 'wall ms': values } });
  publishPart('jobs', {
    bench: 'processes',
    command: './run bench processes --part jobs',
    about: `Executions with \`Prefer: wait\` over HTTP, one after another: medians of ${times}, the state in a file, and the same buffer of one square in a loop of our addon. Then ${queue.toLocaleString('en')} executions of the buffer that are queued, ${AT_ONCE} at a time.`,
    figures: [
      figure('echo, waited for', echo),
      figure('buffer of a square, waited for', buffer),
      figure('buffer of a square, bare', bare),
      figure(`each of ${queue.toLocaleString('en')} queued jobs`, perJob),
    ],
    ratios: [
      { what: 'echo: milliseconds of a job', rounds: echo, most: MAX_MS },
      {
        what: 'buffer: milliseconds beyond the bare computation',
        rounds: buffer.map((one, i) => one - bare[i]!),
        most: MAX_MS,
      },
      {
        what: 'queued jobs: share of the time that both places for jobs were taken in',
        rounds: busy,
        goal: MIN_BUSY,
      },
    ],
  });
}
