import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EnginePool } from '../../src/workers/engine/client.js';
import { DEM, ENGINE, eventually, fileRaster, ROOT, scratchDirectory } from './support.js';

const CHILD = join(ROOT, 'test/engine/fixtures/child.mjs');
const TIMING = {
  firstRestartMs: 50,
  lastRestartMs: 400,
  servedRestartMs: 400,
  stableMs: 5000,
  startMs: 10_000,
  drainMs: 500,
};

let scratch: ReturnType<typeof scratchDirectory>;
let supervisor: ChildProcess;
let output = '';
let exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;

beforeEach(() => {
  scratch = scratchDirectory();
  output = '';
  writeFileSync(notesPath(), '');
  writeFileSync(join(scratch.path, 'config'), 'first');
});
afterEach(async () => {
  supervisor.kill('SIGKILL');
  await exited;
  await eventually(() => pids().every((pid) => !alive(pid)));
  scratch.remove();
});

const notesPath = () => join(scratch.path, 'notes');
const notes = () => readFileSync(notesPath(), 'utf8').trim().split('\n').filter(Boolean);
const notesOf = (role: string, what: string) =>
  notes().filter((line) => line.startsWith(role) && line.endsWith(what));
const pids = () => notes().map((line) => Number(/: (\d+) /.exec(line)?.[1]));
const said = (text: string) => output.includes(text);

