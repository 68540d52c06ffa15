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

/** A whole number, or a message that names the option. */
const number = (name: string) => (raw: string) => {
  if (!/^\d+$/.test(raw)) throw new CommandError(`${name}: must be an integer, not '${raw}'.`);
  return Number(raw);
};

/** `roads.shp=EPSG:27700`, one after another. */
function statedCrs(raw: string, before: Record<string, string> = {}): Record<string, string> {
  const [, file, crs] = /^(.+?)=(.+)$/s.exec(raw) ?? [];
  if (!file || !crs)
    throw new CommandError(`--crs: must be FILE=CRS, for example roads.shp=EPSG:27700, not '${raw}'.`);
  return { ...before, [file]: crs };
}

/** A command that loads its code when it is called: a server would start with the weight of all of them. */
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
  .option('--port <n>', 'port of HTTP and WebSocket (8080, or PORT)', number('--port'))
  .option('--host <address>', 'address to listen on')
  .option('--data-dir <path>', 'folder for state and stores (./graticule-data)')
  .option('--config <file>', 'configuration file (YAML)')
  .option('--processes <n>', 'gateway processes that share the port', number('--processes'))
  .option('--public-url <url>', 'origin and path prefix that links start with')
  .option(
    '--crs <file=crs>',
    'CRS of a file that names none, or a wrong one: roads.shp=EPSG:27700; may be repeated',
    statedCrs,
  )
  .option('--save-config <file>', 'write the configuration that results and go on')
  .action(loaded(async () => (await import('./serve.js')).serve));

program
  .command('worker')
  .description('run jobs of the servers that share a state in PostgreSQL, without serving data')
  .argument('[sources...]', 'what the servers publish: as for serve')
  .option('--port <n>', 'port of probes and metrics (8080, or PORT)', number('--port'))
  .option('--host <address>', 'address to listen on')
  .option('--data-dir <path>', 'folder for files of its own (./graticule-data)')
  .option('--config <file>', 'configuration file (YAML): that of the servers')
  .action(loaded(async () => (await import('./serve.js')).work));

program
  .command('events')
  .description('look after the events of edits')
  .command('redrive')
  .description('deliver again what was given up for a webhook')
  .argument('[webhook]', 'name of the webhook; all when absent')
  .option('--data-dir <path>', 'folder for state and stores (./graticule-data)')
  .option('--config <file>', 'configuration file (YAML)')
  .option('--most <n>', 'how many events at most (500)', number('--most'))
  .action(loaded(async () => (await import('./redrive.js')).redrive));

program
  .command('plan')
  .description('say what apply would change in the state of a running server')
  .argument('<file>', 'manifest (YAML)')
  .option('--url <url>', 'the server (http://localhost:8080)')
  .option('--key <key>', 'key of its management API (SVC_ADMIN_KEY)')
  .option('--prune', 'remove what the manifest before it made and this one does not hold')
  .action(loaded(async () => (await import('./manifest.js')).planManifest));

program
  .command('apply')
  .description('make the state of a running server what a manifest says')
  .argument('<file>', 'manifest (YAML)')
  .option('--url <url>', 'the server (http://localhost:8080)')
  .option('--key <key>', 'key of its management API (SVC_ADMIN_KEY)')
  .option('--prune', 'remove what the manifest before it made and this one does not hold')
  .action(loaded(async () => (await import('./manifest.js')).applyManifest));

program
  .command('manifest')
  .description(
    'write the state of a running server as a manifest: services, layers, styles, roles, policies, limits',
  )
  .argument('[file]', 'file to write; standard output when absent')
  .option('--url <url>', 'the server (http://localhost:8080)')
  .option('--key <key>', 'key of its management API (SVC_ADMIN_KEY)')
  .action(loaded(async () => (await import('./manifest.js')).exportManifest));

const state = program.command('state').description('back up and move what the server remembers');

state
  .command('backup')
  .description('write the state of a data folder into a file, while it is served or not')
  .argument('<file>', 'file to write')
  .option('--data-dir <path>', 'folder for state and stores (./graticule-data)')
  .option('--config <file>', 'configuration file (YAML)')
  .action(loaded(async () => (await import('./state.js')).backUp));

state
  .command('restore')
  .description('put a backup in place of the state of a data folder; its server must be stopped')
  .argument('<file>', 'file that backup wrote')
  .option('--data-dir <path>', 'folder for state and stores (./graticule-data)')
  .option('--config <file>', 'configuration file (YAML)')
  .action(loaded(async () => (await import('./state.js')).restore));

state
  .command('move')
  .description('copy the state into another database, which is empty; all servers of it must be stopped')
  .requiredOption('--to <place>', "URL of PostgreSQL, or 'file' for the file in the data folder")
  .option('--data-dir <path>', 'folder for state and stores (./graticule-data)')
  .option('--config <file>', 'configuration file (YAML)')
  .action(loaded(async () => (await import('./state.js')).moveTo));

