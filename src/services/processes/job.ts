import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { TaskFailure } from '../../core/failure.js';
import type { FeatureProcessResult } from '../../core/feature-processes.js';
import { GEOTIFF_FORMAT } from '../../core/media.js';
import type { Principal } from '../../core/operation.js';
import type { Pools } from '../../core/tasks.js';
import { EXPORT_FORMATS } from '../exports/formats.js';
import type { JobContext } from '../jobs/kinds.js';
import { PROCESSES } from './catalogue/index.js';
import type { InputValues, ProcessDefinition, ProcessWork } from './definition.js';
import type { Plan } from './plan.js';
import { runPlan } from './plan-run.js';
import type { SourceReference } from './source-input.js';
import type { FeaturesSource, ProcessSources } from './sources.js';

/** What a job of a process is given. */
export interface ExecutionInput {
  process: string;
  values: InputValues;
  /** Features and rasters, by the names of their inputs. */
  sources: Readonly<Record<string, SourceReference>>;
  /** Of the process that does several. */
  plan?: Plan<SourceReference>;
  outputs: Readonly<Record<string, OutputRequest>>;
  response: 'document' | 'raw';
  /** It reads what this principal may read then. */
  principal: Principal;
}

export interface OutputRequest {
  /** As the output usually goes when absent: features by value, rasters by reference. */
  transmissionMode?: 'value' | 'reference';
  /** The features become a collection. */
  publish?: { collection: string; title?: string };
}

/** A file that a job has made. */
export interface ResultFile {
  path: string;
  mediaType: string;
  bytes: number;
  /** Of a GeoPackage. */
  features?: number;
}

export const { mediaType: GEOPACKAGE } = EXPORT_FORMATS.gpkg;
export const { mediaType: GEOTIFF } = GEOTIFF_FORMAT;

/** What is kept of a job that succeeded. */
export interface ProcessResult {
  values: Record<string, unknown>;
  files: Record<string, ResultFile>;
  /** Ids of collections, by output. */
  collections: Record<string, string>;
}

export interface RunDeps {
  /** Bytes that the steps of a plan may leave for each other. */
  spoolBytes: number;
  pools: Pick<Pools, 'run'>;
  sources: ProcessSources;
  /** Makes a table of a GeoPackage a collection; once for each token. */
  publish(
    context: JobContext,
    table: { path: string; features: number; collection: string; title: string },
  ): Promise<void>;
}

type FeaturesWork = Extract<ProcessWork, { kind: 'features' }>;
type RasterWork = Extract<ProcessWork, { kind: 'raster' }>;

/** Milliseconds between looks at how far a process is. */
const LOOK_MS = 250;
/** Share of a job that the process itself is; publishing is the rest. */
const PROCESSED = 0.9;

/** One run of a process: whatever an earlier run has left in the folder is made again. */
export async function runProcess(
  context: JobContext<ExecutionInput>,
  folder: string,
  deps: RunDeps,
): Promise<ProcessResult> {
  const { plan } = context.input;
  const results = plan
    ? await runPlan(context, plan, folder, deps, runWork)
    : await runWork(context, folder, deps);
  const collections: Record<string, string> = {};
  for (const [output, { file, title }] of Object.entries(results.files)) {
    const collection = await publishOutput(context, title, output, file, deps);
    if (collection !== undefined) collections[output] = collection;
    await context.artifact({
      ...{ label: output, kind: 'process-output', content_type: file.mediaType },
      ...{ size_bytes: file.bytes, location: file.path },
    });
  }
  const files = Object.entries(results.files).map(([output, { file }]) => [output, file] as const);
  return { values: results.values, files: Object.fromEntries(files), collections };
}

/** What a process has made, before anything of it is published. */
export interface WorkResult {
  values: Record<string, unknown>;
  /** By output; `title` is that of the process. */
  files: Record<string, { file: ResultFile; title: string }>;
}

/** The work of one process; its files lie in `folder`, which is emptied first. */
export async function runWork(
  context: JobContext<ExecutionInput>,
  folder: string,
  deps: RunDeps,
): Promise<WorkResult> {
  const definition = PROCESSES.get(context.input.process);
  if (!definition || definition.work.kind === 'plan')
    throw new TaskFailure('invalid-input', `There is no process ${context.input.process}.`);
  const { work, title } = definition;
  if (work.kind === 'values') return { values: work.compute(context.input.values), files: {} };
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file =
    work.kind === 'raster'
      ? await runRaster(context, definition, work, folder, deps)
      : await runFeatures(context, definition, work, folder, deps);
  return { values: {}, files: { [work.output]: { file, title } } };
}

