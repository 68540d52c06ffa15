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

/** Reads part by part, each from the key of the last feature: the memory that it takes does not grow. */
async function* exportParts(
  x: TaskContext,
  pools: Runner,
  { task }: Pick<ExportPlan, 'task'>,
): AsyncGenerator<ItemsResult> {
  let part = await runTask(x, pools, 'vector.items', task);
  for (;;) {
    const next =
      part.more && part.last
        ? runTask(x, pools, 'vector.items', { ...task, after: part.last }, { begun: true })
        : undefined;
    // A failure is met where it is awaited, not before.
    next?.catch(() => {});
    yield part;
    if (!next) return;
    part = await next;
  }
}

/** Members of an export plan for reading and writing its bytes. */
type PartPlan = Pick<ExportPlan, 'task' | 'fields' | 'crs'>;

/** Sentences about values and geometries that the exported features have in another form than the stored features. */
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
  const parts = exportParts(x, pools, plan);
  const first = await parts.next();
  return exportBytes(plan, resumed(first, parts));
}

async function* resumed<T>(first: IteratorResult<T>, rest: AsyncGenerator<T>): AsyncGenerator<T> {
  if (first.done) return;
  yield first.value;
  yield* rest;
}

/** Bytes of an export that the store writes itself. `progress` receives the number of features written. */
async function* exportBytes(
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

/** Programs take the coordinates for longitudes and latitudes where no other CRS is named. */
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

/** Ending by which OGR writes the files of a shapefile into a ZIP archive. */
const ZIPPED_SHAPEFILE = '.shz';
/** Share of an export that reading is, where OGR writes the file. */
const READ = 0.6;

/** A file that was written. */
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
    const finding = findExportLosses(x, pools, plan);
    await save(x, exportBytes(plan, exportParts(x, pools, plan), onRead), driver ? draft : output);
    if (!driver) return { features, notes: await finding };
    if (features === 0) await writeFile(draft, columnsAlone(plan));
    const file = driver === 'ESRI Shapefile' ? `${output}${ZIPPED_SHAPEFILE}` : output;
    const task = translation(plan, draft, file, features);
    const onProgress = (fraction: number) => progress(features, READ + (1 - READ) * fraction);
    const options = { onProgress, ...(x.signal ? { signal: x.signal } : {}) };
    const { notes = [], features: written } = await pools.run('ogr.translate', task, options);
    if (file !== output) await rename(file, output);
    // A draft without features has one that names the fields.
    return { features: features === 0 ? 0 : written, notes: [...(await finding), ...notes] };
  } catch (error) {
    if (error instanceof TaskFailure && error.code === 'source-unreadable') throw refusal(plan.format);
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Names the fields where no feature does; it is not written. */
function columnsAlone({ fields }: PartPlan): string {
  const properties = Object.fromEntries(fields.map(({ name }) => [name, null]));
  return JSON.stringify({
    type: 'FeatureCollection',
    features: [{ type: 'Feature', geometry: null, properties }],
  });
}

async function save(x: TaskContext, bytes: AsyncIterable<Uint8Array>, path: string): Promise<void> {
  const file = createWriteStream(path, { flags: 'wx', mode: 0o600 });
  await pipeline(Readable.from(bytes, { objectMode: false }), file, x.signal ? { signal: x.signal } : {});
}

function translation(
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
