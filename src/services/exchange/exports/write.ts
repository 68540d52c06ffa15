import { createWriteStream } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { TranslateTask } from '../../../core/exchange/ogr.js';
import type { ItemsResult } from '../../../core/features/features.js';
import { hasIntegerIds } from '../../../core/sources/vector-source.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import { csvHeader } from '../../../core/values/csv.js';
import { findLosses } from '../../edits/losses.js';
import { runTask, type TaskContext } from '../../kit/run-task.js';
import { getExportFormat } from './formats.js';
import { type ExportPlan, layerName, refusal } from './plan.js';

type Runner = Pick<Pools, 'run' | 'status' | 'close'>;

/** Yields the features in parts, and reads one part ahead, so that the memory does not grow with the export. */
async function* readParts(
  x: TaskContext,
  pools: Runner,
  { task }: Pick<ExportPlan, 'task'>,
): AsyncGenerator<ItemsResult> {
  let part = await runTask(x, pools, 'vector.items', task);
  for (;;) {
    // A started export is not refused because of waiting tasks.
    const next =
      part.more && part.last
        ? runTask(x, pools, 'vector.items', { ...task, after: part.last }, { begun: true })
        : undefined;
    // Without a handler, a failure before `next` is awaited would be an unhandled rejection.
    next?.catch(() => {});
    yield part;
    if (!next) return;
    part = await next;
  }
}

/** Members of an export plan for reading and writing its bytes. */
type PartPlan = Pick<ExportPlan, 'task' | 'fields' | 'crs'>;

/** Notes about values and geometries that the export changes. Never rejects. */
export async function findExportLosses(
  { signal }: Pick<TaskContext, 'signal'>,
  pools: Runner,
  { task: { source, filter, fields = [] } }: Pick<ExportPlan, 'task'>,
): Promise<readonly string[]> {
  return (await findLosses(pools, { source, filter, fields }, signal)).notes;
}

/**
 * Bytes of an export that the store writes itself. Resolves with the first part, so an earlier failure still gets an
 * HTTP status.
 */
export async function openExport(
  x: TaskContext,
  pools: Runner,
  plan: PartPlan,
): Promise<AsyncIterable<Uint8Array>> {
  const parts = readParts(x, pools, plan);
  const first = await parts.next();
  return writeParts(plan, prepend(first, parts));
}

async function* prepend<T>(first: IteratorResult<T>, rest: AsyncGenerator<T>): AsyncGenerator<T> {
  if (first.done) return;
  yield first.value;
  yield* rest;
}

/** Bytes of an export that the store writes itself. `progress` receives the number of written features. */
async function* writeParts(
  plan: PartPlan,
  parts: AsyncIterable<ItemsResult>,
  progress: (features: number) => void = () => {},
): AsyncGenerator<Uint8Array> {
  const isCsv = plan.task.format === 'csv';
  yield Buffer.from(isCsv ? csvHeader(plan.fields, plan.task) : geoJsonHead(plan));
  let features = 0;
  for await (const part of parts) {
    if (part.returned === 0) continue;
    if (features > 0 && !isCsv) yield Buffer.from(',\n');
    yield part.features;
    features += part.returned;
    progress(features);
  }
  if (!isCsv) yield Buffer.from('\n]}\n');
}

/**
 * Start of a feature collection. Programs assume longitude and latitude if the file names no CRS. A local CRS has no
 * name that programs understand.
 */
function geoJsonHead({ crs }: PartPlan): string {
  const name = `urn:ogc:def:crs:EPSG::${crs.epsg}`;
  const member =
    crs.proj === 'OGC:CRS84' || crs.isPlane || !crs.proj.startsWith('EPSG:')
      ? ''
      : `"crs":{"type":"name","properties":{"name":"${name}"}},`;
  return `{"type":"FeatureCollection",${member}"features":[\n`;
}

/** Members of an export plan for writing its file. */
export type FilePlan = PartPlan &
  Pick<ExportPlan, 'format'> & { readonly collection: Pick<ExportPlan['collection'], 'id' | 'source'> };

/** Extension with which OGR writes the files of a shapefile into a ZIP archive. */
const ZIPPED_SHAPEFILE = '.shz';
/** Share of reading in the time of an export whose file OGR writes. The total of features is unknown until it ends. */
const READ_SHARE = 0.6;

/** Contents of a complete export file. */
export interface WrittenExport {
  readonly features: number;
  /** Sentences about values that the format cannot store unchanged. */
  readonly notes: readonly string[];
}

/** Writes an export into a separate file. The file appears only once it is complete. */
export async function writeExport(
  x: TaskContext,
  pools: Runner,
  plan: FilePlan,
  output: string,
  progress: (features: number, fraction: number) => void = () => {},
): Promise<WrittenExport> {
  const { driver } = getExportFormat(plan.format);
  const draft = `${output}.draft.geojson`;
  let features = 0;
  const onRead = (read: number) => {
    features = read;
    progress(read, 0);
  };
  try {
    const losses = findExportLosses(x, pools, plan);
    await saveFile(x, writeParts(plan, readParts(x, pools, plan), onRead), driver ? draft : output);
    if (!driver) return { features, notes: await losses };
    if (features === 0) await writeFile(draft, buildPlaceholder(plan));
    const file = driver === 'ESRI Shapefile' ? `${output}${ZIPPED_SHAPEFILE}` : output;
    const task = createTranslateTask(plan, draft, file, features);
    const onProgress = (fraction: number) => progress(features, READ_SHARE + (1 - READ_SHARE) * fraction);
    const options = { onProgress, ...(x.signal ? { signal: x.signal } : {}) };
    const { notes = [], features: written } = await pools.run('ogr.translate', task, options);
    if (file !== output) await rename(file, output);
    // The placeholder of an empty draft does not count.
    return { features: features === 0 ? 0 : written, notes: [...(await losses), ...notes] };
  } catch (error) {
    if (error instanceof TaskFailure && error.code === 'source-unreadable') throw refusal(plan.format);
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** A feature from which OGR takes the fields of an empty export. Because of `isEmpty`, OGR does not write it. */
function buildPlaceholder({ fields }: PartPlan): string {
  const properties = Object.fromEntries(fields.map(({ name }) => [name, null]));
  return JSON.stringify({
    type: 'FeatureCollection',
    features: [{ type: 'Feature', geometry: null, properties }],
  });
}

async function saveFile(x: TaskContext, bytes: AsyncIterable<Uint8Array>, path: string): Promise<void> {
  const file = createWriteStream(path, { flags: 'wx', mode: 0o600 });
  await pipeline(Readable.from(bytes, { objectMode: false }), file, x.signal ? { signal: x.signal } : {});
}

function createTranslateTask(
  { collection, fields, format, crs }: FilePlan,
  path: string,
  output: string,
  features: number,
): TranslateTask {
  const { source } = collection;
  const { driver, idAsField } = getExportFormat(format);
  const isTaken = fields.some(({ name }) => name.toLowerCase() === source.idColumn.toLowerCase());
  return {
    path,
    output,
    format: driver!,
    table: layerName(collection),
    draft: {
      fields: fields.map(({ name, type }) => ({ name, type })),
      geometryType: source.geometryType,
      hasZ: source.hasZ,
      isEmpty: features === 0,
      ...(hasIntegerIds(source) ? { keepsIds: true } : {}),
      ...(idAsField && hasIntegerIds(source) && !isTaken ? { idField: source.idColumn } : {}),
    },
    ...(crs.isPlane ? { mayLackCrs: true } : { sourceCrs: crs.proj }),
  };
}
