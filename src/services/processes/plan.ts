import { type ApiError, badParameter, fieldFailure } from '../../core/errors/errors.js';
import { type FieldError, prefixField } from '../../core/errors/field-errors.js';
import { PROCESSES } from './catalogue/index.js';
import type { InputValues, OutputDefinition, ProcessDefinition } from './definition.js';
import type { SourceReference } from './source-input.js';

/** Several processes as the steps of one job. */
export interface Plan<Source = SourceReference> {
  readonly planId: string;
  /** Steps in the order of the request. */
  readonly steps: readonly PlanStep<Source>[];
}

/** One process of a plan. */
export interface PlanStep<Source = SourceReference> {
  readonly stepId: string;
  readonly process: string;
  readonly values: InputValues;
  /** Features and rasters, by the names of their inputs. */
  readonly sources: Readonly<Record<string, Source>>;
  readonly dependsOn: readonly string[];
}

/** Whether a process can be a step: its inputs and outputs can be those of other steps. */
export const isStep = ({ work: { kind } }: ProcessDefinition) =>
  kind !== 'plan' && kind !== 'tiles' && kind !== 'import';

/** An output of a plan: an output of a step, if no other step reads any output of that step. */
export interface PlanOutput {
  readonly step: string;
  readonly output: string;
  readonly definition: OutputDefinition;
}

/**
 * Steps in an order in which each follows the steps that it depends on; otherwise in the given order. Throws 400 for
 * a cycle.
 */
export function orderSteps<T extends Pick<PlanStep, 'stepId' | 'dependsOn'>>(
  at: string,
  steps: readonly T[],
): T[] {
  const order: T[] = [];
  const before = new Set<string>();
  let rest = steps;
  while (rest.length > 0) {
    const ready = rest.filter(({ dependsOn }) => dependsOn.every((id) => before.has(id)));
    if (ready.length === 0)
      throw badParameter(at, `must not form a cycle, as ${rest.map(({ stepId }) => stepId).join(', ')} do`);
    for (const step of ready) before.add(step.stepId);
    order.push(...ready);
    rest = rest.filter(({ stepId }) => !before.has(stepId));
  }
  return order;
}

/** An error in the inputs of a step, with its location in the plan. */
export function errorWithin(at: string, error: ApiError): ApiError {
  if (!error.errors) return error;
  const errors = error.errors.map((one) => fieldErrorWithin(at, one));
  return fieldFailure(error.code, errors);
}

export function fieldErrorWithin(at: string, error: FieldError): FieldError {
  return {
    ...prefixField(at, error),
    code: CODES[error.code ?? ''] ?? 'INVALID_PARAMETER_VALUE',
  };
}

/** Error codes that clients of plans know for violated rules. */
const CODES: Readonly<Record<string, string>> = {
  required: 'MISSING_REQUIRED_PARAMETER',
  additionalProperties: 'UNKNOWN_PARAMETER',
};

interface StepSources {
  readonly sources: Readonly<Record<string, { readonly kind: string; readonly step?: string }>>;
}

/** Ids of the steps whose results a step reads. It can also depend on further steps. */
export function stepsReadBy({ sources }: StepSources): string[] {
  return Object.values(sources).flatMap(({ kind, step }) => (kind === 'step' ? [step!] : []));
}

/**
 * Outputs of a plan by their names: that of the step, followed by a point and the name of the output where a process has
 * several.
 */
export function planOutputs(
  steps: readonly (Pick<PlanStep, 'stepId' | 'process'> & StepSources)[],
): Map<string, PlanOutput> {
  const read = new Set(steps.flatMap(stepsReadBy));
  const outputs = new Map<string, PlanOutput>();
  for (const { stepId, process } of steps) {
    if (read.has(stepId)) continue;
    const definitions = Object.entries(PROCESSES.get(process)!.outputs);
    for (const [output, definition] of definitions)
      outputs.set(definitions.length === 1 ? stepId : `${stepId}.${output}`, {
        step: stepId,
        output,
        definition,
      });
  }
  return outputs;
}
