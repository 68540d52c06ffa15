import { rm } from 'node:fs/promises';
import { TaskFailure } from '../../core/errors/failure.js';
import { makeFolder } from '../../core/files/own-folder.js';
import { formatActor } from '../../core/http/operation.js';
import { writeThrough } from '../edits/write-through.js';
import type { JobContext } from '../jobs/kinds.js';
import { PROCESSES } from './catalogue/index.js';
import type { ProcessDefinition } from './definition.js';
import type { ExecutionInput, ProcessResult, ResultFile, RunDeps, WorkResult } from './execution.js';
import { partContext, type SavedParts } from './part-context.js';
import { runJobPlan } from './plan-run.js';
import { runExport } from './run-export.js';
import { runFeatures } from './run-features.js';
import { runImport } from './run-import.js';
import { runMap } from './run-map.js';
import { runRaster } from './run-raster.js';
import { runTiles } from './run-tiles.js';

/** One run of a process: whatever an earlier run has left in the folder is made again. */
export async function executeProcess(
  context: JobContext<ExecutionInput>,
  folder: string,
  deps: RunDeps,
): Promise<ProcessResult> {
  const { plan } = context.input;
  const saved: SavedParts = { ...(context.saved as SavedParts | undefined) };
  const results = plan
    ? await runJobPlan(partContext(context, 'steps', saved), plan, folder, deps, runWork)
    : await runWork(context, folder, deps);
  const collections: Record<string, string> = {};
  await context.requireCaller();
  for (const [output, { file, title }] of Object.entries(results.files)) {
    // The file is on the disk before the job reports its end.
    await writeThrough(file.path);
    const collection = await publishOutput(context, { title, output, file, saved }, deps);
    if (collection !== undefined) collections[output] = collection;
    await context.artifact({
      label: output,
      kind: 'process-output',
      content_type: file.mediaType,
      size_bytes: file.bytes,
      location: file.path,
    });
  }
  const files = Object.entries(results.files).map(([output, { file }]) => [output, file] as const);
  return { values: results.values, files: Object.fromEntries(files), collections };
}

/** Runs one process. Its files are in `folder`, which is emptied first. */
async function runWork(
  context: JobContext<ExecutionInput>,
  folder: string,
  deps: RunDeps,
): Promise<WorkResult> {
  const definition = PROCESSES.get(context.input.process);
  if (!definition || definition.work.kind === 'plan')
    throw new TaskFailure('invalid-input', `There is no process ${context.input.process}.`);
  await context.requireCaller();
  const { work, title } = definition;
  if (work.kind === 'values') return { values: work.compute(context.input.values), files: {} };
  if (work.kind === 'import') return { values: await runImport(context, work, folder, deps), files: {} };
  // Tiles that an earlier run has written are not made again.
  if (work.kind !== 'tiles') await rm(folder, { recursive: true, force: true });
  await makeFolder(folder, 0o700);
  const file = await runKind(context, definition, work, folder, deps);
  if ('values' in file) return { values: file.values, files: {} };
  return { values: {}, files: { [work.output]: { file, title } } };
}

type FileWork = Exclude<ProcessDefinition['work'], { kind: 'values' | 'plan' | 'import' }>;

function runKind(
  context: JobContext<ExecutionInput>,
  definition: ProcessDefinition,
  work: FileWork,
  folder: string,
  deps: RunDeps,
): Promise<ResultFile | { values: Record<string, unknown> }> {
  switch (work.kind) {
    case 'raster':
      return runRaster(context, definition, work, folder, deps);
    case 'export':
      return runExport(context, definition, work, folder, deps);
    case 'map':
      return runMap(context, definition, work, folder, deps);
    case 'tiles':
      return runTiles(context, definition, work, folder, deps);
    default:
      return runFeatures(context, definition, work, folder, deps);
  }
}

interface Output {
  /** Title of the process. */
  readonly title: string;
  readonly output: string;
  readonly file: ResultFile;
  readonly saved: SavedParts;
}

async function publishOutput(
  context: JobContext<ExecutionInput>,
  { title: titleOfProcess, output, file, saved }: Output,
  { publish }: RunDeps,
): Promise<string | undefined> {
  const request = context.input.outputs[output]?.publish;
  if (!request) return undefined;
  const { collection, title = titleOfProcess } = request;
  const { path, features, mediaType } = file;
  const { derivedFrom: sources = [], principal } = context.input;
  const publication = {
    path,
    mediaType,
    collection,
    title,
    sources,
    by: formatActor(principal),
    ...(features === undefined ? {} : { features }),
  };
  const work = () => publish(partContext(context, `publish ${output}`, saved), publication);
  await context.step('publish', `Publishing ${collection}`, work, true);
  return collection;
}
