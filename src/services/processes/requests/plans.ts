import { badParameter, fieldFailure } from '../../../core/errors/errors.js';
import type { FieldError } from '../../../core/errors/field-errors.js';
import { compileSchema, type SchemaCheck } from '../../../core/http/schema-check.js';
import { LIMITS } from '../../../core/kit/limits.js';
import {
  PLAN_KINDS,
  type PlanBody,
  PlanSchema,
  type StepBody,
} from '../../../core/processes/process-plans.js';
import { JsonBoundsError, parseBounded } from '../../../core/values/json-bounds.js';
import { findProcess } from '../catalogue/index.js';
import type { InputDefinition, OutputDefinition, ProcessDefinition } from '../definition.js';
import { fieldErrorWithin, isStep, orderSteps, type Plan, type PlanStep, planOutputs } from '../plan.js';
import type { SourceValue } from '../source-input.js';
import { EXACT_MEMBERS, EXECUTE_BOUNDS, fault, LAYER_ALIASES, readInputs } from './inputs.js';

type StepReference = Extract<SourceValue, { kind: 'step' }>;
type ClientPlan = Plan<SourceValue>;
type ClientStep = PlanStep<SourceValue>;

/** A step whose process exists. */
interface Draft {
  readonly at: string;
  readonly stepId: string;
  readonly process: ProcessDefinition;
  readonly body: StepBody;
}

const PLAN = '/inputs/plan';

let check: SchemaCheck | undefined;

/** Reads the steps of a plan; adds to `errors` what is wrong. Undefined where the plan has another form. */
export function readPlan(input: unknown, baseUrl: string, errors: FieldError[]): ClientPlan | undefined {
  const before = errors.length;
  const plan = planBody(input, errors);
  if (!plan) return undefined;
  const drafts = plan.steps.map((step, i) => readDraft(step, i, errors));
  const byId = new Map(drafts.flatMap((draft) => (draft ? [[draft.stepId, draft] as const] : [])));
  const present = drafts.filter((draft) => draft !== undefined);
  if (byId.size < present.length)
    errors.push(
      fault(`${PLAN}/steps`, 'have the same stepId twice. Use each id once', 'INVALID_PARAMETER_VALUE'),
    );
  const steps = present.map((draft) => readStep(draft, byId, baseUrl, errors));
  if (errors.length > before) return undefined;
  const { planId } = plan;
  orderSteps(`${PLAN}/steps`, steps);
  requireKinds(plan, steps);
  return { planId, steps };
}

function planBody(input: unknown, errors: FieldError[]): PlanBody | undefined {
  const value = typeof input === 'string' ? planText(input) : input;
  if (value === undefined || value === null) {
    errors.push(fault(PLAN, 'is required', 'MISSING_REQUIRED_PARAMETER'));
    return undefined;
  }
  check ??= compileSchema(PlanSchema);
  const faults = check(value);
  errors.push(...faults.map((one) => fieldErrorWithin(PLAN, one)));
  return faults.length === 0 ? (value as PlanBody) : undefined;
}

/**
 * Parses a plan within the bounds of bodies. Text that is not JSON is returned unchanged, and the schema reports it.
 */
function planText(text: string): unknown {
  try {
    const bounds = { ...EXECUTE_BOUNDS, string: LIMITS.processBodyBytes };
    return parseBounded(text, bounds, EXACT_MEMBERS);
  } catch (error) {
    if (error instanceof JsonBoundsError) throw badParameter(PLAN, error.message);
    return text;
  }
}

function readDraft(body: StepBody, index: number, errors: FieldError[]): Draft | undefined {
  const at = `${PLAN}/steps/${index}`;
  const id = body.processId ?? PLAN_KINDS[body.kind];
  if (id === undefined) {
    errors.push(fault(`${at}/processId`, 'is required', 'MISSING_PROCESS_ID'));
    return undefined;
  }
  const process = findProcess(id);
  if (!process || !isStep(process)) {
    const detail = process
      ? `'${process.id}' cannot be a step. Execute it directly`
      : `there is no process '${id.slice(0, 100)}'`;
    errors.push(fault(`${at}/processId`, detail, 'UNKNOWN_PROCESS'));
    return undefined;
  }
  return { at, stepId: body.stepId ?? `s${index + 1}`, process, body };
}

function readStep(
  draft: Draft,
  drafts: ReadonlyMap<string, Draft>,
  baseUrl: string,
  errors: FieldError[],
): ClientStep {
  const { at, stepId, process, body } = draft;
  for (const id of body.dependsOn ?? [])
    if (!drafts.has(id))
      errors.push(
        fault(`${at}/dependsOn`, `there is no step '${id.slice(0, 100)}'`, 'INVALID_PARAMETER_VALUE'),
      );
  const own: FieldError[] = [];
  const { references, others } = stepReferences(draft, drafts, own);
  const { values, sources } = readInputs(process, others, baseUrl, own, references);
  errors.push(...own.map((error) => fieldErrorWithin(at, error)));
  const read = Object.values(references).map(({ step }) => step);
  const dependsOn = [...new Set([...(body.dependsOn ?? []), ...read])];
  return { stepId, process: process.id, values, sources, dependsOn };
}

