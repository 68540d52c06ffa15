import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { get as getSecure } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServeOptions } from '../../src/cli/settings.js';
import { keepDemoInspections, takeDemoInspections } from './demo-inspections.js';
import { startHosted } from './hosted-server.js';
import { freePort } from './ports.js';
import { alive, family } from './processes.js';

/** A real server of the build output, on a private port and data folder. */
export interface TestServer {
  url: string;
  adminKey: string;
  dataDir: string;
  /** The supervisor, of servers that have processes of their own. */
  readonly process: ChildProcess;
  /** Everything written to standard output and standard error. */
  log(): string;
  /** Asks it to read all sources again (SIGHUP). */
  reload(): void;
  /** Stops it as an operator would; rejects when it does not end in time. */
  stop(): Promise<void>;
  /** Kills all its processes and waits until they are gone, for servers that have processes of their own. */
  kill(): Promise<void>;
}

export interface ServerSetup {
  /** Files and folders to publish; the demo data when absent. */
  sources?: string[];
  args?: string[];
  env?: Record<string, string>;
  /** Reused, not removed at the end, when given. */
  dataDir?: string;
  /** A free one when absent. */
  port?: number;
  /** `serve` when absent. */
  command?: 'serve' | 'worker';
  /** Certificates that are believed in, where the server speaks TLS. */
  ca?: string;
  /** Starts the server in place of itself: it is given the server's command line. */
  launcher?: string[];
}

const ADMIN_KEY = 'test-key-of-the-administrator-1';
/** How long requests and databases may wait says how busy the machine is, and must not decide a test. */
const DEFAULTS = {
  SVC_ADMIN_KEY: ADMIN_KEY,
  SVC_WORKERS__WAIT_MS: '60000',
  SVC_POSTGIS__START_WAIT_MS: '60000',
};
const START_MS = 120_000;
const STOP_MS = 20_000;

/**
 * Starts a server for a test that looks at nothing but what it answers, writes and logs: in a process that has run others
 * before (`host.ts`) where its settings allow it.
 */
export async function startServer(setup: ServerSetup = {}): Promise<TestServer> {
  const place = await placeOf(setup);
  const { port, dataDir, logFile, sources } = place;
  const options = hostedOptions(setup, sources);
  const env = { ...process.env, ...DEFAULTS, ...setup.env };
  const hosted =
    options &&
    (await startHosted({ sources, options: { ...options, port, host: '127.0.0.1', dataDir }, env, logFile }));
  if (!hosted) return startInPlace(setup, place);
  const server = {
    url: `http://127.0.0.1:${port}`,
    adminKey: ADMIN_KEY,
    dataDir,
    log: () => readFileSync(logFile, 'utf8'),
    reload: hosted.reload,
    kill: async (): Promise<void> => refuseProcess(),
    async stop() {
      await hosted.stop();
      if (!setup.dataDir) removeDataFolder(place);
    },
  };
  return Object.defineProperty(server, 'process', { get: refuseProcess }) as TestServer;
}

function refuseProcess(): never {
  throw new Error('the server shares its process: start it by startServerProcess');
}

/** Starts a server in processes of its own, for tests that look at these, kill them, or read what they count. */
export async function startServerProcess(setup: ServerSetup = {}): Promise<TestServer> {
  return startInPlace(setup, await placeOf(setup));
}

async function placeOf(setup: ServerSetup): Promise<Place> {
  const dataDir = setup.dataDir ?? mkdtempSync(join(tmpdir(), 'graticule-test-'));
  const sources = setup.sources ?? ['demo/data'];
  if (!setup.dataDir) takeDemoInspections(sources, dataDir);
  return { port: setup.port ?? (await freePort()), dataDir, logFile: join(dataDir, 'test.log'), sources };
}

function removeDataFolder({ sources, dataDir }: Pick<Place, 'sources' | 'dataDir'>): void {
  keepDemoInspections(sources, dataDir);
  rmSync(dataDir, { recursive: true, force: true });
}

type HostedOptions = Pick<ServeOptions, 'config' | 'publicUrl' | 'crs'>;

/** What a host makes of options of the command line; undefined for one that is wrong, which the command line says. */
const HOSTED_OPTIONS: Readonly<
  Record<string, (value: string, before: HostedOptions) => HostedOptions | undefined>
> = {
  '--config': (config) => ({ config }),
  '--public-url': (publicUrl) => ({ publicUrl }),
  '--crs'(value, { crs: before }) {
    const [file, crs] = value.split('=');
    return file && crs ? { crs: { ...before, [file]: crs } } : undefined;
  },
};

