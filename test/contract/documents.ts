import { setImmediate as turn } from 'node:timers/promises';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import type { SharedServer } from '../support/shared-server.js';

/** Interface documents, and what an answer tells of their truth. */

// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
export type Json = any;

export const DOCUMENTS = [
  '/ogc/features/api',
  '/ogc/coverages/openapi.json',
  '/ogc/tiles/openapi.json',
  '/ogc/maps/openapi.json',
  '/stac/openapi.json',
  '/api/v1/admin/openapi.json',
];

/** Values that exist on a server of the demo data; a function where it depends on the surface. */
const VALUES: Record<string, (path: string) => string> = {
  collectionId: (path) =>
    path.startsWith('/ogc/tiles') || path.startsWith('/ogc/maps')
      ? '3'
      : path.startsWith('/ogc/features')
        ? 'countries'
        : 'l7_etms',
  featureId: () => '1',
  itemId: () => 'l7_etms',
  tileMatrixSetId: () => 'WebMercatorQuad',
  tileMatrix: () => '1',
  tileRow: () => '0',
  tileCol: () => '1',
  z: () => '1',
  x: () => '1',
  y: () => '0',
  styleId: () => 'default',
  layerId: () => '3',
  zoneId: () => '4711',
  ruleId: () => '4711',
  investigationId: () => '4711',
  pinId: () => '4711',
  linkId: () => '4711',
  bundleId: () => '4711',
  eventId: () => '4711',
  resolution: () => '1',
  formId: () => 'none',
  packageVersion: () => '1',
  format: () => 'geojson',
  coords: () => 'POINT(-51 0)',
  datasetId: () => 'l7_etms',
  line: () => 'LINESTRING(-34.9 -8, -34.8 -8)',
};

export interface OperationDescription {
  document: Json;
  path: string;
  method: string;
  operation: Json;
}

/** The documents that the server publishes, by their paths. */
export async function readDocuments({ url, adminKey }: SharedServer): Promise<Map<string, Json>> {
  const documents = new Map<string, Json>();
  for (const path of DOCUMENTS) {
    const response = await fetch(`${url}${path}`, { headers: { 'x-api-key': adminKey } });
    if (response.status === 200) documents.set(path, await response.json());
  }
  return documents;
}

export function* operationsOf(documents: Map<string, Json>): Generator<OperationDescription> {
  for (const document of documents.values())
    for (const [path, methods] of Object.entries<Json>(document.paths))
      for (const [method, operation] of Object.entries<Json>(methods))
        yield { document, path, method: method.toUpperCase(), operation };
}

export function filled(path: string, values: Record<string, string> = {}): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(values[name] ?? VALUES[name]?.(path) ?? 'none'),
  );
}

/** The query that an operation cannot do without. */
export function requiredQuery({ operation, path }: OperationDescription): URLSearchParams {
  const needed = (operation.parameters ?? []).filter((one: Json) => one.in === 'query' && one.required);
  return new URLSearchParams(needed.map(({ name }: { name: string }) => [name, VALUES[name]?.(path) ?? '1']));
}

export const withQuery = (path: string, query: URLSearchParams) =>
  query.size > 0 ? `${path}?${query}` : path;

export interface OperationRequest {
  headers?: Record<string, string>;
  body?: string | Uint8Array;
}

const ajv = new Ajv({ strict: false, allErrors: false, validateFormats: false });
const compiled = new WeakMap<object, ReturnType<Ajv['compile']>>();

/** Complains of unknown keywords and formats also, not only of unknown types. */
const strict = new Ajv({ strict: true, strictTypes: false, strictRequired: false, strictTuples: false });
strict.addVocabulary(['components', 'example']);
(addFormats as unknown as { default: (target: Ajv) => void }).default(strict);

/** Names that the compilers know documents by: what schemas refer to is then compiled once for a document. */
const names = new WeakMap<object, string>();
let lastName = 0;

function addDocument(compiler: Ajv, document: Json): string {
  const name = names.get(document) ?? `document:${++lastName}`;
  names.set(document, name);
  if (!compiler.schemas[name])
    compiler.addSchema({ components: document.components ?? {} }, name, false, false);
  return name;
}

/** The test of a schema, whose references lead into its document. */
function compileSchema(compiler: Ajv, document: Json, schema: Json): ReturnType<Ajv['compile']> {
  const name = addDocument(compiler, document);
  return compiler.compile(
    JSON.parse(
      JSON.stringify(schema, (key, value) =>
        key === '$ref' && typeof value === 'string' && value.startsWith('#') ? name + value : value,
      ),
    ),
  );
}

