import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative, resolve } from 'node:path';
import { hasCoverage, hasFeatures } from '../core/catalog/abilities.js';
import { describeWarning } from '../core/catalog/assumed-crs.js';
import type { Collection, RasterCollection, VectorCollection } from '../core/catalog/collection.js';
import { isInFolder } from '../core/files/folders.js';
import type { Crs } from '../core/geometry/crs.js';
import { findStatedCrs } from '../core/geometry/stated-crs.js';
import { type CsvInspection, isCsv } from '../core/values/csv.js';
import { describeCrs } from '../native/index.js';
import { sidecarCrs } from '../services/catalog/inspections/sidecar-crs.js';
import { withCatalog } from './catalog.js';
import { CommandError } from './command-error.js';

export interface InspectOptions {
  config?: string;
  crs?: Record<string, string>;
}

/** `graticule inspect FILE`: prints the collections of a file. It converts the file into a temporary folder, as a server would. */
export async function inspectFile(file: string, options: InspectOptions): Promise<void> {
  const path = resolve(file);
  if (!existsSync(path)) throw new CommandError(`${file}: there is no file or folder ${path}.`);
  const dataDir = mkdtempSync(join(tmpdir(), 'graticule-inspect-'));
  try {
    await withCatalog({ ...options, dataDir, source: [path] }, async ({ catalog, pools }) => {
      const lines: string[] = [];
      for (const one of catalog.collections) {
        lines.push(...titleLines(one));
        if (isCsv(one.file)) lines.push(...csvLines(await pools.run('ogr.inspectCsv', { path: one.file })));
        lines.push(...(hasFeatures(one) ? await vectorLines(one, options.crs) : rasterLines(one)), '');
      }
      for (const { path: refused, layer, reason } of catalog.quarantined)
        lines.push(`not published: ${nameWithin(path, refused)}${layer ? ` (${layer})` : ''}: ${reason}`, '');
      if (lines.length === 0) lines.push(`${file} contains no data that can be published`, '');
      process.stdout.write(lines.join('\n'));
      if (catalog.collections.length === 0) process.exitCode = 1;
    });
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Path of a file relative to the inspected folder; the name of the inspected file itself. */
function nameWithin(path: string, file: string): string {
  const real = realpathSync(path);
  return isInFolder(file, real) && file !== real ? relative(real, file) : basename(file);
}

function titleLines(collection: Collection): string[] {
  return [`collection ${collection.id} (${collection.title})`];
}

const SEPARATORS: Readonly<Record<string, string>> = {
  ',': 'commas',
  ';': 'semicolons',
  '\t': 'tabs',
  '|': 'bars',
};

function csvLines({ encoding, encodingReason, separator, geometry, commas, texts }: CsvInspection): string[] {
  return [
    line('encoding', `${encoding}: ${encodingReason}; override it in FILE.cpg`),
    line('separator', SEPARATORS[separator]!),
    line('geometry', `from ${geometry}`),
    ...(commas.length > 0 ? [line('decimals', `with commas in ${commas.join(', ')}`)] : []),
    ...texts.map(({ column, value, record, reason }) =>
      line('text', `${column}, as ${JSON.stringify(value)} in record ${record} ${reason}`),
    ),
  ];
}

async function vectorLines(collection: VectorCollection, crs: InspectOptions['crs']): Promise<string[]> {
  const { source, featureCount, extent84, extent } = collection;
  const warning = describeWarning(collection);
  return [
    line('features', `${featureCount} of type ${source.geometryType}${source.hasZ ? ' with heights' : ''}`),
    line('crs', `${crsName(collection.storageCrs)}: ${await crsReason(collection, crs)}`),
    ...(warning === undefined ? [] : [line('warning', warning)]),
    ...(extent84 ? [line('extent', `${extent84.join(', ')} degrees`)] : []),
    ...(extent ? [line('extent', `${extent.join(', ')} in its plane`)] : []),
    line('ids', source.idColumn),
    ...source.fields.map(({ name, type }) => line('attribute', `${name}, ${type}`)),
  ];
}

/** Code and name of a CRS; only the name if the CRS has no code. */
function crsName({ proj }: Crs): string {
  const { name } = describeCrs(proj);
  return /^\w+:\w+$/.test(proj) ? `${proj} (${name})` : name;
}

/** Source of the CRS of a collection. */
async function crsReason({ file, takenFor }: VectorCollection, crs: InspectOptions['crs']): Promise<string> {
  if (Object.keys(findStatedCrs(crs ?? {}, file)).length > 0) return 'from --crs';
  if (takenFor === 'degrees')
    return 'default, because the file names no CRS and the coordinates can be degrees; override it with --crs';
  if (takenFor === 'plane') return 'the file names no CRS, and the coordinates cannot be degrees';
  return (await sidecarCrs(file)) === undefined ? 'from the file' : 'from a file in the same folder';
}

function rasterLines(collection: Exclude<Collection, VectorCollection>): string[] {
  if (!hasCoverage(collection))
    return [line('tiles', `${collection.format}, zooms ${collection.minZoom} to ${collection.maxZoom}`)];
  return coverageLines(collection);
}

function coverageLines({ raster, bands, storageCrs, extent84 }: RasterCollection): string[] {
  return [
    line('size', `${raster.width} x ${raster.height} pixels, ${raster.driver}`),
    line('crs', `${crsName(storageCrs)}: the file names it`),
    ...(extent84 ? [line('extent', `${extent84.join(', ')} degrees`)] : []),
    ...bands.map(({ band, type, description }) =>
      line('band', [band, type, description].filter(Boolean).join(', ')),
    ),
  ];
}

const line = (subject: string, text: string) => `  ${subject.padEnd(10)} ${text}`;
