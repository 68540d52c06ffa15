import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { family } from '../support/processes.js';
import { type Host, spawnOn } from './network.js';
import { childOf } from './processes.js';

export const ADMIN_KEY = 'test-key-of-the-administrator-1';
const PORT = 8080;
const START_MS = 120_000;

/** What a server answers now: all that it publishes, what lies in files, or nothing that is sure. */
export type Reach = 'all' | 'files' | 'nothing';

export interface ServerSetup {
  host: Host;
  folder: string;
  sources: string[];
  env: Record<string, string>;
  /** Comes before the command of the server. */
  launcher?: string[];
}

/** A server on a host of its own, with process numbers of its own. */
export class FaultyServer {
  readonly url: string;
  readonly name: string;
  /** Grows with each fault: what was asked before may not be answered. */
  faults = 0;
  #reach: Reach = 'nothing';
  readonly #log: string;
  #process: ChildProcess | undefined;

  constructor(private readonly setup: ServerSetup) {
    const { host, folder } = setup;
    this.name = host.name;
    this.url = `http://${host.address}:${PORT}`;
    mkdirSync(folder, { recursive: true });
    this.#log = `${folder}/test.log`;
  }

  get reach(): Reach {
    return this.#reach;
  }

  /** A fault begins. */
  fail(reach: Reach = 'nothing'): void {
    this.faults++;
    this.#reach = reach;
  }

  get host(): Host {
    return this.setup.host;
  }

  /** What it wrote, without the requests that were answered well. */
  log(): string {
    const lines = readFileSync(this.#log, 'utf8').split('\n');
    return lines.filter((line) => !/"StatusCode":(2|4)/.test(line)).join('\n');
  }

  async start(): Promise<void> {
    const { host, folder, sources, env, launcher = [] } = this.setup;
    const out = openSync(this.#log, 'a');
    const place = ['--port', String(PORT), '--host', '0.0.0.0', '--data-dir', folder];
    const command = [...launcher, process.execPath, 'dist/cli/main.js', 'serve', ...sources, ...place];
    this.#process = spawnOn(host, command, {
      apart: true,
      stdio: ['ignore', out, out],
      env: { ...process.env, SVC_ADMIN_KEY: ADMIN_KEY, SVC_WORKERS__WAIT_MS: '60000', ...env },
    });
    closeSync(out);
    await this.untilReady();
  }

  /** Until it says that it is ready, and has published its database; from then on it must answer all. */
  async untilReady(): Promise<void> {
    for (const late = Date.now() + START_MS; ; await pause(100)) {
      const signal = AbortSignal.timeout(5000);
      const answers = (path: string) =>
        fetch(this.url + path, { signal }).then(
          ({ ok }) => ok,
          () => false,
        );
      const ready =
        (await answers('/healthz/ready')) && (await answers('/ogc/features/collections/spots?f=json'));
      if (ready) break;
      if (Date.now() > late || this.#process!.exitCode !== null)
        throw new Error(`${this.name} was not ready in time:\n${this.log().slice(-5000)}`);
    }
    this.#reach = 'all';
  }

  /** All its processes at once. */
  async kill(): Promise<void> {
    if (!this.#isRunning) return;
    this.fail();
    const ended = once(this.#process!, 'exit');
    process.kill(childOf(this.#process!.pid!), 'SIGKILL');
    await ended;
  }

  /** As an operator stops it; answers with the code that it ended with. */
  async stop(): Promise<number | null> {
    if (!this.#isRunning) return null;
    const ended = once(this.#process!, 'exit') as Promise<[number | null]>;
    process.kill(childOf(this.#process!.pid!), 'SIGTERM');
    return (await ended)[0];
  }

  pause(): void {
    this.#signal('SIGSTOP');
  }

  resume(): void {
    this.#signal('SIGCONT');
  }

  #signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    for (const pid of family(childOf(this.#process!.pid!))) process.kill(pid, signal);
  }

  get #isRunning(): boolean {
    const running = this.#process;
    return running !== undefined && running.exitCode === null && running.signalCode === null;
  }
}
