import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from '@opentelemetry/api';
import { TaskFailure } from '../../core/errors/failure.js';
import { writeThrough } from '../edits/write-through.js';
import type { JobContext } from '../jobs/kinds.js';
import * as metrics from '../telemetry/orchestration-metrics.js';
import { parseTraceparent, withJobSpan } from '../telemetry/spans.js';
import type { ExecutionInput, RunDeps, WorkResult } from './execution.js';
import { derivedContext } from './part-context.js';
import { orderSteps, type Plan, type PlanStep, planOutputs, stepsReadBy } from './plan.js';
import { estimatePlan } from './plan-estimate.js';
import type { SourceReference } from './source-input.js';
import type { Size } from './sources.js';

type JobPlan = Plan<SourceReference>;
type Step = PlanStep<SourceReference>;

/** Results of steps by their ids, as the job keeps them while it runs. */
type Results = Record<string, WorkResult>;

/** Share of a job that its steps are; publishing is the rest. */
const STEPS = 0.9;

/** Runs one process. Its files are in the folder. */
type Run = (context: JobContext<ExecutionInput>, folder: string, deps: RunDeps) => Promise<WorkResult>;

/** Finds the inputs of a step. */
type Bind = (step: Step, results: Results) => Promise<ExecutionInput['sources']>;

/** Runs a plan in a span, and each of its steps in one below it. */
export function runJobPlan(
  context: JobContext<ExecutionInput>,
  plan: JobPlan,
  folder: string,
  deps: RunDeps,
  run: Run,
): Promise<WorkResult> {
  const ofRequest = parseTraceparent(context.input.trace);
  const work = (inner: Context) => {
    const runInSpan: Run = (step, ...rest) =>
      withJobSpan(buildSpan('execute_step', step), () => run(step, ...rest), inner);
    const bindInSpan: Bind = (step, results) =>
      withJobSpan(
        buildSpan('resolve_bindings', { id: context.id, input: { process: step.process } }),
        async () => bindAll(step, results),
        inner,
      );
    return runSteps(context, plan, folder, deps, { run: runInSpan, bind: bindInSpan });
  };
  return withJobSpan(buildSpan('reconcile_run', context), work, ofRequest);
}

interface SpanSubject {
  readonly id: string;
  readonly input: Pick<ExecutionInput, 'process'>;
}

function buildSpan(operation: string, { id, input }: SpanSubject) {
  const attributes = { 'svc.job.id': id, 'svc.operation': input.process };
  return { name: `svc.orchestration.${operation}`, attributes };
}

/**
 * Runs the steps of a plan one after another. The job stores each completed step, so a later run resumes with the
 * next. Results that no later step reads are removed.
 */
async function runSteps(
  context: JobContext<ExecutionInput>,
  plan: JobPlan,
  folder: string,
  deps: RunDeps,
  { run, bind }: { run: Run; bind: Bind },
): Promise<WorkResult> {
  const steps = orderSteps('/inputs/plan/steps', plan.steps);
  const outputs = planOutputs(steps);
  const results = await begin(context, folder);
  if (context.attempt === 1) await tellEstimates(context, steps, deps);
  const runStart = performance.now();
  (context.attempt === 1 ? metrics.runsCreated : metrics.stepsRetried).cell().inc();
  for (const [i, step] of steps.entries()) {
    if (Object.hasOwn(results, step.stepId)) continue;
    const stepStart = performance.now();
    const share = { begin: (STEPS * i) / steps.length, length: STEPS / steps.length };
    const sources = await bind(step, results);
    const inner = stepContext(context, step, sources, share);
    results[step.stepId] = await run(inner, join(folder, buildFolder(step)), deps);
    // Files are on the disk before the job says that the step has ended.
    for (const { file } of Object.values(results[step.stepId]!.files)) await writeThrough(file.path);
    await requireRoom(folder, deps.spoolBytes);
    await context.checkpoint(results);
    metrics.stepsCompleted.cell().inc();
    metrics.stepDuration.cell().observe(performance.now() - stepStart);
    // Removal comes after the checkpoint: a resumed run must not need removed files.
    await forgetInputs(steps, i, folder);
  }
  const last = new Set([...outputs.values()].map(({ step }) => step));
  for (const step of steps) if (!last.has(step.stepId)) await removeStep(step, folder);
  metrics.runsCompleted.cell().inc();
  metrics.runDuration.cell().observe(performance.now() - runStart);
  const all: WorkResult = { values: {}, files: {} };
  for (const [name, { step, output }] of outputs) {
    const { values, files } = results[step]!;
    if (Object.hasOwn(files, output)) all.files[name] = files[output]!;
    else if (Object.hasOwn(values, output)) all.values[name] = values[output];
  }
  return all;
}