function alive(pid: number): boolean {
  try {
    // A zombie still has an entry, but no program any more.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

function start(extra: Record<string, string> = {}, more: object = {}): void {
  const env = { ...extra, TEST_NOTES: notesPath(), TEST_CONFIG: join(scratch.path, 'config') };
  const options = {
    gateways: 2,
    engines: 1,
    runDir: join(scratch.path, 'run'),
    gatewayEntry: CHILD,
    engineEntry: CHILD,
    timing: TIMING,
    gatewayEnv: env,
    engineEnv: env,
    ...more,
  };
  supervisor = spawn(
    process.execPath,
    [join(ROOT, 'test/engine/fixtures/supervised.mjs'), JSON.stringify(options)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  supervisor.stdout!.on('data', (bytes: Buffer) => {
    output += bytes;
  });
  exited = new Promise((resolve) => supervisor.once('exit', (code, signal) => resolve({ code, signal })));
}

const ready = () => eventually(() => said('"event":"ready"'));

it('starts all children and stops them in order on SIGTERM', async () => {
  start();
  await ready();
  expect(notesOf('gateway', 'starts')).toHaveLength(2);
  expect(notesOf('engine', 'starts')).toHaveLength(1);
  supervisor.kill('SIGTERM');
  expect(await exited).toEqual({ code: 0, signal: null });
  const order = notes()
    .filter((line) => line.endsWith('drains'))
    .map((line) => line.split(/[ :]/)[0]);
  expect(order).toEqual(['gateway', 'gateway', 'engine']);
  expect(pids().some(alive)).toBe(false);
});

it('kills a child that does not drain in time', async () => {
  start({ TEST_DEAF: 'gateway 1' });
  await ready();
  supervisor.kill('SIGINT');
  expect(await exited).toEqual({ code: 0, signal: null });
  expect(pids().some(alive)).toBe(false);
});

it('exits at once on a second signal', async () => {
  start({ TEST_DEAF: 'gateway 1' }, { timing: { ...TIMING, drainMs: 20_000 } });
  await ready();
  supervisor.kill('SIGTERM');
  await eventually(() => notesOf('gateway', 'drains').length === 2);
  supervisor.kill('SIGTERM');
  expect((await exited).code).toBe(1);
  await eventually(() => !pids().some(alive));
});

it('leaves no orphan when it is killed itself', async () => {
  start();
  await ready();
  supervisor.kill('SIGKILL');
  await exited;
  await eventually(() => !pids().some(alive), 3000);
});

it('restarts a crashed child, ever more slowly', async () => {
  start({ TEST_CRASHING: 'engine', TEST_CRASHES: '4' });
  const times: number[] = [];
  await eventually(() => {
    const count = notesOf('engine', 'starts').length;
    while (times.length < count) times.push(Date.now());
    return count === 5;
  });
  // Delays are 50, 100, 200 and 400 ms; a start takes some time of its own.
  expect(times[4]! - times[3]!).toBeGreaterThanOrEqual(400);
  expect(said('engine 1 exited by SIGSEGV')).toBe(true);
  expect(notesOf('gateway', 'starts')).toHaveLength(2);
});

it('does not let wait for long a child that served before it ended', async () => {
  start(
    { TEST_CRASHING: 'engine', TEST_CRASHES: '9' },
    { timing: { ...TIMING, lastRestartMs: 60_000, servedRestartMs: 60 } },
  );
  // Delays that double would be 25 seconds together.
  await eventually(() => notesOf('engine', 'starts').length === 10);
});

it('does not retry a configuration error and hands its message on', async () => {
  start({ TEST_MISCONFIGURED: 'gateway 1' }, { gateways: 1 });
  expect((await exited).code).toBe(78);
  expect(said('port: 99999 is not a port')).toBe(true);
  expect(notesOf('gateway 1', 'starts')).toHaveLength(1);
  expect(pids().some(alive)).toBe(false);
});

it('gives up on a gateway that cannot start three times in a row', async () => {
  start({ TEST_FAILING: 'gateway 1' }, { gateways: 1 });
  expect((await exited).code).toBe(1);
  expect(notesOf('gateway 1', 'starts')).toHaveLength(3);
  expect(said('failed to start 3 times in a row')).toBe(true);
  expect(pids().some(alive)).toBe(false);
});

it('starts a gateway again and again while another one serves', async () => {
  start({ TEST_FAILING: 'gateway 2' }, { gateways: 2 });
  await eventually(() => notesOf('gateway 2', 'starts').length > 4);
  expect(said('Other gateways continue')).toBe(true);
  expect(notesOf('gateway 1', 'starts')).toHaveLength(1);
  supervisor.kill('SIGTERM');
  expect(await exited).toEqual({ code: 0, signal: null });
});

it('waits for a child that is still at work, and not for one that is stuck', async () => {
  start({ TEST_SLOW: 'gateway 1', TEST_STUCK: 'engine' }, { timing: { ...TIMING, startMs: 3000 } });
  await eventually(() => said('"ready"'), 60_000);
  expect(notesOf('gateway 1', 'starts')).toHaveLength(1);
  expect(notesOf('engine', 'starts').length).toBeGreaterThan(1);
  expect(said('the supervisor killed engine 1: it made no progress')).toBe(true);
});

it('reloads all gateways or none', async () => {
  start();
  await ready();
  writeFileSync(join(scratch.path, 'config'), 'second');
  supervisor.kill('SIGHUP');
  await eventually(() => notesOf('gateway', 'serves second').length === 2);
  writeFileSync(join(scratch.path, 'config'), 'bad');
  supervisor.kill('SIGHUP');
  await eventually(() => said('keeping the previous configuration: line 3 is wrong'));
  await eventually(() => notesOf('gateway 1', 'forgot bad').length === 1);
  expect(notesOf('gateway', 'serves bad')).toHaveLength(0);
  expect(notesOf('engine', 'prepared second')).toHaveLength(0);
});

it('starts the successor first when an engine asks to be replaced', async () => {
  start({ TEST_REPLACED: 'engine' });
  await eventually(() => notesOf('engine', 'drains').length === 1);
  const engine = notes()
    .filter((line) => line.startsWith('engine'))
    .map((line) => line.split(' ').slice(1));
  expect(engine.map(([, what]) => what)).toEqual(['starts', 'starts', 'drains']);
  expect(engine[2]![0]).toBe(engine[0]![0]);
  await eventually(() => !alive(Number(engine[0]![0])));
  expect(alive(Number(engine[1]![0]))).toBe(true);
});

it('keeps real engines serving through crashes and leaves no socket behind', async () => {
  start({}, { engines: 2, engineEntry: ENGINE, gateways: 1, timing: { ...TIMING, drainMs: 5000 } });
  await ready();
  const runDir = join(scratch.path, 'run');
  const pool = new EnginePool({ runDir });
  await eventually(() => pool.status()[0]!.workers === 2);
  const window = {
    bbox: [-3886000, -895000, -3878000, -887000] as const,
    crs: 'EPSG:3857',
    width: 300,
    height: 300,
  };
  const tasks = Array.from({ length: 50 }, () =>
    pool.run('raster.image', { ...window, source: fileRaster(DEM), format: 'png' }),
  );
  await eventually(() => pool.status()[0]!.running > 10);
  process.kill(enginePids()[0]!, 'SIGSEGV');
  expect(await Promise.all(tasks)).toHaveLength(50);
  await eventually(() => pool.status()[0]!.workers === 2);
  const engines = enginePids();
  supervisor.kill('SIGKILL');
  await exited;
  await eventually(() => !engines.some(alive), 3000);
  await pool.close();
  start({}, { engines: 1, engineEntry: ENGINE, gateways: 1 });
  await eventually(() => existsSync(runDir) && readdirSync(runDir).join() === 'engine-1-1.sock');
  supervisor.kill('SIGTERM');
  await exited;
  expect(readdirSync(runDir)).toEqual([]);
});

function enginePids(): number[] {
  const children = readFileSync(`/proc/${supervisor.pid}/task/${supervisor.pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .map(Number);
  return children.filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('graticule: engine'));
}
