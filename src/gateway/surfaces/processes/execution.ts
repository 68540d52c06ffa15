import type { TSchema } from 'typebox';
import Type from 'typebox';
import { ApiError, type FieldError } from '../../../core/errors.js';
import { LIMITS } from '../../../core/limits.js';
import type { BodySpec } from '../../../core/operation.js';
import { tableName } from '../../../services/import.js';
import type { InputDefinition, ProcessDefinition } from '../../../services/processes/definition.js';
import { readFeatures, type SentFeatures } from '../../../services/processes/features-input.js';
import type { OutputRequest } from '../../../services/processes/job.js';
import type { Execution } from '../../../services/processes/service.js';
import { compileSchema, type SchemaCheck } from '../../http/validation.js';

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

interface ExecuteBody {
  inputs?: Record<string, unknown>;
  outputs?: Record<string, { transmissionMode?: string; publish?: { collection: string; title?: string } }>;
  response?: string;
}

/** Reads an execution. Throws 400 with all that is wrong, each named by its JSON pointer. */
export function readExecution(process: ProcessDefinition, body: ExecuteBody, baseUrl: string): Execution {
  const errors: FieldError[] = [];
  const sent = body.inputs ?? {};
  for (const name of Object.keys(sent))
    if (!Object.hasOwn(process.inputs, name))
      errors.push(fault(`/inputs/${name}`, 'is no input of the process', 'additionalProperties'));
  const values: Record<string, unknown> = {};
  const features: Record<string, SentFeatures> = {};
  for (const [name, input] of Object.entries(process.inputs)) {
    const value = Object.hasOwn(sent, name) ? unqualified(sent[name]) : undefined;
    if (value === undefined || value === null) {
      if (!input.isOptional) errors.push(fault(`/inputs/${name}`, 'is required', 'required'));
      continue;
    }
    try {
      if (input.isFeatures) features[name] = readFeatures(name, value, baseUrl);
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
  return { values, features, outputs, response: responseOf(body) };
}

function fault(name: string, detail: string, code: string): FieldError {
  return { name, detail, code };
}

/** A value may come qualified, with its media type (OGC 18-062r2, 7.11.2.4). */
function unqualified(value: unknown): unknown {
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
  const typed = coerced(schema, value);
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
function coerced(schema: TSchema, value: unknown): unknown {
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
  for (const [name, { transmissionMode, publish }] of Object.entries(outputs)) {
    const output = Object.hasOwn(process.outputs, name) ? process.outputs[name] : undefined;
    if (!output) {
      errors.push(fault(`/outputs/${name}`, 'is no output of the process', 'additionalProperties'));
      continue;
    }
    if (publish && !output.isFeatures)
      errors.push(fault(`/outputs/${name}/publish`, 'is for features alone', 'invalid'));
    if (publish && publish.collection !== tableName(publish.collection))
      errors.push(fault(`/outputs/${name}/publish/collection`, 'is no name of a collection', 'pattern'));
    requests[name] = {
      transmissionMode: transmissionMode === 'reference' ? 'reference' : 'value',
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
