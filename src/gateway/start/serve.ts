import { resolve } from 'node:path';
import type { Note } from '../../core/cluster/notes.js';
import { type Config, loadConfig, type Setting } from '../../core/config/config.js';
import type { SourceChange } from '../../services/catalog/inspections/readings.js';
import { dataSettings } from '../../services/catalog/publish/settings.js';
import { DataFolder, DataLostError } from '../../services/kit/data-folder.js';
import { configuredBasemap } from '../../services/maps/basemap.js';
import { broadcast } from '../../services/telemetry/event-metrics.js';
import type { Log } from '../../services/telemetry/log.js';
import type { ChildHandlers, PreparedReload, SupervisorLink } from '../../supervisor/child.js';
import type { GatewayStart } from '../../supervisor/gateway-start.js';
import { useBasemap } from '../pages/maps/basemap.js';
import type { GatewayOptions } from './foundation.js';
import { type Gateway, startGateway } from './gateway.js';
import { listWarnings, publishedTable } from './report.js';

/** Settings and callbacks that the process of a gateway gives it. */
export interface GatewayPlace extends Pick<GatewayOptions, 'runDir' | 'first' | 'onConversion'> {
  start: GatewayStart;
  env: NodeJS.ProcessEnv;
  /** Reports to the supervisor; the handlers take what it sends. */
  join(handlers: Omit<ChildHandlers, 'onDrain'>): SupervisorLink;
  /** Opens the log that the configuration describes. */
  openLog(config: Config): Log;
  /** Writes what a person at the terminal reads. */
  print(text: string): void;
  /** Outputs that list refused files and warnings at the start. A terminal shows each only once. */
  lists: { readonly table: boolean; readonly log: boolean };
}

export function readConfig({ start, env }: Pick<GatewayPlace, 'start' | 'env'>): {
  config: Config;
  settings: Setting[];
} {
  return loadConfig({ flags: start.flags, env, file: start.configFile });
}

/** Starts a gateway that its supervisor reloads; rejects with a `ConfigError` when the configuration is wrong. */
export async function serveGateway(place: GatewayPlace): Promise<{ gateway: Gateway; log: Log }> {
  const { runDir, first, onConversion } = place;
  let gateway: Gateway | undefined;
  let log: Log | undefined;
  /** Notes of other gateways that came during the start: this one may have read the data before them. */
  const early: Note[] = [];
  const supervised = place.join({
    onReload: (changes, onProgress) =>
      prepareReload(gateway!, place, log!, supervised, {
        changes: changes as SourceChange[] | undefined,
        onProgress,
      }),
    onTold: (note) => (gateway ? gateway.hear(note as Note) : early.push(note as Note)),
  });
  const { config, settings } = readConfig(place);
  log = place.openLog(config);
  requireDataFolder(config, place.start);
  gateway = await startGateway({
    first,
    ...(onConversion ? { onConversion } : {}),
    config,
    settings,
    runDir,
    log,
    requestReload: (reason, changes) => void supervised.requestReload(reason, changes),
    tell: (note) => supervised.tellOthers(note, broadcast()),
  });
  for (const note of early.splice(0)) gateway.hear(note);
  if (first) announce(gateway, config, log, place);
  if (config.data.watch) watchSources(gateway, supervised);
  supervised.ready();
  return { gateway, log };
}

/** Throws `DataLostError`. A gateway that is started again must not make a new state, without the rules of the one that the server started with. */
function requireDataFolder({ data }: Config, { dataInode }: GatewayStart): void {
  if (dataInode === undefined) return;
  const lost = new DataFolder(resolve(data.directory), [], dataInode).lost();
  if (lost !== undefined) throw new DataLostError(lost);
}

/** Prints where the data is published, and logs doubtful and omitted sources. */
function announce(gateway: Gateway, config: Config, log: Log, { print, lists }: GatewayPlace): void {
  const snapshot = gateway.catalog.current;
  print(formatGreeting(gateway, config, lists.table));
  if (!lists.log) return;
  for (const warning of listWarnings(snapshot)) log.write('catalog.doubtful', {}, warning);
  for (const { path, layer, reason } of snapshot.quarantined)
    log.write(
      'catalog.source.quarantined',
      { Source: path, ...(layer === undefined ? {} : { Layer: layer }) },
      `source ${path}${layer === undefined ? '' : ` (${layer})`} was skipped: ${reason}`,
    );
}

function formatGreeting(
  { catalog, firstKey, port }: Gateway,
  { server, data }: Config,
  listsProblems: boolean,
): string {
  const host = server.host === '0.0.0.0' || server.host === '::' ? 'localhost' : server.host;
  const baseUrl = server.publicUrl || `${server.tls.cert ? 'https' : 'http'}://${host}:${port}`;
  if (server.role === 'worker')
    return `\n  runs jobs; probes and metrics at ${baseUrl}/healthz/ready and /metrics\n\n`;
  const table = publishedTable(catalog.current, baseUrl, data.sources, listsProblems);
  return `${table}${keyText(firstKey)}\n`;
}

/** Text about the administrator key. It contains the key only if the server generated it at this start. */
function keyText(firstKey: Gateway['firstKey']): string {
  if (firstKey.from === 'generated')
    return `  first administrator key, shown only this once: ${firstKey.secret}\n`;
  if (firstKey.from !== 'environment') return '';
  const weak = firstKey.weak ? '  warning: SVC_ADMIN_KEY is short; use at least 24 characters\n' : '';
  return `  administrator key: the value of SVC_ADMIN_KEY\n${weak}`;
}

function watchSources(gateway: Gateway, supervised: SupervisorLink): void {
  gateway.catalog.watch((paths) => {
    const further = paths.length > 1 ? ` and ${paths.length - 1} more` : '';
    supervised.requestReload(`${paths[0]}${further} changed`, toChanges(paths));
  });
}

function toChanges(paths: readonly string[]): SourceChange[] {
  return paths.map((source) => ({ source }));
}

async function prepareReload(
  gateway: Gateway,
  place: GatewayPlace,
  log: Log,
  { requestReload }: Pick<SupervisorLink, 'requestReload'>,
  round: { changes: readonly SourceChange[] | undefined; onProgress: () => void },
): Promise<PreparedReload> {
  const { config } = readConfig(place);
  const basemap = configuredBasemap(config.pages);
  const snapshot = await gateway.catalog.prepare(dataSettings(config), round.changes, round.onProgress);
  const postponed = gateway.catalog.postponedOf(snapshot);
  return {
    commit() {
      useBasemap(basemap);
      // The data that was read is kept, and the next reload shows it.
      if (!gateway.catalog.commit(snapshot)) requestReload('the catalog changed during the reload', []);
      if (postponed.length > 0)
        requestReload(`${postponed.length} new files are still to be read`, toChanges(postponed));
      const { generation, collections, quarantined } = snapshot;
      log.write('catalog.reloaded', {
        Generation: generation,
        Collections: collections.length,
        Quarantined: quarantined.map(({ path, reason }) => `${path}: ${reason}`),
        Warnings: listWarnings(snapshot),
      });
    },
  };
}
