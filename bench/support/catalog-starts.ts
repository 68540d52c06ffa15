import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentOf, treeCpuMs } from './peers.js';
import { publishPart } from './report.js';
import { startGraticule } from './server.js';

const PORT = 18_095;
/** Inspections of files that were just written are not kept. */
const RACY_MS = 2500;
const POLL_MS = 100;
const MAX_POLLS = 300;

/** Sources of a server, and how many files they are. */
export interface StartCase {
  readonly name: string;
  readonly sources: readonly string[];
  readonly files: number;
}

interface Start {
  readonly seconds: number;
  readonly cpu: number;
}

/** Starts a server, and stops it when it has written its inspections. */
async function start({ sources, files }: StartCase, dataDir: string): Promise<Start> {
  const began = performance.now();
  const server = await startGraticule(sources, { port: PORT, cores: '0-1', dataDir });
  const seconds = (performance.now() - began) / 1000;
  try {
    const cpu = treeCpuMs(parentOf(server.pid)) / 1000;
    await untilKept(join(dataDir, 'inspections'), files);
    return { seconds, cpu };
  } finally {
    await server.stop();
  }
}

async function untilKept(folder: string, files: number): Promise<void> {
  const countKept = () => (existsSync(folder) ? readdirSync(folder).length : 0);
  for (let i = 0; i < MAX_POLLS && countKept() < files; i++) await sleep(POLL_MS);
  if (countKept() < files) throw new Error(`${countKept()} of ${files} inspections are kept`);
}

/** Seconds of a first start, with an empty data folder, and of a second one. */
export async function measureStarts(
  cases: readonly StartCase[],
  work: string,
  rounds: number,
): Promise<void> {
  await sleep(RACY_MS);
  const columns = () => ({
    ...{ 'first s': [] as number[], 'second s': [] as number[] },
    ...{ 'first CPU s': [] as number[], 'second CPU s': [] as number[] },
  });
  const measured = cases.map(columns);
  for (let round = 0; round < rounds; round++)
    for (const [i, one] of cases.entries()) {
      const dataDir = join(work, 'data-of-starts');
      mkdirSync(dataDir);
      const [first, second] = [await start(one, dataDir), await start(one, dataDir)];
      rmSync(dataDir, { recursive: true });
      const { 'first s': firsts, 'second s': seconds, ...cpu } = measured[i]!;
      firsts.push(first.seconds);
      seconds.push(second.seconds);
      cpu['first CPU s'].push(first.cpu);
      cpu['second CPU s'].push(second.cpu);
    }
  publishPart('starts', {
    bench: 'catalog',
    command: `./run bench catalog --part starts --rounds ${rounds}`,
    about:
      'Seconds from the command to a server that is ready, with an empty data folder (first) and with the inspections of that start (second); seconds of CPU of all its processes until then.',
    figures: cases.map(({ name }, i) => ({ name, rounds: measured[i]! })),
    notes: [`Load average of the machine over the last 5 minutes: ${loadavg()[1]!.toFixed(1)}.`],
    ratios: cases.map(({ name }, i) => ({
      what: `second start / first start, ${name}`,
      rounds: measured[i]!['second s'].map((seconds, round) => seconds / measured[i]!['first s'][round]!),
    })),
  });
}
