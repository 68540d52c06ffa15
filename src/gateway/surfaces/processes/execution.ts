import type { TSchema } from 'typebox';
import Type from 'typebox';
import { ApiError, type FieldError } from '../../../core/errors.js';
import { LIMITS } from '../../../core/limits.js';
import type { BodySpec } from '../../../core/operation.js';
import type { InputDefinition, ProcessDefinition } from '../../../services/processes/definition.js';
import type { OutputRequest } from '../../../services/processes/job.js';
import type { Execution } from '../../../services/processes/service.js';
import { readFeatures, readRaster, type SourceValue } from '../../../services/processes/source-input.js';
import { tableName } from '../../../services/table-name.js';
import { compileSchema, type SchemaCheck } from '../../http/validation.js';
import { jobPath } from './documents.js';

/** What an execution is asked with (OGC 18-062r2, 7.11). */
export const executeBody = {
  schema: Type.Object({
    inputs: Type.Optional(Type.Record(Type.String(), Type.Any())),
    outputs: Type.Optional(
      Type.Record(
        Type.String(),
        Type.Object({
          transmissionMode: Type.Optional(Type.String({ enum: ['value', 'reference'] })),
          format: Type.Optional(Type.Object({ mediaType: Type.Optional(Type.String()) })),
          publish: Type.Optional(
            Type.Object({
              collection: Type.String({ minLength: 1, maxLength: 60, pattern: '^[a-z_][a-z0-9_]*$' }),
              title: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
            }),
          ),
        }),
      ),
    ),
    response: Type.Optional(Type.String({ maxLength: 40 })),
  }),
  mediaTypes: ['application/json'],
  required: true,
  maxBytes: LIMITS.processBodyBytes,
  advice: 'Import the features, or name a file on a host that may be read.',
  bounds: { values: LIMITS.editValues, names: LIMITS.editNames, depth: LIMITS.searchDepth },
} satisfies BodySpec;

interface OutputBody {
  transmissionMode?: string;
  format?: { mediaType?: string };
  publish?: { collection: string; title?: string };
}

interface ExecuteBody {
  inputs?: Record<string, unknown>;
  outputs?: Record<string, OutputBody>;
  response?: string;
}

/** Reads an execution. Throws 400 with all that is wrong, each named by its JSON pointer. */
export function readExecution(process: ProcessDefinition, body: ExecuteBody, baseUrl: string): Execution {
  const errors: FieldError[] = [];
  const sent = clientInputs(process, body.inputs ?? {}, baseUrl);
  for (const name of Object.keys(sent))
    if (!Object.hasOwn(process.inputs, name))
      errors.push(fault(`/inputs/${name}`, 'is no input of the process', 'additionalProperties'));
  const values: Record<string, unknown> = {};
  const sources: Record<string, SourceValue> = {};
  for (const [name, input] of Object.entries(process.inputs)) {
    const value = Object.hasOwn(sent, name) ? plainValue(sent[name]) : undefined;
    if (value === undefined || value === null) {
      if (!input.isOptional) errors.push(fault(`/inputs/${name}`, 'is required', 'required'));
      continue;
    }
    try {
      if (input.isFeatures) sources[name] = readFeatures(name, value, baseUrl);
      else if (input.isRaster) sources[name] = readRaster(name, value, baseUrl);
      else values[name] = checkValue(process, name, input, value);
    } catch (error) {
      if (!(error instanceof ApiError) || !error.errors) throw error;
      errors.push(...error.errors);
    }
  }
  const outputs = readOutputs(process, body.outputs ?? {}, errors);
  if (errors.length > 0) {
    const detail = errors.map(({ name, detail: what }) => `${name} ${what}`).join('; ');
    throw new ApiError('invalid-body', detail.slice(0, 1000), { errors });
  }
  return { values, sources, outputs, response: responseOf(body) };
}