/** Options of the command line that a host knows; undefined for a server that needs a process of its own. */
function hostedOptions(
  { args = [], env = {}, ...setup }: ServerSetup,
  sources: readonly string[],
): HostedOptions | undefined {
  const isSpecial = setup.launcher || setup.ca !== undefined || setup.command === 'worker';
  if (!process.env['GRATICULE_TEST_HOSTS'] || isSpecial) return undefined;
  // Libraries read other variables once; those of secrets are read each time.
  const isRead = (name: string) => /^(SVC|CONNECTION)_/.test(name) && name !== 'SVC_SERVER__PROCESSES';
  if (!Object.keys(env).every(isRead)) return undefined;
  if (!sources.every((source) => source.includes(':') || existsSync(source))) return undefined;
  const options: HostedOptions = {};
  for (let at = 0; at < args.length; at += 2) {
    const option = HOSTED_OPTIONS[args[at]!]?.(args[at + 1]!, options);
    if (!option) return undefined;
    Object.assign(options, option);
  }
  return options;
}

interface Place {
  port: number;
  dataDir: string;
  logFile: string;
  sources: readonly string[];
}

async function startInPlace(
  setup: ServerSetup,
  { port, dataDir, logFile, sources }: Place,
): Promise<TestServer> {
  const out = openSync(logFile, 'a');
  const [command, ...before] = [...(setup.launcher ?? []), process.execPath];
  const child = spawn(
    command!,
    [
      ...before,
      'dist/cli/main.js',
      setup.command ?? 'serve',
      ...sources,
      '--port',
      String(port),
      '--host',
      '127.0.0.1',
      '--data-dir',
      dataDir,
      ...(setup.args ?? []),
    ],
    { stdio: ['ignore', out, out], env: { ...process.env, ...DEFAULTS, ...setup.env } },
  );
  closeSync(out);
  const log = () => readFileSync(logFile, 'utf8');
  const url = `${setup.ca === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
  const gateways = new Set<string>();
  const processes = gatewaysOf(setup);
  await untilReady(
    async () => {
      const gateway = await readyGateway(url, setup.ca);
      if (gateway !== undefined) gateways.add(gateway);
      return gateways.size >= processes;
    },
    child,
    log,
  );
  return {
    url,
    adminKey: ADMIN_KEY,
    dataDir,
    process: child,
    log,
    reload: () => void child.kill('SIGHUP'),
    kill: () => killProcess(child),
    async stop() {
      await stopProcess(child);
      if (!setup.dataDir) removeDataFolder({ sources, dataDir });
    },
  };
}

/** Gateways that share the port. */
function gatewaysOf({ args = [], env = {} }: ServerSetup): number {
  const flag = args.indexOf('--processes');
  return Number(flag < 0 ? (env['SVC_SERVER__PROCESSES'] ?? 1) : args[flag + 1]);
}

/** Name of a gateway that is ready, as its request ids start with; undefined if the one that answers is not ready. */
function readyGateway(url: string, ca: string | undefined): Promise<string | undefined> {
  return new Promise((resolve) => {
    const answer = (response: IncomingMessage) => {
      response.resume();
      const [gateway] = String(response.headers['x-request-id']).split('-');
      resolve(response.statusCode === 200 ? gateway : undefined);
    };
    const call =
      ca === undefined
        ? get(`${url}/healthz/ready`, { agent: false }, answer)
        : getSecure(`${url}/healthz/ready`, { ca, agent: false }, answer);
    call.on('error', () => resolve(undefined));
  });
}

async function untilReady(
  isReady: () => Promise<boolean>,
  child: ChildProcess,
  log: () => string,
): Promise<void> {
  const until = Date.now() + START_MS;
  while (Date.now() < until) {
    if (child.exitCode !== null) throw new Error(`the server ended with code ${child.exitCode}:\n${log()}`);
    if (await isReady()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  child.kill('SIGKILL');
  throw new Error(`the server was not ready in time:\n${log()}`);
}

async function killProcess(child: ChildProcess): Promise<void> {
  const processes = family(child.pid!);
  const ended = child.exitCode === null && child.signalCode === null && once(child, 'exit');
  for (const pid of processes) if (alive(pid)) process.kill(pid, 'SIGKILL');
  await ended;
  while (processes.some(alive)) await new Promise((resolve) => setTimeout(resolve, 10));
}

async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  const [code, signal] = await ended;
  clearTimeout(late);
  if (signal === 'SIGKILL') throw new Error('the server did not stop in time');
  if (code !== 0) throw new Error(`the server stopped with code ${code}`);
}
