#!/usr/bin/env node
import { Command } from 'commander';
import { ConfigError } from '../core/config/config.js';
import { version } from '../core/kit/version.js';
import { throwOutside } from '../supervisor/faults.js';
import { EXIT_CONFIGURATION } from '../supervisor/messages.js';
import { CommandError } from './command-error.js';
import type { ExportCommandOptions } from './export.js';
import { OPTION_OF_SETTING } from './settings.js';
import type { TileOptions } from './tile-options.js';

/** Parser of an option that is an integer of at least 0. */
const number = (name: string) => (raw: string) => {
  if (!/^\d+$/.test(raw)) throw new CommandError(`${name}: must be an integer of at least 0, not '${raw}'.`);
  return Number(raw);
};

/** Adds an option `FILE=CRS` to the options before it. */
function statedCrs(raw: string, before: Record<string, string> = {}): Record<string, string> {
  const [, file, crs] = /^(.+?)=(.+)$/s.exec(raw) ?? [];
  if (!file || !crs)
    throw new CommandError(`--crs: must be FILE=CRS, for example roads.shp=EPSG:27700, not '${raw}'.`);
  return { ...before, [file]: crs };
}

/** An action that imports its code when it runs, because a server would otherwise load the code of all commands. */
const loaded =
  <A extends unknown[]>(load: () => Promise<(...args: A) => void | Promise<void>>) =>
  async (...args: A): Promise<void> =>
    (await load())(...args);

const program = new Command('graticule')
  .description('Geospatial data server: publishes files and databases as OGC APIs, tiles, maps and streams.')
  .version(version())
  .showHelpAfterError('(graticule --help lists commands and options)')
  .showSuggestionAfterError();

program
  .command('serve')
  .description('publish files, folders and databases and serve them')
  .argument('[sources...]', 'files, folders and PostGIS databases (postgresql://...) to publish')
  .option('--port <n>', 'port for HTTP and WebSocket (default: PORT or 8080)', number('--port'))
  .option('--host <address>', 'address to listen on (default: 0.0.0.0)')
  .option('--data-dir <path>', 'folder for state and converted files (default: ./graticule-data)')
  .option('--config <file>', 'configuration file (YAML)')
  .option('--processes <n>', 'number of gateway processes (default: 1)', number('--processes'))
  .option('--public-url <url>', 'origin and path prefix of all links (default: taken from each request)')
  .option('--crs <file=crs>', 'assign a CRS to a file, repeatable: roads.shp=EPSG:27700', statedCrs)
  .option('--save-config <file>', 'write the resulting configuration to a file and continue')
  .action(loaded(async () => (await import('./serve.js')).serve));

program
  .command('worker')
  .description('run jobs for servers that share a state in PostgreSQL, without serving data')
  .argument('[sources...]', 'the same sources as the servers')
  .option('--port <n>', 'port for probes and metrics (default: PORT or 8080)', number('--port'))
  .option('--host <address>', 'address to listen on (default: 0.0.0.0)')
  .option('--data-dir <path>', 'folder for the files of this worker (default: ./graticule-data)')
  .option('--config <file>', 'configuration file of the servers (YAML)')
  .action(loaded(async () => (await import('./serve.js')).work));

program
  .command('events')
  .description('manage events of edits')
  .command('redrive')
  .description('redeliver events that a webhook did not accept')
  .argument('[webhook]', 'name of the webhook (default: all webhooks)')
  .option('--data-dir <path>', 'folder for state and converted files (default: ./graticule-data)')
  .option('--config <file>', 'configuration file (YAML)')
  .option('--limit <n>', 'maximum number of events (default: 500)', number('--limit'))
  .action(loaded(async () => (await import('./redrive.js')).redrive));

program
  .command('alerts')
  .description('check alert rules')
  .command('test')
  .description('check an alert rule, and list up to 10 edits of the last hour that would have triggered it')
  .argument('<file>', 'rule, or rule and zone (YAML or JSON)')
  .option('--url <url>', 'URL of the server (default: http://localhost:8080)')
  .option('--key <key>', 'API key for the management API (default: SVC_ADMIN_KEY)')
  .action(loaded(async () => (await import('./alerts.js')).testAlertRule));

program
  .command('plan')
  .description('list the changes that apply would make to a running server')
  .argument('<file>', 'manifest (YAML)')
  .option('--url <url>', 'URL of the server (default: http://localhost:8080)')
  .option('--key <key>', 'API key for the management API (default: SVC_ADMIN_KEY)')
  .option('--prune', 'delete objects that the previous manifest created and this one omits')
  .action(loaded(async () => (await import('./manifest.js')).planManifest));

program
  .command('apply')
  .description('change the state of a running server to match a manifest')
  .argument('<file>', 'manifest (YAML)')
  .option('--url <url>', 'URL of the server (default: http://localhost:8080)')
  .option('--key <key>', 'API key for the management API (default: SVC_ADMIN_KEY)')
  .option('--prune', 'delete objects that the previous manifest created and this one omits')
  .action(loaded(async () => (await import('./manifest.js')).applyManifest));