/** Existing clients name the features that a process works on in ways of their own. */
function clientInputs(
  { work }: ProcessDefinition,
  inputs: Record<string, unknown>,
  baseUrl: string,
): Record<string, unknown> {
  const { inputGeoJson, queryResultId, layerId, where, ...others } = inputs;
  if (work.kind !== 'features' || Object.hasOwn(inputs, work.input)) return inputs;
  const filter = where === undefined || where === '' ? {} : { filter: where };
  const isPlain = Object.keys(filter).length === 0;
  if (inputGeoJson !== undefined && isPlain) return { ...others, [work.input]: inputGeoJson };
  if (queryResultId !== undefined && isPlain) {
    const href = `${baseUrl}${jobPath(String(queryResultId))}/results/features`;
    return { ...others, [work.input]: { href } };
  }
  if (layerId !== undefined) return { ...others, [work.input]: { collection: String(layerId), ...filter } };
  return inputs;
}

function fault(name: string, detail: string, code: string): FieldError {
  return { name, detail, code };
}

/** A value may come qualified, with its media type (OGC 18-062r2, 7.11.2.4). */
function plainValue(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || !('value' in value))
    return value;
  const isQualified = Object.keys(value).every((name) =>
    ['value', 'mediaType', 'encoding', 'schema', 'format'].includes(name),
  );
  return isQualified ? (value as { value: unknown }).value : value;
}

const checks = new Map<TSchema, SchemaCheck>();

function checkValue(
  process: ProcessDefinition,
  name: string,
  { schema }: InputDefinition,
  value: unknown,
): unknown {
  let check = checks.get(schema);
  if (!check) checks.set(schema, (check = compileSchema(schema)));
  const typed = typedValue(schema, value);
  const errors = check(typed).map((error) => ({
    ...error,
    name: `/inputs/${name}${error.name === '/' ? '' : error.name}`,
    path: `/inputs/${name}${error.path === '/' ? '' : (error.path ?? '')}`,
  }));
  if (errors.length > 0)
    throw new ApiError('invalid-body', `The inputs of ${process.id} are wrong.`, { errors });
  return typed;
}

/** Existing clients send numbers and booleans as text. */
function typedValue(schema: TSchema, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const { type } = schema as { type?: string };
  if ((type === 'number' || type === 'integer') && value.trim() !== '' && Number.isFinite(Number(value)))
    return Number(value);
  if (type === 'boolean' && /^(true|false)$/i.test(value)) return value.toLowerCase() === 'true';
  return value;
}

function readOutputs(
  process: ProcessDefinition,
  outputs: NonNullable<ExecuteBody['outputs']>,
  errors: FieldError[],
): Record<string, OutputRequest> {
  const requests: Record<string, OutputRequest> = {};
  for (const [name, { transmissionMode, format, publish }] of Object.entries(outputs)) {
    const output = Object.hasOwn(process.outputs, name) ? process.outputs[name] : undefined;
    if (!output) {
      errors.push(fault(`/outputs/${name}`, 'is no output of the process', 'additionalProperties'));
      continue;
    }
    const { contentMediaType: mediaType = 'application/json' } = output.schema as {
      contentMediaType?: string;
    };
    if (format?.mediaType !== undefined && format.mediaType !== mediaType)
      errors.push(fault(`/outputs/${name}/format/mediaType`, `must be ${mediaType}`, 'enum'));
    if (publish && !output.isFeatures)
      errors.push(fault(`/outputs/${name}/publish`, 'is for features alone', 'invalid'));
    if (publish && publish.collection !== tableName(publish.collection))
      errors.push(fault(`/outputs/${name}/publish/collection`, 'is no name of a collection', 'pattern'));
    requests[name] = {
      ...(transmissionMode === undefined
        ? {}
        : { transmissionMode: transmissionMode as 'value' | 'reference' }),
      ...(publish ? { publish } : {}),
    };
  }
  return requests;
}

function responseOf({ response = 'document' }: ExecuteBody): Execution['response'] {
  if (response === 'document' || response === 'raw') return response;
  throw new ApiError(
    'not-implemented',
    `The response mode ${response.slice(0, 40)} is not there: document and raw are.`,
  );
}
