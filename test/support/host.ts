/**
 * A process that runs one server after the other (`host.mjs` starts it from a bundle), for tests of servers that depend on
 * nothing of their process. A server uses the compiled code and the engines of the one before. Each has its own port, data
 * folder, state and threads, and is closed as `graticule serve` closes it.
 */
import type { ChildProcess } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { appendFileSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { claimDataFolder } from '../../src/cli/local.js';
import { engineCount, mapFlagsToSettings } from '../../src/cli/settings.js';
import type { Config } from '../../src/core/config/config.js';
import type { Gateway } from '../../src/gateway/start/gateway.js';
import { readConfig, serveGateway } from '../../src/gateway/start/serve.js';
import { remoteHosts } from '../../src/services/storage/hosts.js';
import { createLog, type Log } from '../../src/services/telemetry/log.js';
import { type ChildHandlers, type SupervisorLink, takeMessages } from '../../src/supervisor/child.js';
import type { ReloadScope, ToChild } from '../../src/supervisor/messages.js';
import { Reloader } from '../../src/supervisor/reload.js';
import type { SlotChild } from '../../src/supervisor/slot.js';
import { supervise } from '../../src/supervisor/supervise.js';
import { REMOTE_ALLOW_VARIABLE } from '../../src/workers/engine/settings.js';
import type { HostedStart } from './hosted-server.js';

const DRAIN_MS = 8000;

interface RunningServer {
  gateway: Gateway;
  log: Log;
  folder: ReturnType<typeof claimDataFolder>;
  secrets: [string, string | undefined][];
  reload: ReloadLoop['reload'];
}

// Commands tell the process of this name that data has changed.
process.title = 'graticule: supervisor';
process.umask(0o077);
// Engines start without the flags of gateways, as under a supervisor: V8 takes compiled code only with the flags that it has.
process.execArgv.length = 0;

/** Folders of the sockets of engines, by what the engines were started with. */
const engines = new Map<string, Promise<string>>();
let running: RunningServer | undefined;

process.on('message', ({ order, ...rest }: HostedStart & { order: 'start' | 'stop' }) => {
  const work = order === 'start' ? start(rest) : stop();
  work.then(
    () => process.send!({ done: order }),
    (error) => process.send!({ done: order, failure: String(error?.stack ?? error) }),
  );
});
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
process.on('SIGHUP', () => running?.reload('SIGHUP'));

/** Variables of secrets, which a server reads from its process. */
const secretsOf = (env: NodeJS.ProcessEnv) =>
  Object.entries(env).filter(([name]) => name.startsWith('CONNECTION_'));

async function start({ sources, options, env, logFile }: HostedStart): Promise<void> {
  const secrets = secretsOf(env);
  const place = { start: { flags: mapFlagsToSettings(sources, options), configFile: options.config }, env };
  const { config } = readConfig(place);
  const folder = claimDataFolder(resolve(config.data.directory));
  const runDir = await startEngines(config);
  const output = openSync(logFile, 'a');
  const loop = new ReloadLoop();
  Object.assign(process.env, Object.fromEntries(secrets));
  try {
    const { gateway, log } = await serveGateway({
      ...place,
      runDir,
      first: true,
      join: (handlers) => loop.join(handlers),
      openLog: ({ logging }) =>
        createLog({ level: logging.level, pretty: false, process: 'gateway', output }),
      print: (text) => appendFileSync(logFile, text),
      lists: { table: true, log: true },
    });
    loop.log = log;
    running = { gateway, log, folder, secrets, reload: loop.reload };
  } catch (error) {
    forget(secrets);
    folder.release();
    throw error;
  }
}

async function stop(): Promise<void> {
  const { gateway, log, folder, secrets } = running!;
  running = undefined;
  await gateway.close(DRAIN_MS);
  log.flush();
  forget(secrets);
  folder.release();
}

function forget(secrets: RunningServer['secrets']): void {
  for (const [name] of secrets) delete process.env[name];
}

/** What the supervisor does between the gateways of a server, for one. */
class ReloadLoop {
  #process = new EventEmitter() as ChildProcess;
  #receive: (message: ToChild) => void = () => {};
  #reloader = new Reloader(() => [this.#child]);
  #child = { process: this.#process, send: (message: ToChild) => this.#receive(message) } as SlotChild;
  /** Gets the lines of the supervisor. */
  log: Log | undefined;
  reload = (reason: string, changes?: ReloadScope): true => {
    void this.#reload(reason, changes);
    return true;
  };

  async #reload(reason: string, changes: ReloadScope | undefined): Promise<void> {
    this.log?.write('reload.started', {}, `reload started: ${reason}`);
    const outcome = await this.#reloader.reload(changes);
    if (outcome.ok) this.log?.write('reload.completed');
    else
      this.log?.write(
        'reload.failed',
        {},
        `reload failed; keeping the previous configuration: ${outcome.reason}`,
      );
  }

  join(handlers: Omit<ChildHandlers, 'onDrain'>): SupervisorLink {
    this.#receive = takeMessages({ ...handlers, onDrain() {} }, (message) => {
      if (message.type === 'prepared' || message.type === 'preparing')
        this.#reloader.receive(message, this.#child);
      return true;
    });
    return {
      supervised: true,
      ready() {},
      requestReload: this.reload,
      tellOthers: (_note, done) => done(true),
    } as SupervisorLink;
  }
}

/** Starts engines for these settings once, and resolves with the folder of their sockets. */
function startEngines(config: Config): Promise<string> {
  const allowed = JSON.stringify(remoteHosts(config));
  const key = `${engineCount(config)} ${allowed}`;
  const started = engines.get(key) ?? forkEngines(engineCount(config), allowed);
  engines.set(key, started);
  return started;
}

function forkEngines(count: number, allowed: string): Promise<string> {
  const runDir = mkdtempSync(join(tmpdir(), 'graticule-'));
  return new Promise((onReady) => {
    const ended = supervise({
      gateways: 0,
      engines: count,
      runDir,
      gatewayEntry: '',
      engineEntry: resolve('dist/workers/entries/engine/main.js'),
      engineEnv: { [REMOTE_ALLOW_VARIABLE]: allowed },
      log() {},
      onReady: () => onReady(runDir),
    });
    ended.then((code) => {
      rmSync(runDir, { recursive: true, force: true });
      engines.delete(`${count} ${allowed}`);
      if (engines.size === 0) process.exit(code);
    });
  });
}
