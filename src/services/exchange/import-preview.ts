import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import type { Collection } from '../../core/catalog/collection.js';
import { ApiError } from '../../core/errors/errors.js';
import { TaskFailure } from '../../core/errors/failure.js';
import type { OgrLayerInfo } from '../../core/exchange/ogr.js';
import { makeFolder } from '../../core/files/own-folder.js';
import type { Box } from '../../core/geometry/box.js';
import type { AssumedCrs } from '../../core/geometry/stated-crs.js';
import type { Field } from '../../core/sources/vector-source.js';
import type { Pools, TaskOptions } from '../../core/tasks/tasks.js';
import { formatBoxSides } from '../catalog/inspections/crs-notes.js';
import type { Guess } from '../catalog/inspections/guess-crs.js';
import { nameLayer } from '../catalog/publish/convert.js';
import { getFileStem, isGzipped, isZipped } from '../catalog/publish/formats.js';
import { holdsBareGeometries, writeAsCsv } from '../edits/bare-geometries.js';
import { findImportFormat } from './import-formats.js';
import { type ImportSample, readSample, type SampleRequest } from './import-sample.js';
import { describeUndeclared } from './import-staging.js';

/** Data that an import of a file would read. */
export interface ImportPreview {
  format: string;
  detectedSrid: number | null;
  totalFeatureCount: number;
  availableLayers: string[];
  sampleProperties: Record<string, unknown>;
  warnings: string[];
  /** West, south, east and north. Null if the place is unknown. */
  extent: Box | null;
  /** Extent in the units of the file. */
  coordinateExtent: Box | null;
  fields: Pick<Field, 'name' | 'type'>[];
  /** Up to 100 features in degrees. */
  sample: { type: 'FeatureCollection'; features: unknown[] };
  crsGuesses: Guess[];
  /** Assumption of an import about data that declares no CRS. */
  assumedCrs: { as: AssumedCrs['as']; crs: string | null } | null;
}

/** A received file. Its name on disk is meaningless to users. */
interface ReceivedFile {
  path: string;
  fileName: string;
}

/** Milliseconds of the preview time reserved for checking the views of a file that could not be read in time. */
const VIEWS_MS = 5000;

interface PreviewOptions extends TaskOptions {
  readonly deadlineMs: number;
  /** Collections near which data without a declared CRS is searched. */
  readonly neighbours?: readonly Collection[];
  /** Collections that suggest CRSs. */
  readonly published?: readonly Collection[];
}

/** Describes a file. Intermediate files are written to a new folder in `directory`, which is deleted afterwards. */
export async function previewFile(
  { path: file, fileName }: ReceivedFile,
  directory: string,
  pools: Pick<Pools, 'run'>,
  { deadlineMs, neighbours = [], published = neighbours, ...others }: PreviewOptions,
): Promise<ImportPreview> {
  const options = { ...others, deadlineMs: deadlineMs - VIEWS_MS };
  const folder = join(directory, `preview-${randomUUID()}`);
  try {
    const path = await openable(file, folder, pools, options);
    const sampled = { folder: `${folder}-sample`, neighbours, published };
    return await describe({ path: file, fileName }, path, sampled, pools, options).catch(
      async (error: unknown) => {
        throw await explain(error, path, pools, { ...others, deadlineMs: VIEWS_MS });
      },
    );
  } finally {
    for (const one of [folder, `${folder}-sample`]) await rm(one, { recursive: true, force: true });
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
  sampled: Pick<SampleRequest, 'folder' | 'neighbours' | 'published'>,
  pools: Pick<Pools, 'run'>,
  options: TaskOptions & { deadlineMs: number },
): Promise<ImportPreview> {
  const { layers, layer, sample, driver } = await pools.run('ogr.preview', { path }, options);
  if (!layer)
    throw new ApiError('invalid-request', 'The file has no layer. Send a file with a vector layer.');
  // A layer without a name gets the name of the file on disk, which is replaced by the client's file name.
  const stem = getFileStem(fileName);
  const shown = (one: OgrLayerInfo) => ({
    ...one,
    name: one.name === getFileStem(file) ? stem : nameLayer(stem, one, layers),
  });
  const { sampled: features, problem } = await sampleOf({ ...sampled, path, layer }, pools, options);
  const undeclared = features?.undeclared;
  return {
    format: driver === 'ESRIJSON' ? 'EsriJson' : await loadFormat(file, path),
    detectedSrid: findSrid(layer.crs ?? undeclared?.crs ?? null),
    totalFeatureCount: layer.featureCount,
    availableLayers: layers.map((one) => shown(one).name),
    sampleProperties: features?.properties ?? (JSON.parse(sample) as Record<string, unknown>),
    warnings: [
      ...listWarnings(shown(layer), layers, features),
      ...(features?.notes ?? []),
      ...(problem === undefined ? [] : [`An import would fail: ${problem}`]),
    ],
    extent: features?.extent ?? null,
    coordinateExtent: features?.coordinateExtent ?? layer.extent ?? null,
    fields: features?.fields ?? layer.fields.map(({ name, type }) => ({ name, type })),
    sample: { type: 'FeatureCollection', features: features?.features ?? [] },
    crsGuesses: features?.crsGuesses ?? [],
    assumedCrs: undeclared?.assumed
      ? { as: undeclared.assumed.as, crs: undeclared.assumed.crs ?? null }
      : null,
  };
}

/** Failures that are faults of the file. */
const FAULTS = new Set(['source-unreadable', 'invalid-input', 'no-data', 'too-large']);

async function sampleOf(
  request: SampleRequest,
  pools: Pick<Pools, 'run'>,
  options: TaskOptions & { deadlineMs: number },
): Promise<{ sampled?: ImportSample | undefined; problem?: string }> {
  const { hasGeometry, featureCount } = request.layer;
  if (hasGeometry === false || featureCount === 0) return {};
  try {
    return { sampled: await readSample(request, pools, options) };
  } catch (error) {
    if (!(error instanceof TaskFailure) || !FAULTS.has(error.code)) throw error;
    return { problem: error.message };
  }
}

async function loadFormat(file: string, path: string): Promise<string> {
  const format = findImportFormat(holdsBareGeometries(file) ? file : path);
  return format?.name ?? 'Unknown';
}

function findSrid(crs: string | null): number | null {
  if (crs === 'OGC:CRS84') return 4326;
  const [, code] = /^EPSG:(\d+)$/.exec(crs ?? '') ?? [];
  return code === undefined ? null : Number(code);
}

function listWarnings(
  layer: OgrLayerInfo,
  layers: readonly OgrLayerInfo[],
  { undeclared, coordinateExtent }: Partial<Pick<ImportSample, 'undeclared' | 'coordinateExtent'>> = {},
): string[] {
  const where = coordinateExtent ? `, because ${formatBoxSides(coordinateExtent)} cannot be degrees` : '';
  const spatial = layers.filter(({ hasGeometry }) => hasGeometry !== false);
  return [
    spatial.length === 0 && 'The file has no layer with a geometry: an import would refuse it.',
    spatial.length > 1 &&
      `The file has ${spatial.length} layers with a geometry; an import takes this one: ${layer.name}.`,
    layer.crs === null &&
      !undeclared &&
      layer.featureCount > 0 &&
      `The file declares no coordinate reference system, and its place is unknown${where}. Send SourceSrid.`,
    undeclared?.assumed && describeUndeclared(undeclared.assumed),
    layer.featureCount === 0 && 'The layer has no features.',
  ].filter((text) => typeof text === 'string');
}