async function runFeatures(
  context: JobContext<ExecutionInput>,
  { title }: ProcessDefinition,
  work: FeaturesWork,
  folder: string,
  deps: RunDeps,
): Promise<ResultFile> {
  const path = join(folder, `${work.output}.gpkg`);
  const sides = await context.step('read', 'Reading the inputs', () =>
    resolveSides(context, work, folder, deps),
  );
  const result = await context.step('process', title, () => processSides(context, work, sides, path, deps));
  await tellFaults(context, result);
  await context.log('info', `${result.read} features were read, ${result.features} written.`);
  return { path, mediaType: GEOPACKAGE, bytes: (await stat(path)).size, features: result.features };
}

async function runRaster(
  context: JobContext<ExecutionInput>,
  { title }: ProcessDefinition,
  work: RasterWork,
  folder: string,
  { sources, pools }: RunDeps,
): Promise<ResultFile> {
  const { sources: references, principal, values } = context.input;
  const { signal } = context;
  const { source, facts } = await sources.raster(work.input, references[work.input]!, principal, signal);
  const isRaster = work.output === 'raster';
  const path = join(folder, `${work.output}.${isRaster ? 'tif' : 'gpkg'}`);
  const band = (values['band'] as number | undefined) ?? 1;
  const task = { process: work.plan(values, facts), source, band, output: path };
  const onProgress = (fraction: number) => context.progress(fraction * PROCESSED);
  const { features } = await context.step('process', title, () =>
    pools.run('raster.process', task, { signal, onProgress }),
  );
  const mediaType = isRaster ? GEOTIFF : GEOPACKAGE;
  return { path, mediaType, bytes: (await stat(path)).size, ...(features === undefined ? {} : { features }) };
}

interface Sides {
  input: FeaturesSource;
  overlay?: FeaturesSource;
}

async function resolveSides(
  { input: { sources: references, principal }, signal }: JobContext<ExecutionInput>,
  { input, overlay }: FeaturesWork,
  folder: string,
  { sources }: RunDeps,
): Promise<Sides> {
  const resolve = (name: string) => sources.resolve(name, references[name]!, principal, folder, signal);
  return { input: await resolve(input), ...(overlay ? { overlay: await resolve(overlay) } : {}) };
}

async function processSides(
  context: JobContext<ExecutionInput>,
  work: FeaturesWork,
  { input, overlay }: Sides,
  output: string,
  { pools }: RunDeps,
): Promise<FeatureProcessResult> {
  const { process, fields } = work.plan(context.input.values, input.facts, overlay?.facts);
  const count = new SharedArrayBuffer(4);
  const task = {
    ...{ process, output, count },
    input: { ...input.features, ...(fields ? { fields: [...fields] } : {}) },
    ...(overlay ? { overlay: overlay.features } : {}),
  };
  const read = new Int32Array(count);
  const tell = () =>
    input.count && context.progress(Math.min(1, Atomics.load(read, 0) / input.count) * PROCESSED);
  const timer = setInterval(tell, LOOK_MS);
  try {
    return await pools.run('process.features', task, { signal: context.signal });
  } finally {
    clearInterval(timer);
  }
}

/** Features that could not be processed fail the job, or are told with it. */
async function tellFaults(context: JobContext<ExecutionInput>, result: FeatureProcessResult): Promise<void> {
  if (result.faults === 0) return;
  const list = result.faultList
    .map(({ id, reason }) => (id === undefined ? reason : `${id} (${reason})`))
    .join(', ');
  const more = result.faults > result.faultList.length ? ', and others' : '';
  const message = `${result.faults} features cannot be processed: ${list}${more}.`;
  if (context.input.values['invalidGeometries'] === 'fail') throw new TaskFailure('invalid-input', message);
  await context.warn(message.slice(0, 2000));
}

async function publishOutput(
  context: JobContext<ExecutionInput>,
  titleOfProcess: string,
  output: string,
  { path, features = 0 }: ResultFile,
  { publish }: RunDeps,
): Promise<string | undefined> {
  const request = context.input.outputs[output]?.publish;
  if (!request) return undefined;
  const { collection, title = titleOfProcess } = request;
  const work = () => publish(context, { path, features, collection, title });
  await context.step('publish', `Publishing ${collection}`, work, true);
  return collection;
}