/** JSON Schema of what is OpenAPI 3.0 with other exclusive bounds. */
function readBounds(document: Json): Json {
  const text = JSON.stringify(document, (_, value) =>
    value?.exclusiveMinimum === true ? { ...value, exclusiveMinimum: value.minimum } : value,
  );
  return JSON.parse(text);
}

/** What is no JSON Schema in a document, with its place. */
export function wrongSchemas(described: Json): string[] {
  const document = readBounds(described);
  const wrong: string[] = [];
  const looked = new Set<string>();
  const walk = (value: Json, place: string): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [name, member] of Object.entries<Json>(value)) {
      if (name === 'schema' || place === '/components/schemas') {
        const text = JSON.stringify(member);
        if (looked.has(text)) continue;
        looked.add(text);
        try {
          compileSchema(strict, document, member);
        } catch (error) {
          wrong.push(`${place}/${name}: ${(error as Error).message}`);
        }
      } else walk(member, `${place}/${name}`);
    }
  };
  walk(document, '');
  return wrong;
}

/** What a request tells of the document's truth; undefined when all is well. */
export async function fault(
  { url, adminKey }: SharedServer,
  { document, path, method, operation }: OperationDescription,
  target: string,
  { headers = {}, body }: OperationRequest = {},
): Promise<string | undefined> {
  const response = await fetch(`${url}${target}`, {
    method,
    headers: { 'x-api-key': adminKey, ...headers },
    redirect: 'manual',
    ...(body === undefined ? {} : { body: body as BodyInit }),
  });
  const { status } = response;
  const type = (response.headers.get('content-type') ?? '').split(';')[0]!;
  const text = await response.text();
  const sent = typeof body === 'string' ? ` ${body.slice(0, 300)}` : '';
  const say = (what: string) => `${method} ${target.slice(0, 200)}${sent} -> ${status}: ${what}`;
  const documented = operation.responses[status];
  if (status >= 500 && status !== 501) return say(text.slice(0, 300));
  if (status === 400 && type === 'application/problem+json') {
    const wrong = errorFormFault(JSON.parse(text));
    if (wrong) return say(wrong);
  }
  if (!documented) return say(`is not documented for ${path} ${text.slice(0, 200)}`);
  const content = documented.content as Record<string, Json> | undefined;
  if (text === '') return undefined;
  if (!content) return say(`has a body, of which the document tells nothing: ${text.slice(0, 200)}`);
  const entry = Object.entries(content).find(([name]) => name.split(';')[0] === type);
  if (!entry) return say(`has the media type ${type}, not ${Object.keys(content)}`);
  const { schema } = entry[1];
  if (!schema || schema.format === 'binary' || !type.includes('json') || type === 'application/schema+json')
    return undefined;
  let validate = compiled.get(schema);
  if (!validate) {
    validate = compileSchema(ajv, document, schema);
    compiled.set(schema, validate);
  }
  return validate(JSON.parse(text))
    ? undefined
    : say(`does not fit its schema: ${ajv.errorsText(validate.errors)} ${text.slice(0, 300)}`);
}

/** Words of the validator, which no client reads. */
const VALIDATOR =
  /must be equal to|must NOT|must match (?:pattern|format|exactly|a schema|"|some)|schema in anyOf|schema in oneOf/;

/** What is wrong with the form of a 400: each error is a sentence with the name and a colon first. */
export function errorFormFault({ detail, errors = [] }: Json): string | undefined {
  if (VALIDATOR.test(detail)) return `has words of the validator: ${detail}`;
  if (!/[.!?…]['")]?$/.test(detail)) return `has a detail that is not a sentence: ${detail}`;
  for (const { name, message, detail: own } of errors) {
    if (VALIDATOR.test(message)) return `has words of the validator: ${message}`;
    if (!message.endsWith(own)) return `has a message without its detail: ${message}`;
    if (!/[.!?…]['")]?$/.test(own)) return `has an error that is not a sentence: ${message}`;
    if (name !== '' && !/^(?:[^\s:][^:]*|body): /u.test(message))
      return `has no name and colon first: ${message}`;
  }
  return undefined;
}

/** The faults of many requests, eight at a time. */
export async function faults(requests: Iterable<() => Promise<string | undefined>>): Promise<string[]> {
  const queue = requests[Symbol.iterator]();
  const found: string[] = [];
  // Connections that the server ended while schemas were compiled are noticed in whole turns of the loop only.
  await turn();
  await turn();
  const next = async () => {
    for (let one = queue.next(); !one.done; one = queue.next()) {
      const problem = await one.value();
      if (problem) found.push(problem);
    }
  };
  await Promise.all(Array.from({ length: 8 }, next));
  return found.sort();
}
