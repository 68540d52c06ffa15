import { existsSync } from 'node:fs';
import { extname, join, resolve } from 'node:path';
import { SingleBar } from 'cli-progress';
import { ConfigError } from '../core/config.js';
import { isDatabase } from '../core/database-url.js';
import { type ExportFormat, TaskFailure } from '../core/tasks.js';
import { Databases } from '../gateway/services/databases.js';
import { FileVersions } from '../gateway/services/publish/file-versions.js';
import { publish } from '../gateway/services/publish/index.js';
import { openState } from '../gateway/stores/state.js';
import { withPools } from './local.js';
import { resolveConfig } from './settings.js';

export interface ExportOptions {
  dataDir?: string;
  config?: string;
  source?: string[];
}

const FORMATS: Record<string, ExportFormat> = {
  '.gpkg': 'GPKG',
  '.geojson': 'GeoJSON',
  '.json': 'GeoJSON',
  '.fgb': 'FlatGeobuf',
  '.csv': 'CSV',
  '.kml': 'KML',
};

/** `graticule export COLLECTION FILE`: writes a vector collection; the file is there whole or not at all. */
export async function exportCollection(id: string, file: string, options: ExportOptions): Promise<void> {
  const output = resolve(file);
  const format = FORMATS[extname(output).toLowerCase()];
  if (!format)
    throw new ConfigError([`the ending of ${file} names no format; use ${Object.keys(FORMATS).join(' ')}`]);
  if (existsSync(output)) throw new ConfigError([`${file} exists already`]);
  const { config } = resolveConfig(
    { 'data.directory': options.dataDir, 'data.sources': options.source },
    options.config,
  );
  const dataDir = resolve(config.data.directory);
  const state = await openState(join(dataDir, 'state.db'));
  const bar = new SingleBar({ format: '  {bar} {percentage}%', barsize: 30, hideCursor: true });
  try {
    await withPools(async (pools) => {
      const stores = join(dataDir, 'stores');
      const files = config.data.sources.filter((source) => !isDatabase(source));
      const sources = existsSync(stores) ? [...files, stores] : files;
      const databases = new Databases(pools);
      const versions = new FileVersions();
      const deps = {
        pools,
        databases,
        dataDir,
        layerIdOf: (slug: string) => state.collections.idOf(slug),
        versionOf: (path: string) => versions.of(path),
      };
      const collection = (await publish(sources, deps, 0)).byId(id);
      if (collection?.kind !== 'vector')
        throw new ConfigError([`there is no vector collection '${id}' in ${dataDir}`]);
      if (collection.source.kind !== 'geopackage')
        throw new ConfigError([
          'collections of a database are exported with ogr2ogr, from the database itself',
        ]);
      const { path, table } = collection.source;
      bar.start(100, 0);
      const task = {
        path,
        layer: table,
        output,
        table: table.replace(/\W/g, '_').replace(/^(?=\d)/, '_'),
        format,
      };
      const { features } = await pools.run('ogr.translate', task, {
        onProgress: (f) => bar.update(Math.round(f * 100)),
      });
      bar.stop();
      process.stdout.write(`wrote ${features} features to ${file}\n`);
    });
  } catch (error) {
    bar.stop();
    if (error instanceof TaskFailure) throw new ConfigError([`the export failed: ${error.message}`]);
    throw error;
  } finally {
    await state.close();
  }
}