program
  .command('manifest')
  .description('write services, layers, styles, roles, policies and limits of a running server as a manifest')
  .argument('[file]', 'file to write (default: standard output)')
  .option('--url <url>', 'URL of the server (default: http://localhost:8080)')
  .option('--key <key>', 'API key for the management API (default: SVC_ADMIN_KEY)')
  .action(loaded(async () => (await import('./manifest.js')).exportManifest));

const state = program.command('state').description('back up, restore and move the state');

state
  .command('backup')
  .description('write the state of a data folder to a file; the server can be running')
  .argument('<file>', 'file to write')
  .option('--data-dir <path>', 'folder for state and converted files (default: ./graticule-data)')
  .option('--config <file>', 'configuration file (YAML)')
  .action(loaded(async () => (await import('./state/commands.js')).backUp));

state
  .command('restore')
  .description('replace the state of a data folder with a backup; stop the server first')
  .argument('<file>', 'file written by state backup')
  .option('--data-dir <path>', 'folder for state and converted files (default: ./graticule-data)')
  .option('--config <file>', 'configuration file (YAML)')
  .action(loaded(async () => (await import('./state/commands.js')).restore));

state
  .command('move')
  .description('copy the state to an empty database; stop all its servers first')
  .requiredOption('--to <place>', "PostgreSQL URL, or 'file' for the file in the data folder")
  .option('--data-dir <path>', 'folder for state and converted files (default: ./graticule-data)')
  .option('--config <file>', 'configuration file (YAML)')
  .action(loaded(async () => (await import('./state/commands.js')).moveTo));

program
  .command('import')
  .description('import a vector file into a data folder')
  .argument('<file>', 'file that GDAL can read, or a ZIP archive of a shapefile or file geodatabase')
  .option('--data-dir <path>', 'folder for state and converted files (default: ./graticule-data)')
  .option('--config <file>', 'configuration file (YAML)')
  .option('--layer <name>', 'layer to import (default: the first)')
  .option('--name <name>', 'name of the collection (default: the file name)')
  .option('--title <text>', 'title of the collection')
  .option('--crs <crs>', 'CRS of the coordinates, overrides the file, for example EPSG:4326')
  .option('--into <collection>', 'import all rows into this collection, or none')
  .option('--mode <mode>', 'with --into: append, replace or upsert (default: append)')
  .option('--key <field>', 'with --mode upsert: field that identifies a feature')
  .option('--reject-rows', 'with --into: skip and list invalid rows')
  .option('--source <path...>', 'additional files, folders and databases that contain the collection')
  .action(loaded(async () => (await import('./import.js')).runFileImport));

program
  .command('export')
  .description('export a collection or its tiles to a file')
  .argument('<collection>', 'id of the collection; for tiles, ids separated by commas')
  .argument('[file]', 'file to write: .gpkg .geojson .fgb .parquet .csv .kml')
  .option('--tiles <file>', 'tile archive to write in place of file: .pmtiles .mbtiles .gpkg')
  .option('--zooms <range>', 'zoom levels of the tiles (default: 0-10)')
  .option('--bbox <box>', 'west,south,east,north in degrees (default: the extent of the data)')
  .option('--format <name>', 'tile format: mvt, mlt, png or webp')
  .option('--encoding <name>', 'encoding of vector tiles: mvt or mlt')
  .option('--set <id>', 'tile matrix set (default: WebMercatorQuad)')
  .option('--concurrency <n>', 'number of threads (default: one per core)', number('--concurrency'))
  .option('--data-dir <path>', 'folder for state and converted files (default: ./graticule-data)')
  .option('--config <file>', 'configuration file (YAML)')
  .option('--source <path...>', 'additional files and folders that contain the collection')
  .action(exportAny);

program
  .command('seed')
  .description('fill the tile cache of the server that uses a data folder')
  .argument('<collection>', 'id of the collection')
  .option('--data-dir <path>', 'folder for state and converted files (default: ./graticule-data)')
  .option('--config <file>', 'configuration file (YAML)')
  .option('--zooms <range>', 'zoom levels (default: 0-10)')
  .option('--bbox <box>', 'west,south,east,north in degrees (default: the extent of the data)')
  .option('--format <name>', 'tile format: mvt, mlt, png or webp')
  .option('--encoding <name>', 'encoding of vector tiles: mvt or mlt')
  .option('--set <id>', 'tile matrix set (default: WebMercatorQuad)')
  .option(
    '--concurrency <n>',
    'number of tiles rendered at the same time (default: a share that leaves capacity for clients)',
    number('--concurrency'),
  )
  .action(loaded(async () => (await import('./seed.js')).seed));

program
  .command('process')
  .description('execute a process on a running server and wait for its results (default: list processes)')
  .argument('[name]', 'id of the process, for example geometry.buffer')
  .option('--input <name=value...>', 'input: a value, JSON, @file, or a collection id for a layer')
  .option('--output <file>', 'file to write: .geojson or .gpkg for features')
  .option('--publish <collection>', 'publish the output as a collection with this name')
  .option('--describe', 'list the inputs of the process')
  .option('--url <url>', 'URL of the server (default: http://localhost:8080)')
  .option('--key <key>', 'API key for the management API (default: SVC_ADMIN_KEY)')
  .action(loaded(async () => (await import('./process.js')).runProcessCommand));

