import Type, { type TSchema } from 'typebox';
import { ERROR_TABLE } from '../../core/errors/errors.js';
import type { Operation, Param, ResponseDoc, Surface } from '../../core/http/operation.js';
import { formatParam } from '../../core/http/params.js';

/** RFC 9457 problem document, the body of every error response. */
const ProblemSchema = Type.Object({
  type: Type.String(),
  title: Type.String(),
  status: Type.Integer(),
  detail: Type.String(),
  instance: Type.Optional(Type.String()),
  code: Type.Optional(Type.String()),
  help: Type.Optional(Type.String({ format: 'uri', description: 'Page of the manual about the error.' })),
  correlationId: Type.Optional(Type.String()),
  timestamp: Type.Optional(Type.String({ format: 'date-time' })),
  errors: Type.Optional(Type.Array(Type.Object({ name: Type.String(), detail: Type.String() }))),
  links: Type.Optional(
    Type.Array(Type.Object({ rel: Type.String(), href: Type.String(), title: Type.String() }), {
      description: 'Other resources with the requested data.',
    }),
  ),
});

export interface OpenApiInfo {
  title: string;
  description: string;
  serverUrl: string;
}

/** OpenAPI 3.0 document of a list of operations. */
export function openApiDocument(info: OpenApiInfo, operations: readonly Operation[]) {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations) {
    const path = (paths[operation.path] ??= {});
    path[operation.method.toLowerCase()] = operationDocument(operation);
  }
  const tags = [...new Set(operations.map((o) => o.tag).filter((tag) => tag !== undefined))];
  return {
    openapi: '3.0.3',
    info: {
      title: info.title,
      description: info.description,
      version: '1.0.0',
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    servers: [{ url: info.serverUrl }],
    tags: tags.map((name) => ({ name })),
    paths,
    components: {
      schemas: { Problem: ProblemSchema },
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
        bearer: { type: 'http', scheme: 'bearer' },
        basic: { type: 'http', scheme: 'basic' },
      },
    },
  };
}

function operationDocument(operation: Operation) {
  const { body } = operation;
  return {
    operationId: operation.id,
    summary: operation.summary,
    ...(operation.description ? { description: operation.description } : {}),
    ...(operation.tag ? { tags: [operation.tag] } : {}),
    ...(operation.built ? {} : { 'x-not-implemented': true }),
    parameters: parameters(operation).map(parameterDocument),
    ...(body
      ? {
          requestBody: {
            required: body.required,
            content: Object.fromEntries(
              body.mediaTypes.map((type) => [type, { schema: downConvert(body.schema) }]),
            ),
          },
        }
      : {}),
    responses: responseDocuments(operation),
    ...(operation.callbacks ? { callbacks: callbackDocuments(operation.callbacks) } : {}),
    ...(operation.permission === 'public'
      ? {}
      : { security: [{ apiKey: [] }, { bearer: [] }, { basic: [] }] }),
  };
}

function callbackDocuments(callbacks: NonNullable<Operation['callbacks']>) {
  const request = {
    requestBody: { content: { 'application/json': { schema: { type: 'object' } } } },
    responses: { 200: { description: 'It was taken' } },
  };
  return Object.fromEntries(
    Object.entries(callbacks).map(([name, address]) => [name, { [address]: { post: request } }]),
  );
}

const idempotencyKey: Param = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'If a client repeats a request with the same key within a day, the server returns the first response and does not execute the request again.',
  schema: Type.String({ minLength: 1, maxLength: 255 }),
  parse: (raw) => raw,
};

const ifMatch: Param = {
  name: 'If-Match',
  in: 'header',
  description: 'Entity tag from reading the resource. If the resource has changed, the server returns 412.',
  schema: Type.String(),
  parse: (raw) => raw,
};

const requiredIfMatch: Param = {
  ...ifMatch,
  required: true,
  description: 'Entity tag from reading the resource. If the resource has changed, the server returns 409.',
};

