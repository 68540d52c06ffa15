/**
 * A process that runs one server after the other, for tests that look at a server from outside and care for nothing of its
 * process. What a server compiles and loads, the next one has; engines stay, too. Each server has its own port, data folder,
 * state and threads, and is closed as `graticule serve` closes it.
 */
import { EventEmitter } from 'node:events';
import { appendFileSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { claimDataFolder } from '../../dist/cli/local.js';
import { engineCount, flagsOf } from '../../dist/cli/settings.js';
import { readConfig, serveGateway } from '../../dist/gateway/start/serve.js';
import { remoteHosts } from '../../dist/services/storage/hosts.js';
import { createLog } from '../../dist/services/telemetry/log.js';
import { takeMessages } from '../../dist/supervisor/child.js';
import { Reloader } from '../../dist/supervisor/reload.js';
import { supervise } from '../../dist/supervisor/supervise.js';
import { REMOTE_ALLOW_VARIABLE } from '../../dist/workers/engine/settings.js';

const DRAIN_MS = 8000;

// Commands tell the process of this name that data has changed.
process.title = 'graticule: supervisor';
process.umask(0o077);

/** Folders of the sockets of engines, by what the engines were started with. */
const engines = new Map();
/** The server that runs. */
let running;

process.on('message', ({ order, ...rest }) => {
  const work = order === 'start' ? start(rest) : stop();
  work.then(
    () => process.send({ done: order }),
    (error) => process.send({ done: order, failure: String(error?.stack ?? error) }),
  );
});
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
process.on('SIGHUP', () => running?.reload('SIGHUP'));

/** Variables of secrets, which a server reads from its process. */
const secretsOf = (env) => Object.entries(env).filter(([name]) => name.startsWith('CONNECTION_'));

async function start({ sources, options, env, logFile }) {
  const secrets = secretsOf(env);
  const place = { start: { flags: flagsOf(sources, options), configFile: options.config }, env };
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
    });
    loop.log = log;
    running = { gateway, log, folder, secrets, reload: loop.reload };
  } catch (error) {
    forget(secrets);
    folder.release();
    throw error;
  }
}

async function stop() {
  const { gateway, log, folder, secrets } = running;
  running = undefined;
  await gateway.close(DRAIN_MS);
  log.flush();
  forget(secrets);
  folder.release();
}

function forget(secrets) {
  for (const [name] of secrets) delete process.env[name];
}

/** What the supervisor does between the gateways of a server, for one. */
class ReloadLoop {
  #process = new EventEmitter();
  #receive;
  #reloader = new Reloader(() => [this.#child]);
  #child = { process: this.#process, send: (message) => this.#receive(message) };
  /** Gets the lines of the supervisor. */
  log;
  reload = (reason, changes) => {
    void this.#reload(reason, changes);
    return true;
  };

  async #reload(reason, changes) {
    this.log?.write('reload.started', {}, `reload: ${reason}`);
    const outcome = await this.#reloader.reload(changes);
    if (outcome.ok) this.log?.write('reload.completed');
    else this.log?.write('reload.failed', {}, `reload: the old configuration stays: ${outcome.reason}`);
  }

  join(handlers) {
    this.#receive = takeMessages(handlers, (message) => this.#reloader.receive(message, this.#child));
    return {
      supervised: true,
      ready() {},
      requestReload: this.reload,
      tellOthers: (_note, done) => done(true),
    };
  }
}

/** Starts engines for these settings once, and resolves with the folder of their sockets. */
function startEngines(config) {
  const allowed = JSON.stringify(remoteHosts(config));
  const key = `${engineCount(config)} ${allowed}`;
  if (!engines.has(key)) engines.set(key, forkEngines(engineCount(config), allowed));
  return engines.get(key);
}

function forkEngines(count, allowed) {
  const runDir = mkdtempSync(join(tmpdir(), 'graticule-'));
  return new Promise((onReady) => {
    const ended = supervise({
      gateways: 0,
      engines: count,
      runDir,
      gatewayEntry: '',
      engineEntry: new URL('../../dist/workers/entries/engine/main.js', import.meta.url),
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
