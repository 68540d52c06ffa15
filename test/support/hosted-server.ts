import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { ServeOptions } from '../../src/cli/settings.js';
import { GATEWAY_FLAGS } from '../../src/supervisor/supervise.js';

/** What a server is started with in a host. */
export interface HostedStart {
  sources: readonly string[];
  /** Options of `graticule serve`. */
  options: Pick<ServeOptions, 'port' | 'host' | 'dataDir' | 'config' | 'publicUrl' | 'crs'>;
  env: NodeJS.ProcessEnv;
  logFile: string;
}

/** Servers that a host has run when another one takes its place: what they leave behind ends with it. */
const MAX_SERVERS = 40;
/** Hosts of a test process: most files have one server at a time, some two. */
const MAX_HOSTS = 2;
const STOP_MS = 20_000;

/** A process of `host.ts`. */
class Host {
  isBusy = false;
  servers = 0;
  readonly process: ChildProcess = fork('test/support/host.mjs', {
    execArgv: [...GATEWAY_FLAGS],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });

  constructor() {
    this.process.unref();
    this.process.channel?.unref();
  }

  get isAlive(): boolean {
    return this.process.connected;
  }

  /** Gives an order and waits until it is done. Rejects with what went wrong, and when the host ends before. */
  async order(order: 'start' | 'stop', rest: Partial<HostedStart> = {}): Promise<void> {
    const ended = new AbortController();
    this.process.channel?.ref();
    this.process.send({ order, ...rest });
    try {
      const [answer] = (await Promise.race([
        once(this.process, 'message', { signal: ended.signal }),
        once(this.process, 'exit', { signal: ended.signal }).then(([code, signal]) => [
          { failure: `the host of the server ended with ${code ?? signal}` },
        ]),
      ])) as [{ failure?: string }];
      if (answer.failure) throw new Error(answer.failure);
    } finally {
      ended.abort();
      if (this.process.connected) this.process.channel?.unref();
    }
  }

  end(): void {
    if (this.process.connected) this.process.disconnect();
  }
}

/** Of this test process: files that share it share its hosts, whatever modules they load again. */
const HOSTS = Symbol.for('graticule.test.hosts');
const hosts = ((globalThis as Record<symbol, unknown>)[HOSTS] ??= new Set<Host>()) as Set<Host>;

export interface HostedServer {
  reload(): void;
  stop(): Promise<void>;
}

/** Starts a server in a process that has run others before; undefined where all such processes are busy. */
export async function startHosted(start: HostedStart): Promise<HostedServer | undefined> {
  const host = freeHost();
  if (!host) return undefined;
  host.isBusy = true;
  host.servers += 1;
  try {
    await host.order('start', start);
  } catch (error) {
    // What the server had begun is still there.
    host.end();
    throw error;
  }
  return { reload: () => void host.process.kill('SIGHUP'), stop: () => stopHosted(host) };
}

function freeHost(): Host | undefined {
  for (const host of hosts)
    if (!host.isAlive || (!host.isBusy && host.servers >= MAX_SERVERS)) {
      host.end();
      hosts.delete(host);
    }
  const free = [...hosts].find(({ isBusy }) => !isBusy);
  if (free || hosts.size >= MAX_HOSTS) return free;
  const host = new Host();
  hosts.add(host);
  return host;
}

async function stopHosted(host: Host): Promise<void> {
  const late = setTimeout(() => host.process.kill('SIGKILL'), STOP_MS);
  try {
    await host.order('stop');
    host.isBusy = false;
  } finally {
    clearTimeout(late);
  }
}
