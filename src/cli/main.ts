#!/usr/bin/env node
import { Command } from 'commander';
import { ConfigError } from '../core/config.js';
import { version } from '../core/version.js';
import { doctor } from './doctor.js';
import { exportCollection } from './export.js';
import { importFile } from './import.js';
import { serve } from './serve.js';
import { validate } from './validate.js';

/** A whole number, or a message that names the option. */
const number = (name: string) => (raw: string) => {
  if (!/^\d+$/.test(raw)) throw new ConfigError([`${name} must be a whole number, not '${raw}'`]);
  return Number(raw);
};

const program = new Command('graticule')
  .description('Geospatial data server: publishes files and databases as OGC APIs, tiles, maps and streams.')
  .version(version())
  .showHelpAfterError();

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
  .option('--save-config <file>', 'write the configuration that results and go on')
  .action(serve);

program
  .command('import')
  .description('load a vector file into the store of a data folder')
  .argument('<file>', 'any file that OGR opens')
  .option('--data-dir <path>', 'folder for state and stores (./graticule-data)')
  .option('--config <file>', 'configuration file (YAML)')
  .option('--layer <name>', 'layer of the file; the first when absent')
  .option('--name <name>', 'name of the collection; that of the file when absent')
  .option('--title <text>', 'title of the collection')
  .option('--crs <crs>', 'CRS to assume when the file names none, for example EPSG:4326')
  .action(importFile);

program
  .command('export')
  .description('write a collection of a data folder or file into a file: .gpkg .geojson .fgb .csv .kml')
  .argument('<collection>', 'identifier of the collection')
  .argument('<file>', 'file to write; its ending names the format')
  .option('--data-dir <path>', 'folder for state and stores (./graticule-data)')
  .option('--config <file>', 'configuration file (YAML)')
  .option('--source <path...>', 'files and folders to look into besides the store')
  .action(exportCollection);

program.command('validate').description('check a configuration file').argument('<config>').action(validate);
program.command('doctor').description('check what the server needs on this machine').action(doctor);

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 78;
}
