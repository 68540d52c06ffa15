import { fstatSync } from 'node:fs';
import { type Config, ConfigError } from '../../core/config/config.js';
import { DataLostError } from '../../services/kit/data-folder.js';
import { createLog, exception, type Log } from '../../services/telemetry/log.js';
import { applicationErrors, watchEventLoop } from '../../services/telemetry/metrics.js';
import { watchCollections, watchResources } from '../../services/telemetry/process-metrics.js';
import { joinSupervisor, type SupervisorLink } from '../../supervisor/child.js';
import { throwOutside, watchFaults } from '../../supervisor/faults.js';
import { readGatewayStart } from '../../supervisor/gateway-start.js';
import { EXIT_TEMPORARY } from '../../supervisor/messages.js';
import { RUN_DIR_VARIABLE } from '../../supervisor/supervise.js';
import { conversionBars } from './conversion-bars.js';
import type { Gateway } from './gateway.js';
import { serveGateway } from './serve.js';

/** Entry of a gateway process: start, faults, drain. */

const DRAIN_MS = 8000;

async function main(): Promise<void> {
  process.title = 'graticule: gateway';
  watchEventLoop();
  watchCollections();
  watchResources();
  let gateway: Gateway | undefined;
  let log: Log | undefined;
  let supervised: SupervisorLink | undefined;
  const first = (process.env.GRATICULE_GATEWAY ?? '1') === '1';
  const bars = first && process.stderr.isTTY ? await conversionBars(process.stderr) : undefined;
  try {
    ({ gateway } = await serveGateway({
      start: readGatewayStart(process.env),
      env: process.env,
      runDir: process.env[RUN_DIR_VARIABLE] ?? '',
      first,
      ...(bars ? { onConversion: bars.tell } : {}),
      join: (handlers) =>
        (supervised = joinSupervisor({ ...handlers, onDrain: () => void drain(gateway, log) })),
      openLog: (config) => (log = openLog(config)),
      lists: chooseLists(),
      print(text) {
        bars?.end();
        // The log is on standard output.
        process.stderr.write(text);
      },
    }));
  } catch (error) {
    if (error instanceof ConfigError) supervised?.configurationError(error.message);
    if (error instanceof DataLostError) endForNow(error, log);
    throw error;
  }
}

/**
 * The log is on standard output, and the table of published data on standard error. If both are one terminal, the
 * table lists the problems; if both are one file or one journal, the log does.
 */
function chooseLists(): { table: boolean; log: boolean } {
  const [output, error] = [fstatSync(1), fstatSync(2)];
  if (output.dev !== error.dev || output.ino !== error.ino) return { table: true, log: true };
  return process.stdout.isTTY ? { table: true, log: false } : { table: false, log: true };
}

/** A server that ended would be started again, and would make a new state without the rules of the lost one. */
function endForNow({ message }: Error, log: Log | undefined): never {
  log?.write('process.unusable', {}, message);
  log?.flush();
  process.exit(EXIT_TEMPORARY);
}

function openLog({ logging }: Config): Log {
  const log = createLog({ level: logging.level, pretty: process.stdout.isTTY, process: 'gateway' });
  logFaults(log);
  return log;
}

/** A stray rejection must not end the connections of all clients; after an exception the supervisor starts a new gateway. */
function logFaults(log: Log): void {
  watchFaults({
    onRejection(error) {
      applicationErrors.cell(error.name, 'unknown', 'Generic').inc();
      log.write(
        'process.rejection',
        exception(error),
        `the gateway had an unhandled promise rejection; it continues: ${error.message}`,
      );
    },
    onException(error) {
      log.write(
        'process.exception',
        exception(error),
        `the gateway had an uncaught exception; it exits: ${error.message}`,
      );
      log.flush();
      process.exit(1);
    },
  });
}

let isDraining = false;

/** A signal to the process group and the supervisor's message can both come. */
async function drain(gateway: Gateway | undefined, log: Log | undefined): Promise<void> {
  if (isDraining) return;
  isDraining = true;
  await gateway?.close(DRAIN_MS);
  log?.flush();
  process.exit(0);
}

main().catch(throwOutside);