program
  .command('import')
  .description('load a vector file into the store of a data folder')
  .argument('<file>', 'any file that OGR opens, or a ZIP archive of a shapefile or file geodatabase')
  .option('--data-dir <path>', 'folder for state and stores (./graticule-data)')
  .option('--config <file>', 'configuration file (YAML)')
  .option('--layer <name>', 'layer of the file; the first when absent')
  .option('--name <name>', 'name of the collection; that of the file when absent')
  .option('--title <text>', 'title of the collection')
  .option('--crs <crs>', 'CRS of the coordinates, whatever the file says, for example EPSG:4326')
  .option('--into <collection>', 'take the rows over into this collection, all or nothing')
  .option('--mode <mode>', 'with --into: append (when absent), replace, or upsert')
  .option('--key <field>', 'field that tells which feature a row is, with --mode upsert')
  .option('--reject-rows', 'leave out and list the rows that cannot be taken, with --into')
  .option(
    '--source <path...>',
    'files, folders and databases to look for the collection in, besides the store',
  )
  .action(loaded(async () => (await import('./import.js')).runFileImport));

program
  .command('export')
  .description(
    'write a collection of a data folder or file into a file: .gpkg .geojson .fgb .csv .kml, or its tiles',
  )
  .argument('<collection>', 'identifier of the collection; for tiles several, with commas')
  .argument('[file]', 'file to write; its ending names the format')
  .option('--tiles <file>', 'write tiles instead: .pmtiles .mbtiles .gpkg')
  .option('--zooms <range>', 'zoom levels of the tiles (0-10)')
  .option('--bbox <box>', 'west,south,east,north of the tiles in degrees; all when absent')
  .option('--format <name>', 'format of the tiles: mvt, mlt, png, webp')
  .option('--encoding <name>', 'the same, of vector tiles: mvt, mlt')
  .option('--set <id>', 'tile matrix set (WebMercatorQuad)')
  .option('--concurrency <n>', 'threads that make tiles; one per core when absent', number('--concurrency'))
  .option('--data-dir <path>', 'folder for state and stores (./graticule-data)')
  .option('--config <file>', 'configuration file (YAML)')
  .option('--source <path...>', 'files and folders to look into besides the store')
  .action(exportAny);

program
  .command('seed')
  .description('fill the tile cache of the server that runs on a data folder')
  .argument('<collection>', 'identifier of the collection')
  .option('--data-dir <path>', 'folder for state and stores (./graticule-data)')
  .option('--config <file>', 'configuration file (YAML)')
  .option('--zooms <range>', 'zoom levels (0-10)')
  .option('--bbox <box>', 'west,south,east,north in degrees; all when absent')
  .option('--format <name>', 'format of the tiles: mvt, mlt, png, webp')
  .option('--encoding <name>', 'the same, of vector tiles: mvt, mlt')
  .option('--set <id>', 'tile matrix set (WebMercatorQuad)')
  .option(
    '--concurrency <n>',
    'tiles made at a time; leaves room for clients when absent',
    number('--concurrency'),
  )
  .action(loaded(async () => (await import('./seed.js')).seed));

program
  .command('process')
  .description(
    'execute a process on a running server and wait for its results; list processes without a name',
  )
  .argument('[name]', 'id of the process, for example geometry.buffer')
  .option('--input <name=value...>', 'an input: a value, JSON, @file, and of layers the id of a collection')
  .option('--output <file>', 'file to write; features as GeoJSON, or as .gpkg')
  .option('--publish <collection>', 'make the output a collection of this name')
  .option('--describe', 'list the inputs of the process')
  .option('--url <url>', 'the server (http://localhost:8080)')
  .option('--key <key>', 'key of its management API (SVC_ADMIN_KEY)')
  .action(loaded(async () => (await import('./process.js')).runProcessCommand));

program
  .command('inspect')
  .description('tell what would be published of a file, and why')
  .argument('<file>', 'file or folder of data')
  .option('--config <file>', 'configuration file (YAML)')
  .option('--crs <file=crs>', 'CRS of the file, as with serve', statedCrs)
  .action(loaded(async () => (await import('./inspect.js')).inspectFile));

program
  .command('validate')
  .description('check a configuration file')
  .argument('<config>')
  .action(loaded(async () => (await import('./validate.js')).validate));
program
  .command('doctor')
  .description('check what the server needs on this machine')
  .action(loaded(async () => (await import('./doctor.js')).doctor));

async function exportAny(
  collection: string,
  file: string | undefined,
  options: ExportCommandOptions & TileOptions & { tiles?: string },
): Promise<void> {
  const { tiles } = options;
  if ((tiles === undefined) === (file === undefined))
    throw new CommandError('FILE, --tiles: name a file to write, or one for --tiles, but not both.');
  if (file !== undefined) return (await import('./export.js')).exportCollection(collection, file, options);
  await (await import('./export-tiles.js')).exportTileArchive(collection, { ...options, tiles: tiles! });
}

function fail(message: string, exitCode: number): void {
  process.stderr.write(`graticule: ${message}\n`);
  process.exitCode = exitCode;
}

/** Problems of settings that were typed, by the names of their options. */
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