/** Declared parameters; path parameters that no object declares are documented as strings. */
function parameters(operation: Operation): Param[] {
  const declared = Object.values(operation.params);
  const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);
  const implicit = inPath
    .filter((name) => !declared.some((param) => param.in === 'path' && param.name === name))
    .map(
      (name): Param => ({
        name,
        in: 'path',
        description: '',
        schema: Type.String(),
        required: true,
        parse: (raw) => raw,
      }),
    );
  return [
    ...implicit,
    ...declared,
    ...(operation.repeatable && operation.built ? [idempotencyKey] : []),
    ...(operation.entityTag === 'checked' ? [ifMatch] : []),
    ...(operation.entityTag === 'required' ? [requiredIfMatch] : []),
    ...(operation.formats.length > 0 ? [formatParam(operation.formats)] : []),
  ];
}

function parameterDocument(param: Param) {
  return {
    name: param.name,
    in: param.in,
    required: param.in === 'path' || (param.required ?? false),
    ...(param.description ? { description: param.description } : {}),
    // Written although `explode` has a default: test suites of the standard expect both members.
    ...(param.in === 'query' ? { style: 'form', explode: false } : {}),
    schema: downConvert(param.schema),
  };
}

interface ResponseDocument {
  description: string;
  headers?: Record<string, unknown>;
  content?: Record<string, unknown>;
}

const ETAG = {
  ETag: { description: 'Entity tag of the resource, for If-Match', schema: { type: 'string' } },
};
const CORRELATION_ID = {
  'X-Correlation-Id': { description: 'Id of the request', schema: { type: 'string' } },
};

/** Response headers of an operation, in addition to those of every response. */
function headerDocuments({ entityTag, correlates }: Operation, status: number): Record<string, unknown> {
  const hasTag = entityTag === 'sent' || entityTag === 'checked' || entityTag === 'required';
  return { ...(hasTag && status < 300 ? ETAG : {}), ...(correlates ? CORRELATION_ID : {}) };
}

function responseDocuments(operation: Operation) {
  const documents: Record<string, ResponseDocument> = {};
  for (const [status, response] of Object.entries(operation.responses)) {
    documents[status] = responseDocument(Number(status), withFormats(operation, Number(status), response));
  }
  for (const status of impliedStatuses(operation)) documents[status] = withProblem(documents[status], status);
  for (const [status, document] of Object.entries(documents)) {
    const headers = headerDocuments(operation, Number(status));
    if (Object.keys(headers).length > 0) documents[status] = { ...document, headers };
  }
  const { entityTag } = operation;
  const hasTag = entityTag === 'sent' || (entityTag !== 'none' && WITH_ENTITY_TAGS.has(operation.surface));
  if (operation.method === 'GET' && hasTag)
    documents['304'] ??= {
      description: 'The cached representation of the client is current (If-None-Match)',
    };
  return documents;
}

/** Surfaces whose documents have entity tags. */
const WITH_ENTITY_TAGS: ReadonlySet<Surface> = new Set([
  'features',
  'coverages',
  'tiles',
  'maps',
  'styles',
  'processes',
  'stac',
  'site',
]);

/**
 * Statuses that follow from the properties of an operation: its permission, parameters and body, and its use of
 * workers, which may be busy. An operation declares all other statuses itself.
 */
function impliedStatuses(operation: Operation): number[] {
  const { built, surface, permission, path, formats, body, repeatable, entityTag } = operation;
  const inPath = path.includes('{');
  const statuses: [boolean, ...number[]][] = [
    // Unknown parameters, invalid credentials and long targets are refused everywhere.
    [true, 400, 401, 414],
    [permission !== 'public', 403],
    // Probes and scrapes are not counted.
    [surface !== 'operations', 429],
    [inPath, 404],
    [formats.length > 0, 406],
    [body !== undefined, 408, 413, 415],
    [built && repeatable === true, 409, 422],
    [entityTag === 'checked', 412],
    [entityTag === 'required', 409, 428],
    [!built, 501],
    [built && (inPath || body !== undefined || permission !== 'public'), 503],
  ];
  return statuses.flatMap(([holds, ...implied]) => (holds ? implied : []));
}

