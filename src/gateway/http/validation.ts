import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import type { TSchema } from 'typebox';
import { ApiError, type FieldError } from '../../core/errors.js';
import { utf8 } from '../../core/json.js';
import { LIMITS } from '../../core/limits.js';
import type { BodySpec } from '../../core/operation.js';
import { TaskFailure } from '../../core/tasks.js';
import type { HttpExchange } from './exchange.js';

export type BodyReader = (x: HttpExchange) => Promise<unknown>;

/** Errors reported for one body; a hostile body could have thousands. */
const MAX_ERRORS = 20;

const ajv = new Ajv({
  allErrors: false,
  strict: false,
  useDefaults: true,
  meta: false,
  validateSchema: false,
});
// ajv-formats is CommonJS: its default export arrives wrapped under Node's ESM rules.
(addFormats as unknown as { default: (target: Ajv) => void }).default(ajv);

/** A function that lists what is wrong with a value, or nothing. The schema is compiled when it is first used. */
export function compileSchema(schema: TSchema): (value: unknown) => FieldError[] {
  let validate: ValidateFunction | undefined;
  return (value) => {
    validate ??= ajv.compile(schema);
    if (validate(value)) return [];
    return (validate.errors ?? []).slice(0, MAX_ERRORS).map((error) => ({
      name: error.instancePath || '/',
      detail: `${error.message ?? 'is invalid'}${error.keyword === 'additionalProperties' ? `: ${error.params['additionalProperty']}` : ''}`,
    }));
  };
}

/** Fields of a form are text: an operation that takes forms takes text in the place of other types. */
const FORM = 'application/x-www-form-urlencoded';

/** Reads, parses and validates bodies of one operation: JSON, or a form where the operation takes one. */
export function bodyReader(spec: BodySpec): BodyReader {
  const check = compileSchema(spec.schema);
  const maxBytes = spec.maxBytes ?? LIMITS.bodyBytes;
  return async (x) => {
    const declared = Number(x.header('content-length') ?? 0);
    if (declared > maxBytes) {
      throw new ApiError('payload-too-large', `The request body is larger than ${maxBytes} bytes.`);
    }
    const raw = await x.upload.collect(maxBytes);
    if (raw.length === 0) {
      if (spec.required) throw new ApiError('invalid-body', 'The request body is missing.');
      return undefined;
    }
    const mediaType = checkMediaType(x.header('content-type'), spec);
    const value = mediaType === FORM ? parseForm(raw) : await parseJson(raw, spec);
    const errors = check(value);
    if (errors.length > 0) {
      const [first] = errors;
      throw new ApiError('invalid-body', `${first!.name} ${first!.detail}`, { errors });
    }
    return value;
  };
}

function checkMediaType(contentType: string | undefined, spec: BodySpec): string {
  const essence = (contentType ?? spec.mediaTypes[0]!).split(';')[0]!.trim().toLowerCase();
  if (spec.mediaTypes.includes(essence)) return essence;
  throw new ApiError(
    'unsupported-media-type',
    `Send ${spec.mediaTypes.join(' or ')}, not ${essence.slice(0, 100)}.`,
  );
}

function parseForm(raw: Buffer): Record<string, string> {
  const fields = [...new URLSearchParams(raw.toString('utf8'))];
  const seen = new Set<string>();
  for (const [name] of fields) {
    if (seen.has(name)) throw new ApiError('invalid-body', `The form has ${name.slice(0, 60)} twice.`);
    seen.add(name);
  }
  return Object.fromEntries(fields);
}

async function parseJson(raw: Buffer, { parse = plainJson }: BodySpec): Promise<unknown> {
  try {
    return await parse(raw);
  } catch (cause) {
    // Threads that are busy or gone are no fault of the body.
    if (cause instanceof TaskFailure && cause.code !== 'invalid-input') throw cause;
    const why = (cause as Error).message.slice(0, 200);
    throw new ApiError('invalid-body', `The request body is not JSON: ${why}.`, { cause });
  }
}

function plainJson(json: Uint8Array): unknown {
  return JSON.parse(utf8(json));
}
