import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { ApiError } from '../../core/errors/errors.js';
import { TaskFailure } from '../../core/errors/failure.js';
import type { OgrLayerInfo } from '../../core/exchange/ogr.js';
import { makeFolder } from '../../core/files/own-folder.js';
import type { Pools, TaskOptions } from '../../core/tasks/tasks.js';
import { isCsv } from '../../core/values/csv.js';
import { getFileStem, isGzipped, isZipped } from '../catalog/publish/formats.js';
import { holdsBareGeometries, writeAsCsv } from '../edits/bare-geometries.js';
import { findImportFormat } from './import-formats.js';

/** Data that an import of a file would read. */
export interface ImportPreview {
  format: string;
  detectedSrid: number | null;
  totalFeatureCount: number;
  availableLayers: string[];
  sampleProperties: Record<string, unknown>;
  warnings: string[];
}

/** A received file. Its name on disk is meaningless to users. */
interface ReceivedFile {
  path: string;
  fileName: string;
}

/** Milliseconds of the preview time reserved for checking the views of a file that could not be read in time. */
const VIEWS_MS = 5000;

/** Describes a file. Intermediate files are written to a new folder in `directory`, which is deleted afterwards. */
export async function previewFile(
  { path: file, fileName }: ReceivedFile,
  directory: string,
  pools: Pick<Pools, 'run'>,
  { deadlineMs, ...others }: TaskOptions & { deadlineMs: number },
): Promise<ImportPreview> {
  const options = { ...others, deadlineMs: deadlineMs - VIEWS_MS };
  const folder = join(directory, `preview-${randomUUID()}`);
  try {
    const path = await openable(file, folder, pools, options);
    return await describe({ path: file, fileName }, path, pools, options).catch(async (error: unknown) => {
      throw await explain(error, path, pools, { ...others, deadlineMs: VIEWS_MS });
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A file with an endless view is never read in time: the client must not try it again. */
async function explain(
  error: unknown,
  path: string,
  pools: Pick<Pools, 'run'>,
  options: TaskOptions,
): Promise<unknown> {
  if (!(error instanceof TaskFailure) || error.code !== 'deadline-exceeded') return error;
  const views = await pools.run('vector.slowViews', { path }, options).catch(() => []);
  if (views.length === 0) return error;
  return new TaskFailure(
    'too-large',
    `The file cannot be read in time, because these views do not end or take too long: ${views.join(', ')}. Remove them, or write their rows into tables.`,
  );
}

/** The path that OGR opens for the file. */
async function openable(
  file: string,
  folder: string,
  pools: Pick<Pools, 'run'>,
  options: TaskOptions,
): Promise<string> {
  if (holdsBareGeometries(file)) {
    await makeFolder(folder);
    const table = join(folder, `${basename(file, extname(file))}.csv`);
    await writeAsCsv(file, table);
    return table;
  }
  if (!isZipped(file) && !isGzipped(file)) return file;
  return (await pools.run('ogr.unpack', { path: file, output: folder }, options)).path;
}

async function describe(
  { path: file, fileName }: ReceivedFile,
  path: string,
  pools: Pick<Pools, 'run'>,
  options: TaskOptions,
): Promise<ImportPreview> {
  const { layers, layer, sample, driver } = await pools.run('ogr.preview', { path }, options);
  if (!layer)
    throw new ApiError('invalid-request', 'The file has no layer. Send a file with a vector layer.');
  // A layer without a name gets the name of the file on disk, which is replaced by the client's file name.
  const shown = (one: OgrLayerInfo) =>
    one.name === getFileStem(file) ? { ...one, name: getFileStem(fileName) } : one;
  return {
    format: driver === 'ESRIJSON' ? 'EsriJson' : await loadFormat(file, path),
    detectedSrid: findSrid(layer),
    totalFeatureCount: layer.featureCount,
    availableLayers: layers.map((one) => shown(one).name),
    sampleProperties: JSON.parse(sample) as Record<string, unknown>,
    warnings: listWarnings(path, shown(layer), layers),
  };
}

async function loadFormat(file: string, path: string): Promise<string> {
  const format = findImportFormat(holdsBareGeometries(file) ? file : path);
  return format?.name ?? 'Unknown';
}

function findSrid({ crs }: OgrLayerInfo): number | null {
  if (crs === 'OGC:CRS84') return 4326;
  const [, code] = /^EPSG:(\d+)$/.exec(crs ?? '') ?? [];
  return code === undefined ? null : Number(code);
}

function listWarnings(path: string, layer: OgrLayerInfo, layers: readonly OgrLayerInfo[]): string[] {
  const spatial = layers.filter(({ hasGeometry }) => hasGeometry !== false);
  return [
    spatial.length === 0 && 'The file has no layer with a geometry: an import would refuse it.',
    spatial.length > 1 &&
      `The file has ${spatial.length} layers with a geometry; an import takes this one: ${layer.name}.`,
    layer.crs === null &&
      `The file names no coordinate reference system: send SourceSrid${isCsv(path) ? ', as for every CSV file' : ''}.`,
    layer.featureCount === 0 && 'The layer has no features.',
  ].filter((text) => text !== false);
}