/** Adds a problem document to a response of such a status, next to what the operation declares itself. */
function withProblem(document: ResponseDocument | undefined, status: number): ResponseDocument {
  const problem = problemResponse(status);
  return document ? { ...document, content: { ...document.content, ...problem.content } } : problem;
}

/** Adds all formats of an operation to its response, whether or not the operation gives a schema for each. */
function withFormats({ formats }: Operation, status: number, response: ResponseDoc): ResponseDoc {
  if (status !== 200 || !response.content) return response;
  const others = formats
    .map(({ mediaType }) => mediaType.split(';')[0]!)
    .filter((type) => !Object.keys(response.content!).some((name) => name.split(';')[0] === type));
  return {
    ...response,
    content: { ...response.content, ...Object.fromEntries(others.map((type) => [type, {}])) },
  };
}

function responseDocument(status: number, response: ResponseDoc): ResponseDocument {
  if (status >= 400 && !response.content)
    return { ...problemResponse(status), description: response.description };
  if (!response.content) return { description: response.description };
  const content = Object.entries(response.content).map(([type, schema]) => [
    type,
    { schema: schema ? downConvert(schema) : { type: 'string', format: 'binary' } },
  ]);
  return { description: response.description, content: Object.fromEntries(content) };
}

function problemResponse(status: number): ResponseDocument {
  const entry = Object.values(ERROR_TABLE).find(([code]) => code === status);
  return {
    description: entry?.[1] ?? 'Error',
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
  };
}

/**
 * The common type of all values of an enumeration, or of all alternatives. Without a common type, null cannot be
 * declared and is left out.
 */
function typeOfMembers({ enum: values, anyOf }: Record<string, unknown>): object {
  const types = Array.isArray(values)
    ? values.filter((value) => value !== null).map((value) => typeof value)
    : ((anyOf as { type?: string }[] | undefined) ?? []).map(({ type }) => type);
  return types.length > 0 && new Set(types).size === 1 && types[0] !== undefined
    ? { type: types[0] }
    : { nullable: undefined };
}

const isNull = (schema: unknown) => (schema as { type?: unknown } | null)?.type === 'null';

/** Converts `anyOf` with null and other types: in OpenAPI 3.0, null is a flag of a schema with a type. */
function withoutNull(schema: object): object {
  const { anyOf, ...rest } = schema as { anyOf?: unknown };
  if (!Array.isArray(anyOf) || !anyOf.some(isNull)) return schema;
  const others = anyOf.filter((member) => !isNull(member)).map(nullable);
  return others.length === 1 ? { ...rest, ...others[0] } : { ...rest, anyOf: others };
}

/** An enumeration must list null too (OpenAPI 3.0.3, "nullable"). */
function nullable(schema: { enum?: unknown[] }): object {
  return { ...schema, nullable: true, ...(schema.enum ? { enum: [...schema.enum, null] } : {}) };
}

/** JSON Schema 2020-12 -> the OpenAPI 3.0 dialect: no `const`, no array of types, exclusive bounds as flags. */
function downConvert(schema: TSchema | unknown): unknown {
  if (Array.isArray(schema)) return schema.map(downConvert);
  if (typeof schema !== 'object' || schema === null) return schema;
  const out: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(withoutNull(schema))) {
    if (key === 'const') out['enum'] = [value];
    else if (key === 'exclusiveMinimum' && typeof value === 'number')
      Object.assign(out, { minimum: value, exclusiveMinimum: true });
    else if (key === 'exclusiveMaximum' && typeof value === 'number')
      Object.assign(out, { maximum: value, exclusiveMaximum: true });
    else if (key === 'properties' && value && typeof value === 'object') {
      out[key] = Object.fromEntries(Object.entries(value).map(([name, sub]) => [name, downConvert(sub)]));
    } else if (key === 'patternProperties' || key === '$id') continue;
    else if (key === 'type' && value === 'null')
      Object.assign(out, { type: 'string', enum: [null], nullable: true });
    else out[key] = downConvert(value);
  }
  // The flag `nullable` is only valid next to a type.
  if (out['nullable'] && !out['type']) Object.assign(out, typeOfMembers(out));
  return out;
}
