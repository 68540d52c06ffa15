import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Config, ConfigError, environmentNames } from '../core/config.js';
import { version } from '../core/version.js';
import { type GatewayStart, START_VARIABLE } from '../gateway/start.js';
import { createLog, exception, type Log } from '../gateway/telemetry/log.js';
import { watchFaults } from '../supervisor/faults.js';
import { REMOTE_ALLOW_VARIABLE } from '../workers/engine/settings.js';
import { noteServer } from './local.js';
import { engineCount, flagsOf, resolveConfig, type ServeOptions, saveConfig } from './settings.js';

/** `graticule serve`: checks the configuration, then supervises gateways and engines until it is stopped. */
export async function serve(sources: string[], options: ServeOptions): Promise<void> {
  // What the server writes may hold keys, edits and uploads: only its user reads it.
  process.umask(0o077);
  const flags = flagsOf(sources, options);
  const { config, settings } = resolveConfig(flags, options.config);
  if (options.saveConfig) saveConfig(options.saveConfig, settings);
  await requireFreePort(config);
  const log = createLog({ level: config.logging.level, pretty: process.stdout.isTTY, process: 'supervisor' });
  watchFaults({
    onRejection: (error) =>
      log.write('process.rejection', exception(error), `a rejection was not handled: ${error.message}`),
    onException(error) {
      log.write('process.exception', exception(error), `the supervisor fails: ${error.message}`);
      log.flush();
      process.exit(1);
    },
  });
  const secrets = settings.filter(({ secret }) => secret).flatMap(({ path }) => environmentNames(path));
  const logExport = await startExport(config, log);
  const code = await run(config, { flags, configFile: options.config }, secrets, log);
  await logExport?.shutdown();
  log.flush();
  process.exit(code);
}

async function startExport({ observability: { otlpEndpoint } }: Config, log: Log) {
  if (!otlpEndpoint) return undefined;
  const { startLogExport } = await import('../gateway/telemetry/otlp.js');
  return startLogExport(otlpEndpoint, version(), log);
}

async function run(
  config: Config,
  start: GatewayStart,
  secrets: readonly string[],
  log: Log,
): Promise<number> {
  const { supervise } = await import('../supervisor/supervise.js');
  // Of this server alone: another one on the same data must not meet its engines. Short, as socket paths must be.
  const runDir = mkdtempSync(join(tmpdir(), 'graticule-'));
  const forget = noteServer(resolve(config.data.directory));
  try {
    return await supervise({
      gateways: config.server.processes,
      engines: engineCount(config),
      runDir,
      gatewayEntry: new URL('../gateway/main.js', import.meta.url),
      engineEntry: new URL('../workers/engine/main.js', import.meta.url),
      gatewayEnv: { [START_VARIABLE]: JSON.stringify(start) },
      engineEnv: { [REMOTE_ALLOW_VARIABLE]: JSON.stringify(config.remote.allow) },
      engineHidden: secrets,
      log: (event, message) => log.write(event, {}, message),
    });
  } finally {
    forget();
    rmSync(runDir, { recursive: true, force: true });
  }
}

/** Gateways share the port, so one that somebody else holds would go unnoticed: it is tried first. */
function requireFreePort({ server }: Config): Promise<void> {
  if (server.port === 0) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) => {
      const reason =
        error.code === 'EADDRINUSE' ? 'is in use by another program' : `cannot be used: ${error.message}`;
      reject(new ConfigError([`port ${server.port} ${reason}; choose another one with --port`]));
    });
    probe.listen(server.port, server.host, () => probe.close(() => resolve()));
  });
}
