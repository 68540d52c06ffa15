import { type Config, ConfigError, loadConfig, type Setting } from '../core/config.js';
import { configuredBasemap } from '../services/basemap.js';
import type { Note } from '../services/notes.js';
import type { SourceChange } from '../services/publish/readings.js';
import { dataSettings } from '../services/publish/settings.js';
import { broadcast } from '../services/telemetry/event-metrics.js';
import { createLog, exception, type Log } from '../services/telemetry/log.js';
import { applicationErrors } from '../services/telemetry/metrics.js';
import { joinSupervisor, type PreparedReload, type Supervised } from '../supervisor/child.js';
import { throwOutside, watchFaults } from '../supervisor/faults.js';
import { type GatewayStart, readStart } from '../supervisor/gateway-start.js';
import { RUN_DIR_VARIABLE } from '../supervisor/supervise.js';
import { conversionBars } from './conversion-bars.js';
import { type Gateway, startGateway } from './gateway.js';
import { useBasemap } from './pages/basemap.js';
import { publishedTable, warningsOf } from './report.js';

/** Entry of a gateway process: configuration, start, reload, drain. */

const DRAIN_MS = 8000;

function read(start: GatewayStart): { config: Config; settings: Setting[] } {
  return loadConfig({ flags: start.flags, env: process.env, file: start.configFile });
}

async function main(): Promise<void> {
  process.title = 'graticule: gateway';
  const start = readStart(process.env);
  let gateway: Gateway | undefined;
  let log: Log | undefined;
  /** What other gateways told while this one starts: it may have read the data before. */
  const early: Note[] = [];
  const take = (note: Note) => gateway?.hear(note);
  const supervised = joinSupervisor({
    onReload: (changes) =>
      prepareReload(gateway!, start, log!, supervised, changes as SourceChange[] | undefined),
    onTold: (note) => (gateway ? take(note as Note) : early.push(note as Note)),
    onDrain: () => void drain(gateway, log),
  });
  try {
    const { config, settings } = read(start);
    log = createLog({ level: config.logging.level, pretty: process.stdout.isTTY, process: 'gateway' });
    logFaults(log);
    const runDir = process.env[RUN_DIR_VARIABLE] ?? '';
    const first = (process.env.GRATICULE_GATEWAY ?? '1') === '1';
    const bars = first && process.stderr.isTTY ? await conversionBars(process.stderr) : undefined;
    gateway = await startGateway({
      first,
      ...(bars ? { onConversion: bars.tell } : {}),
      config,
      settings,
      runDir,
      log,
      requestReload: (reason, changes) => void supervised.requestReload(reason, changes),
      tell: (note) => supervised.tellOthers(note, broadcast()),
    });
    bars?.end();
    early.splice(0).forEach(take);
    if (first) {
      announce(gateway, config);
      for (const warning of warningsOf(gateway.catalog.current)) log.write('catalog.doubtful', {}, warning);
      for (const { path, layer, reason } of gateway.catalog.current.quarantined)
        log.write(
          'catalog.source.quarantined',
          { Source: path, ...(layer === undefined ? {} : { Layer: layer }) },
          `${path}${layer === undefined ? '' : ` (${layer})`} is not published: ${reason}`,
        );
    }
    if (config.data.watch) watchSources(gateway, supervised);
    supervised.ready();
  } catch (error) {
    if (error instanceof ConfigError) supervised.configurationError(error.message);
    throw error;
  }
}

/** A stray rejection must not end the connections of all clients; after an exception the supervisor starts a new gateway. */
function logFaults(log: Log): void {
  watchFaults({
    onRejection(error) {
      applicationErrors.cell(error.name, 'unknown', 'Generic').inc();
      log.write('process.rejection', exception(error), `a rejection was not handled: ${error.message}`);
    },
    onException(error) {
      log.write('process.exception', exception(error), `the gateway fails: ${error.message}`);
      log.flush();
      process.exit(1);
    },
  });
}

/** Person-readable, so on standard error: standard output carries the log. */
function announce(gateway: Gateway, config: Config): void {
  const host =
    config.server.host === '0.0.0.0' || config.server.host === '::' ? 'localhost' : config.server.host;
  const baseUrl =
    config.server.publicUrl || `${config.server.tls.cert ? 'https' : 'http'}://${host}:${gateway.port}`;
  if (config.server.role === 'worker') {
    process.stderr.write(`\n  runs jobs; probes and metrics at ${baseUrl}/healthz/ready and /metrics\n\n`);
    return;
  }
  process.stderr.write(publishedTable(gateway.catalog.current, baseUrl, config.data.sources));
  const { firstKey } = gateway;
  if (firstKey.from === 'generated') {
    process.stderr.write(`  first administrator key, shown only this once: ${firstKey.secret}\n\n`);
  } else if (firstKey.from === 'environment' && firstKey.weak) {
    process.stderr.write('  warning: SVC_ADMIN_KEY is short; use at least 24 characters\n\n');
  }
}

function watchSources(gateway: Gateway, supervised: Supervised): void {
  gateway.catalog.watch((paths) => {
    const further = paths.length > 1 ? ` and ${paths.length - 1} more` : '';
    const changes = paths.map((source): SourceChange => ({ source }));
    supervised.requestReload(`${paths[0]}${further} changed`, changes);
  });
}

async function prepareReload(
  gateway: Gateway,
  start: GatewayStart,
  log: Log,
  { requestReload }: Pick<Supervised, 'requestReload'>,
  changes: readonly SourceChange[] | undefined,
): Promise<PreparedReload> {
  const { config } = read(start);
  const basemap = configuredBasemap(config.pages);
  const snapshot = await gateway.catalog.prepare(dataSettings(config), changes);
  return {
    commit() {
      useBasemap(basemap);
      if (!gateway.catalog.commit(snapshot)) requestReload('the catalog changed during the reload', []);
      const { generation, collections, quarantined } = snapshot;
      log.write('catalog.reloaded', {
        Generation: generation,
        Collections: collections.length,
        Quarantined: quarantined.map(({ path, reason }) => `${path}: ${reason}`),
        Warnings: warningsOf(snapshot),
      });
    },
  };
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
