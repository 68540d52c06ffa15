import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { TaskFailure } from '../../core/errors/failure.js';
import { noteRoundedNumbers } from '../../core/features/value-notes.js';
import type { FeatureProcessResult } from '../../core/processes/feature-processes.js';
import type { Pools, TaskUsage } from '../../core/tasks/tasks.js';
import { findLosses } from '../edits/losses.js';
import type { JobContext } from '../jobs/kinds.js';
import type { FeaturesPlan, ProcessDefinition, ProcessWork } from './definition.js';
import { type ExecutionInput, GEOPACKAGE, type ResultFile, type RunDeps } from './execution.js';
import { type PushDown, planPushDown } from './push-down.js';
import type { FeaturesSource } from './sources.js';

/** Processes of features, as steps of jobs. */

type FeaturesWork = Extract<ProcessWork, { kind: 'features' }>;

/** Share of a job that the process itself is; publishing is the rest. */
export const PROCESSED = 0.9;

/** Features become features. */
export async function runFeatures(
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
  await tellRead(context, result);
  return { path, mediaType: GEOPACKAGE, bytes: (await stat(path)).size, features: result.features };
}

interface Result extends FeatureProcessResult {
  /** The database computed it. */
  isPushedDown: boolean;
}

function tellRead(context: JobContext, { read, features, isPushedDown }: Result): Promise<void> {
  const source = isPushedDown ? 'rows came from the database' : 'features were read';
  return context.log('info', `${read} ${source}, ${features} written.`);
}

interface Sides {
  input: FeaturesSource;
  overlay?: FeaturesSource;
}

async function resolveSides(
  context: JobContext<ExecutionInput>,
  { input, overlay }: FeaturesWork,
  folder: string,
  deps: RunDeps,
): Promise<Sides> {
  const resolve = (name: string) => resolveFeatures(context, name, folder, deps);
  return { input: await resolve(input), ...(overlay ? { overlay: await resolve(overlay) } : {}) };
}

/** Features of an input; values that were read in another form become warnings of the job. */
export async function resolveFeatures(
  context: JobContext<ExecutionInput>,
  name: string,
  folder: string,
  { sources }: Pick<RunDeps, 'sources'>,
): Promise<FeaturesSource> {
  const { input, signal } = context;
  const features = await sources.resolve(name, input.sources[name]!, input.principal, folder, signal);
  for (const note of features.notes ?? []) await context.warn(note);
  return features;
}

function processSides(
  context: JobContext<ExecutionInput>,
  work: FeaturesWork,
  { input, overlay }: Sides,
  output: string,
  deps: RunDeps,
): Promise<Result> {
  const plan = work.plan(context.input.values, input.facts, overlay?.facts);
  return runFeatureProcess(context, plan, { input, ...(overlay ? { overlay } : {}) }, output, deps);
}

/** Runs one process into a file. */
export async function runFeatureProcess(
  context: JobContext<ExecutionInput>,
  { process, fields }: FeaturesPlan,
  { input, overlay }: Sides,
  output: string,
  { pools, pushDown: setting }: RunDeps,
): Promise<Result> {
  const features = { ...input.features, ...(fields ? { fields: [...fields] } : {}) };
  const pushDown = await decidePushDown(context, planPushDown(process, features, overlay?.features, setting));
  const task = {
    process,
    output,
    pushDown,
    input: features,
    ...(overlay ? { overlay: overlay.features } : {}),
  };
  const stop = new AbortController();
  const signal = AbortSignal.any([context.signal, stop.signal]);
  const inputs = [features, ...(overlay ? [overlay.features] : [])];
  const finding = Promise.all(inputs.map((one) => findLosses(pools, one, signal)));
  let memoryBytes = 0;
  const onUsage = (usage: TaskUsage) => {
    memoryBytes = Math.max(memoryBytes, usage.memoryBytes);
    if (input.count) context.progress(Math.min(1, usage.count / input.count) * PROCESSED);
  };
  const result = await pools
    .run('process.features', task, { signal: context.signal, onUsage })
    .catch((error: unknown) => {
      stop.abort();
      throw error;
    });
  await tellMemory(context, memoryBytes);
  const losses = await finding;
  for (const note of new Set(losses.flatMap(({ notes }) => notes))) await context.warn(note);
  await tellNewLosses(context, pools, output, new Set(losses.flatMap(({ properties }) => properties)));
  const { pushDownFault: fault } = result;
  if (fault !== undefined) await context.log('info', `Computed here after all. ${fault}`);
  return { ...result, isPushedDown: pushDown && fault === undefined };
}

/** Warns of numbers that are not finite because the process computed them. */
async function tellNewLosses(
  context: JobContext,
  pools: Pools,
  path: string,
  told: ReadonlySet<string>,
): Promise<void> {
  const { signal } = context;
  const [layer] = await pools.run('vector.inspect', { kind: 'geopackage', path }, { signal });
  if (!layer) return;
  const { source } = layer;
  const fields = source.fields.map(({ name }) => name).filter((name) => !told.has(name));
  const { notes } = await findLosses(pools, { source, filter: undefined, fields }, signal, 'values');
  for (const note of notes) await context.warn(note);
}

/** Whether the database computes it, which the log of the job says with the kind of the statement, or why not. */
async function decidePushDown(context: JobContext, pushDown: PushDown | undefined): Promise<boolean> {
  if (!pushDown) return false;
  if ('statement' in pushDown) {
    await context.log('info', `Pushed down into PostGIS as one statement: ${pushDown.statement}.`);
    return true;
  }
  await context.log('info', `Not pushed down into PostGIS: ${pushDown.reason}.`);
  return false;
}

export function tellMemory(context: JobContext, bytes: number): Promise<void> {
  return context.log('info', `The process had ${Math.ceil(bytes / 2 ** 20)} MiB of memory at most.`);
}

/**
 * Reports rounded numbers as warnings of the job. Features that could not be processed fail the job, or become
 * warnings.
 */
export async function tellFaults(
  context: JobContext<ExecutionInput>,
  result: FeatureProcessResult,
): Promise<void> {
  for (const note of noteRoundedNumbers(result.rounded)) await context.warn(note);
  if (result.faults === 0) return;
  const list = result.faultList
    .map(({ id, reason }) => (id === undefined ? reason : `${id} (${reason})`))
    .join(', ');
  const more = result.faults > result.faultList.length ? ', and others' : '';
  const message = `${result.faults} features cannot be processed: ${list}${more}.`;
  if (context.input.values['invalidGeometries'] === 'fail') throw new TaskFailure('invalid-input', message);
  await context.warn(message.slice(0, 2000));
}