program
  .command('inspect')
  .description('show which collections a file would be published as')
  .argument('<file>', 'file or folder of data')
  .option('--config <file>', 'configuration file (YAML)')
  .option('--crs <file=crs>', 'assign a CRS to a file, repeatable: roads.shp=EPSG:27700', statedCrs)
  .action(loaded(async () => (await import('./inspect.js')).inspectFile));

program
  .command('validate')
  .description('check a configuration file')
  .argument('<config>')
  .action(loaded(async () => (await import('./validate.js')).validate));
const audit = program.command('audit').description('verify an exported audit trail');

audit
  .command('verify')
  .description('verify an audit trail in JSON lines without its server')
  .argument('<file>', 'export of the audit trail (format=jsonl)')
  .option('--checkpoint <file>', 'signed checkpoints, or a log that contains some (default: none)')
  .option('--key-id <id>', 'key that must have signed the checkpoints (default: any key)')
  .action(
    loaded(async () => {
      const { verifyAudit } = await import('./verify/audit.js');
      return (file: string, options: { checkpoint?: string; keyId?: string }) => verifyAudit(file, options);
    }),
  );

program
  .command('proposal')
  .description('verify proposals of actions')
  .command('verify')
  .description('verify the seals of a proposal, its approval and its receipt without the server')
  .argument('<file>', 'response of /api/v1/admin/proposals/{id}/seals')
  .requiredOption('--jwks <file>', 'public keys of the server: file or URL of /.well-known/seal-keys.json')
  .action(
    loaded(async () => {
      const { verifyProposal } = await import('./verify/proposal.js');
      return (file: string, options: { jwks: string }) => verifyProposal(file, options);
    }),
  );

program
  .command('licence')
  .description('verify licence files')
  .command('verify')
  .description('verify a licence file without a server')
  .argument('<file>', 'licence file')
  .requiredOption('--keys <file>', 'JWKS file with the public keys of licences')
  .action(loaded(async () => (await import('./verify/licence.js')).verifyLicenceFile));

program
  .command('support')
  .description('collect facts for support')
  .command('bundle')
  .description(
    'write facts about this server without secrets and data to one file; the server can be stopped',
  )
  .argument('<file>', 'file to write')
  .option('--data-dir <path>', 'folder for state and converted files (default: ./graticule-data)')
  .option('--config <file>', 'configuration file (YAML)')
  .option('--url <url>', 'URL of the server (default: http://localhost and its port)')
  .option('--key <key>', 'API key for the management API (default: SVC_ADMIN_KEY)')
  .action(loaded(async () => (await import('./support/bundle.js')).writeSupportBundle));

program
  .command('diagnose')
  .description('write the evidence of a finding, and request its cause from the command of operate.diagnose')
  .argument('<finding>', 'id of the finding')
  .option('--out <folder>', 'folder to write (default: diagnosis-<finding>)')
  .option('--config <file>', 'configuration file (YAML)')
  .option('--url <url>', 'URL of the server (default: http://localhost and its port)')
  .option('--key <key>', 'API key for the management API (default: SVC_ADMIN_KEY)')
  .action(loaded(async () => (await import('./diagnose/diagnose.js')).diagnose));

program
  .command('doctor')
  .description('check the requirements of the server on this machine')
  .action(loaded(async () => (await import('./doctor.js')).doctor));

program
  .command('reference', { hidden: true })
  .description('print the reference of all commands as Markdown')
  .action(loaded(async () => (await import('./reference.js')).referencePrinter(program)));

async function exportAny(
  collection: string,
  file: string | undefined,
  options: ExportCommandOptions & TileOptions & { tiles?: string },
): Promise<void> {
  const { tiles } = options;
  if ((tiles === undefined) === (file === undefined))
    throw new CommandError('FILE, --tiles: name one file to write, either as FILE or with --tiles.');
  if (file !== undefined) return (await import('./export.js')).exportCollection(collection, file, options);
  await (await import('./export-tiles.js')).exportTileArchive(collection, { ...options, tiles: tiles! });
}

function fail(message: string, exitCode: number): void {
  process.stderr.write(`graticule: ${message}\n`);
  process.exitCode = exitCode;
}

/** The message of a configuration error with option names in place of setting names. */
function asTyped({ message }: ConfigError): string {
  return message.replace(
    /^( {2}- )?([^\s:[]+)(\[\d+\][^\s:]*)?: (.*) from the flag\b/gm,
    (_, mark: string | undefined, path: string, member: string | undefined, problem: string) =>
      `${mark ?? ''}${OPTION_OF_SETTING[path] ?? path}${member ?? ''}: ${problem}`,
  );
}

program.parseAsync().catch((error: unknown) => {
  if (error instanceof CommandError) fail(error.message, error.exitCode);
  else if (error instanceof ConfigError) fail(asTyped(error), EXIT_CONFIGURATION);
  else throwOutside(error);
});
