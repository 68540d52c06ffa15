import { existsSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { SingleBar } from 'cli-progress';
import { hasFeatures } from '../core/catalog/abilities.js';
import type { VectorCollection } from '../core/catalog/collection.js';
import { TaskFailure } from '../core/errors/failure.js';
import type { ExportDriver } from '../core/exchange/ogr.js';
import { noteLosses } from '../core/features/value-notes.js';
import type { Pools } from '../core/tasks/tasks.js';
import { type CatalogOptions, withCatalog } from './catalog.js';
import { CommandError, EXIT_FAILED } from './command-error.js';

export type ExportCommandOptions = CatalogOptions;

const FORMATS: Record<string, ExportDriver> = {
  '.gpkg': 'GPKG',
  '.geojson': 'GeoJSON',
  '.json': 'GeoJSON',
  '.fgb': 'FlatGeobuf',
  '.parquet': 'Parquet',
  '.csv': 'CSV',
  '.kml': 'KML',
};

/** Formats whose coordinates are longitudes and latitudes. */
const IN_DEGREES: ReadonlySet<ExportDriver> = new Set(['GeoJSON', 'KML']);

/** Formats whose geometries have no M values and no arcs. */
const FEATURE_FORMATS: ReadonlySet<ExportDriver> = new Set(['GeoJSON', 'KML']);

/** Sentences on values and geometries that such a format does not have. */
async function findLosses(
  pools: Pools,
  { source }: VectorCollection,
  format: ExportDriver,
): Promise<string[]> {
  // KML has infinite numbers.
  const fields = format === 'KML' ? [] : source.fields.map(({ name }) => name);
  return noteLosses(await pools.run('vector.losses', { source, filter: undefined, fields }));
}

/** `graticule export COLLECTION FILE`: writes a vector collection; the file is there whole or not at all. */
export async function exportCollection(
  id: string,
  file: string,
  options: ExportCommandOptions,
): Promise<void> {
  const output = resolve(file);
  const format = FORMATS[extname(output).toLowerCase()];
  if (!format)
    throw new CommandError(
      `${file}: the extension is not that of a format. Use ${Object.keys(FORMATS).join(', ')}.`,
    );
  if (existsSync(output))
    throw new CommandError(`${file}: the file already exists. Name another file, or remove it first.`);
  const bar = new SingleBar({ format: '  {bar} {percentage}%', barsize: 30, hideCursor: true });
  try {
    await withCatalog(options, async ({ catalog, pools, dataDir }) => {
      const collection = catalog.byId(id);
      if (!hasFeatures(collection))
        throw new CommandError(
          `${id}: no vector collection in ${dataDir} has this name. Run 'graticule inspect' to list the layers of a file.`,
        );
      const { storageCrs } = collection;
      const { path, table, idColumn, rowColumn } = collection.source;
      if (path === undefined)
        throw new CommandError(
          'Collections of a database are not exported by this command. Use ogr2ogr on the database.',
        );
      bar.start(100, 0);
      const task = {
        path,
        layer: table,
        output,
        table: table.replace(/\W/g, '_').replace(/^(?=\d)/, '_'),
        format,
        ...(storageCrs.isPlane ? { mayLackCrs: !IN_DEGREES.has(format) } : { sourceCrs: storageCrs.proj }),
        ...(rowColumn ? { idColumn } : {}),
      };
      const { features, notes = [] } = await pools.run('ogr.translate', task, {
        onProgress: (f) => bar.update(Math.round(f * 100)),
      });
      const losses = FEATURE_FORMATS.has(format) ? await findLosses(pools, collection, format) : [];
      bar.stop();
      for (const note of [...losses, ...notes]) process.stderr.write(`warning: ${note}\n`);
      process.stdout.write(`wrote ${features} features to ${file}\n`);
    });
  } catch (error) {
    bar.stop();
    if (error instanceof TaskFailure)
      throw new CommandError(`The export failed: ${error.message}`, EXIT_FAILED);
    throw error;
  }
}
