import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Config, environmentNames } from '../core/config/config.js';
import { version } from '../core/kit/version.js';
import { isPath } from '../core/sources/sources.js';
import { certificateFiles } from '../services/kit/certificate.js';
import { readInode } from '../services/kit/data-folder.js';
import { remoteHosts } from '../services/storage/hosts.js';
import { createLog, exception, type Log } from '../services/telemetry/log.js';
import { watchFaults } from '../supervisor/faults.js';
import { type GatewayStart, START_VARIABLE } from '../supervisor/gateway-start.js';
import { OWN_FOLDER_VARIABLE, REMOTE_ALLOW_VARIABLE } from '../workers/engine/settings.js';
import { CommandError } from './command-error.js';
import { claimDataFolder } from './local.js';
import { engineCount, mapFlagsToSettings, resolveConfig, type ServeOptions, saveConfig } from './settings.js';

/** Gateways of a killed server end when they notice its death, and keep its port until then. */
const ORPHAN_MS = 10_000;

/** `graticule worker`: a server that executes the jobs of other servers, and responds only to probes. */
export async function work(sources: string[], options: ServeOptions): Promise<void> {
  const role = 'worker';
  const { config } = resolveConfig(mapFlagsToSettings(sources, { ...options, role }), options.config);
  if (config.state.url === '')
    throw new CommandError(
      'state.url: is required for a worker, which runs the jobs of servers that share a state database. Set it to the URL of their database.',
    );
  if (config.jobs.atOnce === 0)
    throw new CommandError('jobs.atOnce: must be at least 1 for a worker, not 0. Set 0 on the servers only.');
  await serve(sources, { ...options, role });
}

/** `graticule serve`: checks the configuration, then supervises gateways and engines until it is stopped. */
export async function serve(sources: string[], options: ServeOptions): Promise<void> {
  // Files of the server may contain keys, edits and uploads, so only its user may read them.
  process.umask(0o077);
  const flags = mapFlagsToSettings(sources, options);
  const { config, settings } = resolveConfig(flags, options.config);
  requireSources(sources);
  certificateFiles(config.server.tls);
  if (options.saveConfig) saveConfig(options.saveConfig, settings);
  const folder = claimDataFolder(resolve(config.data.directory));
  await requireFreePort(config, folder.wasLeft ? ORPHAN_MS : 0).catch((error) => {
    folder.release();
    throw error;
  });
  const log = createLog({ level: config.logging.level, pretty: process.stdout.isTTY, process: 'supervisor' });
  watchFaults({
    onRejection: (error) =>
      log.write(
        'process.rejection',
        exception(error),
        `the supervisor had an unhandled promise rejection; it continues: ${error.message}`,
      ),
    onException(error) {
      log.write(
        'process.exception',
        exception(error),
        `the supervisor had an uncaught exception; it exits: ${error.message}`,
      );
      log.flush();
      process.exit(1);
    },
  });
  const secrets = settings.filter(({ secret }) => secret).flatMap(({ path }) => environmentNames(path));
  const logExport = await startExport(config, log);
  const code = await run(config, { flags, configFile: options.config }, secrets, log);
  folder.release();
  await logExport?.shutdown();
  log.flush();
  process.exit(code);
}

/** Reports files and folders on the command line that do not exist. */
function requireSources(sources: readonly string[]): void {
  const missing = sources.find((source) => isPath(source) && !existsSync(source));
  if (missing !== undefined)
    throw new CommandError(`${missing}: there is no file or folder ${resolve(missing)}.`);
}

async function startExport({ observability: { otlpEndpoint } }: Config, log: Log) {
  if (!otlpEndpoint) return undefined;
  const { startLogExport } = await import('../services/telemetry/otlp.js');
  return startLogExport(otlpEndpoint, version(), log);
}

async function run(
  config: Config,
  start: GatewayStart,
  secrets: readonly string[],
  log: Log,
): Promise<number> {
  const { supervise } = await import('../supervisor/supervise.js');
  // Only for this server: another server on the same data must not use its engines. Short, because socket paths have a
  // maximum length.
  const runDir = mkdtempSync(join(tmpdir(), 'graticule-'));
  const gatewayStart = { ...start, dataInode: readInode(resolve(config.data.directory)) };
  try {
    return await supervise({
      gateways: config.server.processes,
      engines: engineCount(config),
      runDir,
      gatewayEntry: new URL('../gateway/start/main.js', import.meta.url),
      engineEntry: new URL('../workers/entries/engine/main.js', import.meta.url),
      gatewayEnv: { [START_VARIABLE]: JSON.stringify(gatewayStart) },
      engineEnv: {
        [REMOTE_ALLOW_VARIABLE]: JSON.stringify(remoteHosts(config)),
        [OWN_FOLDER_VARIABLE]: resolve(config.data.directory),
      },
      engineHidden: secrets,
      log: (event, message) => log.write(event, {}, message),
    });
  } finally {
    rmSync(runDir, { recursive: true, force: true });
  }
}

/**
 * Gateways share the port, so another program on it would go unnoticed. It is therefore tested first, for
 * `patienceMs`.
 */
async function requireFreePort({ server }: Config, patienceMs: number): Promise<void> {
  if (server.port === 0) return;
  const until = Date.now() + patienceMs;
  for (;;) {
    const error = await bindingError(server);
    if (!error) return;
    const isPortInUse = error.code === 'EADDRINUSE';
    if (!isPortInUse || Date.now() >= until) {
      const reason = isPortInUse ? 'is in use by another program' : `cannot be used: ${error.message}`;
      throw new CommandError(`--port: ${server.port} ${reason}. Choose another port.`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function bindingError({ port, host }: Config['server']): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', resolve);
    probe.listen(port, host, () => probe.close(() => resolve(undefined)));
  });
}
