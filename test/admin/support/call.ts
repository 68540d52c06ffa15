import { fieldFailure } from '../../../src/core/errors/errors.js';
import { JSON_FORMAT } from '../../../src/core/http/media.js';
import { memberBinder } from '../../../src/core/http/member-binder.js';
import type { Exchange, Operation, Principal, Reply } from '../../../src/core/http/operation.js';
import { compileSchema } from '../../../src/core/http/schema-check.js';

export const ADMIN: Principal = { kind: 'api-key', id: 'key-1', name: 'test', permissions: ['*'] };

export interface Call {
  path?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
  headers?: Record<string, string>;
  upload?: AsyncIterable<Uint8Array>;
  principal?: Principal;
}

export interface CallResult {
  status: number;
  mediaType: string | undefined;
  headers: NonNullable<Reply['headers']>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into JSON of any shape.
  body: any;
}

/** Runs an operation without HTTP: parameters are parsed and the body is validated as the dispatcher does. */
export async function call(operation: Operation, request: Call = {}): Promise<CallResult> {
  const params = Object.fromEntries(
    Object.entries(operation.params).map(([key, param]) => {
      const values =
        param.in === 'path' ? request.path : param.in === 'header' ? request.headers : request.query;
      const names = [param.name, ...(param.aliases ?? [])];
      const given = names.map((name) => values?.[name]).find((value) => value !== undefined);
      return [key, param.parse(given)];
    }),
  );
  let { body } = request;
  if (operation.body && !operation.body.streamed) {
    if (operation.body.bindsAnyCase) body = memberBinder(operation.body.schema)?.(body) ?? body;
    const errors = compileSchema(operation.body.schema)(body);
    if (errors.length > 0) throw fieldFailure('invalid-body', errors);
  }
  const exchange: Exchange = {
    operation,
    params,
    method: operation.method,
    memo: {},
    body,
    upload: request.upload ?? (async function* () {})(),
    format: JSON_FORMAT,
    principal: request.principal ?? ADMIN,
    path: operation.path,
    query: new URLSearchParams(request.query).toString(),
    baseUrl: 'http://test',
    clientAddress: '192.0.2.1',
    correlationId: 'corr-1',
    signal: new AbortController().signal,
    header: (name) => request.headers?.[name.toLowerCase()],
    upgradable: false,
    timing: () => {},
  };
  return read(await operation.run(exchange));
}

async function read(reply: Reply): Promise<CallResult> {
  const text = await textOf(reply.body);
  const isJson = text !== '' && /json/.test(reply.mediaType ?? '') && !/ndjson/.test(reply.mediaType ?? '');
  return {
    status: reply.status,
    mediaType: reply.mediaType,
    headers: reply.headers ?? {},
    body: isJson ? JSON.parse(text) : text,
  };
}

async function textOf(body: Reply['body']): Promise<string> {
  if (body === undefined || typeof body === 'string') return body ?? '';
  if (body instanceof Uint8Array) return Buffer.from(body).toString();
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts).toString();
}
