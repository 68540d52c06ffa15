import { ApiError, fieldFailure } from '../../../core/errors/errors.js';
import type { FieldError } from '../../../core/errors/field-errors.js';
import { tableName } from '../../catalog/table-name.js';
import type { Subscriber } from '../callbacks.js';
import type { ProcessDefinition } from '../definition.js';
import type { Execution, OutputRequest } from '../execution.js';
import { planOutputs } from '../plan.js';
import { fault, noInput, readInputs } from './inputs.js';
import { readPlan } from './plans.js';

interface OutputBody {
  transmissionMode?: string;
  format?: { mediaType?: string };
  publish?: { collection: string; title?: string };
}

/** An execution as clients send it (OGC 18-062r2, 7.11). */
export interface ExecuteBody {
  inputs?: Record<string, unknown>;
  outputs?: Record<string, OutputBody>;
  response?: string;
  subscriber?: Subscriber;
}

/** Reads an execution. Throws 400 with all that is wrong, each named by its JSON pointer. */
export function readExecution(process: ProcessDefinition, body: ExecuteBody, baseUrl: string): Execution {
  const errors: FieldError[] = [];
  const isPlan = process.work.kind === 'plan';
  const { definitions, ...inputs } = isPlan
    ? readPlanInputs(body.inputs ?? {}, baseUrl, errors)
    : { ...readInputs(process, body.inputs ?? {}, baseUrl, errors), definitions: process.outputs };
  const outputs = definitions ? readOutputs(definitions, body.outputs ?? {}, errors) : {};
  if (errors.length > 0) throw fieldFailure('invalid-body', errors);
  const { subscriber } = body;
  return { ...inputs, outputs, response: buildResponse(body), ...(subscriber ? { subscriber } : {}) };
}

/** The outputs of a plan are defined where the plan can be read. */
function readPlanInputs(
  { plan: sent, ...others }: Record<string, unknown>,
  baseUrl: string,
  errors: FieldError[],
): Pick<Execution, 'values' | 'sources' | 'plan'> & { definitions?: ProcessDefinition['outputs'] } {
  for (const name of Object.keys(others)) errors.push(noInput(name));
  const plan = readPlan(sent, baseUrl, errors);
  if (!plan) return { values: {}, sources: {} };
  const outputs = [...planOutputs(plan.steps)].map(([name, { definition }]) => [name, definition] as const);
  return { values: {}, sources: {}, plan, definitions: Object.fromEntries(outputs) };
}

function readOutputs(
  definitions: ProcessDefinition['outputs'],
  outputs: NonNullable<ExecuteBody['outputs']>,
  errors: FieldError[],
): Record<string, OutputRequest> {
  const requests: Record<string, OutputRequest> = {};
  for (const [name, { transmissionMode, format, publish }] of Object.entries(outputs)) {
    const output = Object.hasOwn(definitions, name) ? definitions[name] : undefined;
    if (!output) {
      errors.push(fault(`/outputs/${name}`, 'is not an output of the process', 'additionalProperties'));
      continue;
    }
    const { contentMediaType: mediaType = 'application/json' } = output.schema as {
      contentMediaType?: string;
    };
    if (format?.mediaType !== undefined && format.mediaType !== mediaType)
      errors.push(fault(`/outputs/${name}/format/mediaType`, `must be ${mediaType}`, 'enum'));
    if (publish && !output.isFeatures && !output.isRaster && !output.isTiles)
      errors.push(fault(`/outputs/${name}/publish`, 'is only for features, rasters and tiles', 'invalid'));
    if (publish?.title !== undefined && !output.isFeatures)
      errors.push(fault(`/outputs/${name}/publish/title`, 'is only for features', 'invalid'));
    if (publish && publish.collection !== tableName(publish.collection))
      errors.push(
        fault(
          `/outputs/${name}/publish/collection`,
          'must be lower-case letters, digits and underscores that start with a letter or an underscore',
          'pattern',
        ),
      );
    requests[name] = {
      ...(transmissionMode === undefined
        ? {}
        : { transmissionMode: transmissionMode as 'value' | 'reference' }),
      ...(publish ? { publish } : {}),
    };
  }
  return requests;
}

function buildResponse({ response = 'document' }: ExecuteBody): Execution['response'] {
  if (response === 'document' || response === 'raw') return response;
  throw new ApiError(
    'not-implemented',
    `response: the mode '${response.slice(0, 40)}' is not built. Use document or raw.`,
  );
}
