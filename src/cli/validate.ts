import { existsSync } from 'node:fs';
import { loadConfig } from '../core/config/config.js';
import { requireStatedCrs } from '../services/catalog/inspections/sidecar-crs.js';
import { configuredMatrixSets } from '../services/catalog/tiles/matrix-sets.js';
import { requireTileSettings } from '../services/catalog/tiles/settings.js';
import { CommandError } from './command-error.js';

/** `graticule validate CONFIG`: every wrong setting is named; exit code 78 when there is one. */
export function validate(file: string): void {
  if (!existsSync(file))
    throw new CommandError(`${file}: there is no such file. Pass the path of a configuration file (YAML).`);
  const { config, settings } = loadConfig({ file, env: process.env });
  configuredMatrixSets(config.tiles.matrixSets);
  requireTileSettings(config.tiles.collections);
  requireStatedCrs(config.data.crs);
  const fromFile = settings.filter((setting) => setting.source === 'file').length;
  process.stdout.write(`${file}: valid, ${fromFile} settings\n`);
  const missing = config.data.sources.filter((source) => !existsSync(source));
  for (const source of missing)
    process.stdout.write(`  warning: ${source} does not exist; it would not be published\n`);
}