/** Logs the expected input and output of the steps, if known. */
async function tellEstimates(
  context: JobContext<ExecutionInput>,
  steps: readonly Step[],
  { sources, spoolBytes }: RunDeps,
): Promise<void> {
  const { principal } = context.input;
  const estimates = await context.step('estimate', 'Estimating rows and bytes', () =>
    estimatePlan(steps, {
      facts: (name, reference) => sources.collection(name, reference, principal).facts,
      size: (name, reference) => sources.size(name, reference, principal, context.signal),
    }),
  );
  for (const { stepId, reads, makes } of estimates)
    await context.log('info', `${stepId}: reads ${sizeText(reads)}, makes ${sizeText(makes)}.`);
  const bytes = estimates.reduce((all, { makes }) => all + (makes?.bytes ?? 0), 0);
  if (bytes > spoolBytes)
    await context.warn(
      `The steps may leave each other ${bytes} bytes, of which ${spoolBytes} are allowed: the job may fail.`,
    );
}

function sizeText(size: Size | undefined): string {
  if (!size) return 'what is not known yet';
  return `about ${size.features} features at most (${size.bytes} bytes of GeoJSON)`;
}

/** Names of steps are a client's. */
const buildFolder = ({ stepId }: Step) => `step-${Buffer.from(stepId).toString('hex')}`;

/** Results of the earlier run that the job has stored. */
async function begin({ saved }: JobContext, folder: string): Promise<Results> {
  if (saved === undefined) await rm(folder, { recursive: true, force: true });
  return { ...(saved as Results | undefined) };
}

/** The job as a step sees it, whose progress is a part of that of the job. */
function stepContext(
  context: JobContext<ExecutionInput>,
  step: Step,
  sources: ExecutionInput['sources'],
  share: { begin: number; length: number },
): JobContext<ExecutionInput> {
  const { stepId, process, values } = step;
  return derivedContext(context, {
    saved: undefined,
    input: { ...context.input, process, values, sources, outputs: {} },
    progress: (fraction) => context.progress(share.begin + share.length * fraction),
    step: (phase, message, work, always) =>
      context.step(`${stepId}: ${phase}`, `${stepId}: ${message}`, work, always),
    log: (level, message) => context.log(level, `${stepId}: ${message}`),
    warn: (message) => context.warn(`${stepId}: ${message}`),
    checkpoint: async () => {},
  });
}

/** The inputs of a step, with references to other steps replaced by their results. */
function bindAll(step: Step, results: Results): ExecutionInput['sources'] {
  const sources = Object.entries(step.sources).map(([name, one]) => [name, bindOne(one, results)] as const);
  return Object.fromEntries(sources);
}

function bindOne(reference: SourceReference, results: Results): SourceReference {
  if (reference.kind !== 'step') return reference;
  return { kind: 'spool', path: results[reference.step]!.files[reference.output]!.file.path };
}

/** Removes the results that step `last` was the last to read. */
async function forgetInputs(steps: readonly Step[], last: number, folder: string): Promise<void> {
  const later = new Set(steps.slice(last + 1).flatMap(stepsReadBy));
  for (const id of stepsReadBy(steps[last]!)) {
    if (later.has(id)) continue;
    await removeStep(steps.find(({ stepId }) => stepId === id)!, folder);
  }
}

function removeStep(step: Step, folder: string): Promise<void> {
  return rm(join(folder, buildFolder(step)), { recursive: true, force: true });
}

async function requireRoom(folder: string, most: number): Promise<void> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  let bytes = 0;
  for (const name of names) {
    const entry = await stat(join(folder, name));
    if (entry.isFile()) bytes += entry.size;
  }
  if (bytes > most)
    throw new TaskFailure(
      'invalid-input',
      `The results of the steps have ${bytes} bytes. The limit is ${most} bytes.`,
    );
}
