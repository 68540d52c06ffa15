import type { TSchema } from 'typebox';
import { hasCoverage } from '../../../core/catalog/abilities.js';
import type { Collection } from '../../../core/catalog/collection.js';
import { ApiError, badParameter, fieldFailure } from '../../../core/errors/errors.js';
import { type FieldError, prefixField } from '../../../core/errors/field-errors.js';
import { jobPath } from '../../../core/http/paths.js';
import { compileSchema, type SchemaCheck } from '../../../core/http/schema-check.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { InputDefinition, ProcessDefinition } from '../definition.js';
import { parseFeaturesInput, readRaster, readRasters, type SourceValue } from '../source-input.js';

/** Inputs of one process, as executions and the steps of plans have them. */

/** Filters, expressions and attributes of features keep the digits of their numbers. */
export const EXACT_MEMBERS = ['filter', 'expression', 'properties'];

/** Bounds of the JSON of an execution. */
export const EXECUTE_BOUNDS = {
  values: LIMITS.editValues,
  names: LIMITS.editNames,
  depth: LIMITS.searchDepth,
} as const;

export const noInput = (name: string) =>
  fault(`/inputs/${name}`, 'is not an input of the process', 'additionalProperties');

/** Reads the inputs of a process, and adds faults to `errors`. `steps` has the inputs from other steps of a plan. */
export function readInputs(
  process: ProcessDefinition,
  inputs: Record<string, unknown>,
  baseUrl: string,
  errors: FieldError[],
  steps: Readonly<Record<string, SourceValue>> = {},
): { values: Record<string, unknown>; sources: Record<string, SourceValue> } {
  const sent = clientInputs(process, inputs, baseUrl);
  for (const name of Object.keys(sent)) if (!Object.hasOwn(process.inputs, name)) errors.push(noInput(name));
  const values: Record<string, unknown> = {};
  const sources: Record<string, SourceValue> = { ...steps };
  for (const [name, input] of Object.entries(process.inputs)) {
    if (Object.hasOwn(steps, name)) continue;
    const value = Object.hasOwn(sent, name) ? plainValue(sent[name]) : undefined;
    if (value === undefined || value === null) {
      if (!input.isOptional) errors.push(fault(`/inputs/${name}`, 'is required', 'required'));
      continue;
    }
    try {
      if (input.isFeatures) sources[name] = parseFeaturesInput(name, value, baseUrl);
      else if (input.isRaster) sources[name] = readRaster(name, value, baseUrl);
      else if (input.isRasterList) Object.assign(sources, readRasters(name, value, baseUrl, steps));
      else values[name] = checkValue(name, input, value);
    } catch (error) {
      if (!(error instanceof ApiError) || !error.errors) throw error;
      errors.push(...error.errors);
    }
  }
  return { values, sources };
}

/** Names by which existing clients send the features or the raster of a process. */
export const LAYER_ALIASES = ['inputGeoJson', 'queryResultId', 'layerId', 'rasterId', 'source'] as const;

/** The inputs with the standard names, because existing clients name the features of a process in other ways. */
function clientInputs(
  { work }: ProcessDefinition,
  inputs: Record<string, unknown>,
  baseUrl: string,
): Record<string, unknown> {
  if (work.kind === 'raster') return clientRaster(work.inputs[0]!, inputs);
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

/** The inputs with a raster that was sent, of a layer, or with a raster number. */
function clientRaster(input: string, inputs: Record<string, unknown>): Record<string, unknown> {
  const { source, layerId, rasterId, ...others } = inputs;
  const [sent, ...more] = [source, layerId, rasterId].filter((one) => one !== undefined);
  if (sent === undefined || more.length > 0 || Object.hasOwn(inputs, input)) return inputs;
  if (rasterId !== undefined && typeof rasterId !== 'object')
    throw badParameter(
      '/inputs/rasterId',
      `there is no raster '${String(rasterId).slice(0, 100)}'. Send the number of a registered raster, or layerId for a layer`,
    );
  return { ...others, [input]: source ?? rasterId ?? { collection: String(layerId) } };
}

/** The inputs of an execution, or of the steps of its plan, with a raster of a collection in place of its number. */
export function resolveRasters(
  inputs: Record<string, unknown>,
  collections: readonly Collection[],
): Record<string, unknown> {
  const { plan, rasterId } = inputs;
  const number = typeof rasterId === 'string' ? Number(rasterId.trim() || Number.NaN) : rasterId;
  const collection = collections.find((one) => hasCoverage(one) && one.rasterIds?.includes(number as number));
  const steps = (plan as { steps?: unknown } | null | undefined)?.steps;
  return {
    ...inputs,
    ...(collection ? { rasterId: { collection: collection.id, raster: number } } : {}),
    ...(Array.isArray(steps)
      ? { plan: { ...(plan as object), steps: steps.map((step) => resolveStep(step, collections)) } }
      : {}),
  };
}

function resolveStep(step: unknown, collections: readonly Collection[]): unknown {
  const inputs = (step as { inputs?: unknown } | null)?.inputs;
  if (typeof inputs !== 'object' || inputs === null || Array.isArray(inputs)) return step;
  return { ...(step as object), inputs: resolveRasters(inputs as Record<string, unknown>, collections) };
}

export function fault(name: string, detail: string, code: string): FieldError {
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

function checkValue(name: string, { schema }: InputDefinition, value: unknown): unknown {
  let check = checks.get(schema);
  if (!check) checks.set(schema, (check = compileSchema(schema)));
  const typed = typedValue(schema, value);
  const errors = check(typed).map((error) => prefixField(`/inputs/${name}`, error));
  if (errors.length > 0) throw fieldFailure('invalid-body', errors);
  return typed;
}

/** Existing clients send numbers, booleans and lists as text. */
function typedValue(schema: TSchema, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const { type } = schema as { type?: string };
  if ((type === 'number' || type === 'integer') && value.trim() !== '' && Number.isFinite(Number(value)))
    return Number(value);
  if (type === 'boolean' && /^(true|false)$/i.test(value)) return value.toLowerCase() === 'true';
  if (type === 'array') return parseList(value, (schema as { items?: TSchema }).items);
  return value;
}

/** JSON, or words with commas between them. */
function parseList(text: string, items: TSchema = {}): unknown {
  if (!text.trim().startsWith('[')) return text.split(',').map((word) => typedValue(items, word.trim()));
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
