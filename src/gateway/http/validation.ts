import { ApiError, fieldFailure } from '../../core/errors/errors.js';
import { TaskFailure } from '../../core/errors/failure.js';
import { shorten } from '../../core/errors/field-errors.js';
import { listNames } from '../../core/errors/near-names.js';
import { BodyError, readBody } from '../../core/http/body.js';
import { COMPRESSIONS } from '../../core/http/content-coding.js';
import { HTTP_LIMITS } from '../../core/http/limits.js';
import { memberBinder } from '../../core/http/member-binder.js';
import { parseBoundary } from '../../core/http/multipart-fields.js';
import type { BodySpec } from '../../core/http/operation.js';
import { once, type SchemaCheck } from '../../core/http/schema-check.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { roundExactNumbers } from '../../core/values/exact-number.js';
import type { BodyForm, BodyReadOptions, JsonBounds } from '../../core/values/json-bounds.js';
import type { HttpExchange } from './exchange.js';
import { inflateBody, requireContentCoding } from './replies/content-coding.js';
import { ReceivedBytes } from './requests/received-bytes.js';
import { turn } from './turns.js';

export type BodyReader = (x: HttpExchange) => Promise<unknown>;

/** Fields of a form are text: an operation that takes forms takes text in the place of other types. */
const FORMS: Readonly<Record<string, BodyForm>> = {
  'application/x-www-form-urlencoded': 'form',
  'multipart/form-data': 'multipart',
};

/** Reads, parses and validates bodies of one operation: JSON, or a form where the operation takes one. */
export function bodyReader(spec: BodySpec, check: SchemaCheck, pools: Pick<Pools, 'run'>): BodyReader {
  const keyed = buildBounds(spec);
  const anonymous = anonymousBounds(keyed);
  const binder = once(() => (spec.bindsAnyCase ? memberBinder(spec.schema) : undefined));
  return async (x) => {
    const bounds = x.principal.kind === 'anonymous' ? anonymous : keyed;
    const parts = await received(x, bounds.bytes).catch((error: unknown) => {
      throw withAdvice(error, spec);
    });
    if (parts.length === 0) {
      if (spec.required)
        throw new ApiError(
          'invalid-body',
          `The request body is missing. Send ${listNames(spec.mediaTypes)}.`,
        );
      return undefined;
    }
    const mediaType = checkMediaType(x.header('content-type'), spec);
    if (spec.form === 'parts') return parts;
    const form = FORMS[mediaType] ?? spec.form ?? 'json';
    const boundary = form === 'multipart' ? parseBoundary(x.header('content-type')!) : undefined;
    const { jsonMembers, exactMembers, refusesRounding } = spec;
    const reading = { form, boundary, bounds: bounds.json, jsonMembers, exactMembers, refusesRounding };
    const read = await parse(parts, reading, x, pools);
    const fitted = spec.fit ? spec.fit(read) : read;
    const bind = binder();
    const value = bind ? bind(fitted) : fitted;
    const errors = check(spec.bindsAnyCase ? roundExactNumbers(value) : value);
    if (errors.length > 0) {
      throw fieldFailure('invalid-body', errors);
    }
    return value;
  };
}

/** A body that is too large, with what to do instead. */
function withAdvice(error: unknown, { advice }: BodySpec): unknown {
  if (advice === undefined || !(error instanceof ApiError) || error.code !== 'payload-too-large')
    return error;
  return new ApiError(error.code, `${error.message} ${advice}`, { cause: error });
}

interface BodyBounds {
  readonly bytes: number;
  readonly json: JsonBounds;
}

function buildBounds({ maxBytes = LIMITS.bodyBytes, bounds }: BodySpec): BodyBounds {
  const { bodyDepth: depth, bodyValues: values, bodyNames: names } = HTTP_LIMITS;
  return { bytes: maxBytes, json: { depth, values, names, string: maxBytes, ...bounds } };
}

/** Limits of anonymous clients, never above the general limits. */
function anonymousBounds({ bytes, json }: BodyBounds): BodyBounds {
  return {
    bytes: Math.min(bytes, HTTP_LIMITS.anonymousBodyBytes),
    json: {
      depth: json.depth,
      values: Math.min(json.values, HTTP_LIMITS.anonymousBodyValues),
      names: Math.min(json.names, HTTP_LIMITS.anonymousBodyNames),
      string: Math.min(json.string, HTTP_LIMITS.anonymousBodyString),
    },
  };
}

/** Decompressed parts of a body in order. */
async function received(x: HttpExchange, maxBytes: number): Promise<Uint8Array<ArrayBuffer>[]> {
  const memory = new ReceivedBytes(x.principal.kind === 'anonymous');
  const declared = Number(x.header('content-length') ?? 0);
  if (declared > maxBytes)
    throw new ApiError('payload-too-large', `The request body is too large. The limit is ${maxBytes} bytes.`);
  const coding = requireContentCoding(x, [...COMPRESSIONS, 'identity']);
  try {
    const parts = await x.upload.collect(maxBytes, memory);
    if (coding === 'identity' || parts.length === 0) return parts;
    // The decompressed size is unknown in advance.
    memory.take(maxBytes);
    return [await inflateBody(Buffer.concat(parts), coding, maxBytes)];
  } finally {
    memory.release();
  }
}

/** Large bodies are parsed by a worker, which takes their memory over. */
async function parse(
  parts: Uint8Array<ArrayBuffer>[],
  reading: BodyReadOptions,
  x: HttpExchange,
  pools: Pick<Pools, 'run'>,
): Promise<unknown> {
  const bytes = parts.reduce((sum, part) => sum + part.byteLength, 0);
  try {
    // Large bodies that arrive together share no turn of the loop.
    if (bytes <= LIMITS.loopBodyBytes || reading.form === 'bytes') {
      if (bytes > HTTP_LIMITS.turnBodyBytes) await turn();
      return readBody(Buffer.concat(parts, bytes), reading);
    }
    const options = { deadlineMs: LIMITS.requestDeadlineMs, signal: x.signal, caller: x.caller };
    const value = await pools.run('vector.body', { parts, reading }, options);
    await turn();
    return value;
  } catch (cause) {
    const why = refusal(cause);
    if (!why) throw cause;
    const { message, pointer } = why;
    const code = why.tooLarge ? 'payload-too-large' : 'invalid-body';
    if (pointer === undefined) throw new ApiError(code, message, { cause });
    throw fieldFailure(code, [{ name: pointer, detail: message.slice(pointer.length + 2) }], { cause });
  }
}

/** Busy or missing threads are not a fault of the body. */
function refusal(error: unknown): Pick<BodyError, 'message' | 'tooLarge' | 'pointer'> | undefined {
  if (error instanceof BodyError) return error;
  if (!(error instanceof TaskFailure)) return undefined;
  const { code, message } = error;
  if (code !== 'invalid-input' && code !== 'too-large') return undefined;
  return { message, tooLarge: code === 'too-large' };
}

function checkMediaType(contentType: string | undefined, spec: BodySpec): string {
  const essence = (contentType ?? spec.mediaTypes[0]!).split(';')[0]!.trim().toLowerCase();
  if (spec.mediaTypes.includes(essence)) return essence;
  throw new ApiError(
    'unsupported-media-type',
    `Content-Type: '${shorten(essence)}' is not supported here. Use ${listNames(spec.mediaTypes)}.`,
  );
}