/** Inputs that are results of other steps: the id of the step, optionally with the name of its output. */
function stepReferences(
  { process, body }: Draft,
  drafts: ReadonlyMap<string, Draft>,
  errors: FieldError[],
): { references: Record<string, StepReference>; others: Record<string, unknown> } {
  const references: Record<string, StepReference> = {};
  const layers = Object.entries(process.inputs).filter(([, input]) => isLayer(input));
  const others = withDependency(body, layers[0]?.[0], drafts);
  const refer = (name: string, value: unknown, isFeatures: boolean) => {
    const target = getStep(value, drafts);
    if (!target) return;
    const output = findOutput(target, isFeatures);
    references[name] = { kind: 'step', step: target.draft.stepId, output: output ?? '' };
    if (output !== undefined) return;
    const detail = `the step '${target.draft.stepId}' has no ${isFeatures ? 'features' : 'raster'} as its output`;
    errors.push(fault(`/inputs/${name}`, detail, 'INVALID_PARAMETER_VALUE'));
  };
  for (const [name, { isFeatures = false, isRasterList }] of layers) {
    const value = others[name];
    // The list remains: its members other than steps are read in the standard way.
    if (isRasterList && Array.isArray(value)) {
      for (const [i, one] of value.entries()) refer(`${name}/${i}`, one, false);
    } else {
      refer(name, value, isFeatures);
      if (Object.hasOwn(references, name)) delete others[name];
    }
  }
  return { references, others };
}

function isLayer({ isFeatures, isRaster, isRasterList }: InputDefinition): boolean {
  return isFeatures === true || isRaster === true || isRasterList === true;
}

/** Inputs where the first layer is that of the only step that this one depends on, unless the inputs have another. */
function withDependency(
  { inputs = {}, dependsOn = [] }: StepBody,
  layer: string | undefined,
  drafts: ReadonlyMap<string, Draft>,
): Record<string, unknown> {
  if (layer === undefined) return { ...inputs };
  const { queryResultId, ...others } = inputs;
  if (getStep(queryResultId, drafts)) return { ...others, [layer]: queryResultId };
  const isNamed = [layer, ...LAYER_ALIASES].some((name) => Object.hasOwn(inputs, name));
  return isNamed || dependsOn.length !== 1 ? { ...inputs } : { ...inputs, [layer]: dependsOn[0] };
}

interface Target {
  readonly draft: Draft;
  /** Default: the first suitable output. */
  readonly output?: string;
}

function findOutput({ draft, output }: Target, isFeatures: boolean): string | undefined {
  const fits = (one: OutputDefinition) => (isFeatures ? one.isFeatures : one.isRaster) === true;
  return Object.entries(draft.process.outputs).find(
    ([name, one]) => fits(one) && (output === undefined || name === output),
  )?.[0];
}

function getStep(value: unknown, drafts: ReadonlyMap<string, Draft>): Target | undefined {
  const text = typeof value === 'string' ? value : undefined;
  const { step = text, output } = (typeof value === 'object' && value !== null ? value : {}) as {
    step?: unknown;
    output?: unknown;
  };
  if (typeof step !== 'string') return undefined;
  const whole = drafts.get(step);
  if (whole) return { draft: whole, ...(typeof output === 'string' ? { output } : {}) };
  const point = step.lastIndexOf('.');
  const draft = point > 0 ? drafts.get(step.slice(0, point)) : undefined;
  return draft && { draft, output: step.slice(point + 1) };
}

/** Requires that each requested kind of output is an output of the last steps. */
function requireKinds({ outputs = [] }: PlanBody, steps: readonly ClientStep[]): void {
  const kinds = new Set([...planOutputs(steps).values()].flatMap(({ definition }) => listKinds(definition)));
  const missing = outputs.find((kind) => !kinds.has(kind));
  if (missing === undefined) return;
  const detail = `no final step has an output of the kind '${missing}'`;
  const errors = [fault(`${PLAN}/outputs`, detail, 'INVALID_PARAMETER_VALUE')];
  throw fieldFailure('invalid-body', errors);
}

/** Features may have no geometry, and are a table as well. */
function listKinds({ isFeatures, isRaster, isFile }: OutputDefinition): string[] {
  if (isFeatures) return ['featureLayer', 'table'];
  if (isFile) return ['file', 'map'];
  return [isRaster ? 'raster' : 'scalar'];
}
