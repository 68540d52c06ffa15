import type { Expression } from '../../core/cql2/ast.js';
import { and, print } from '../../core/cql2/index.js';
import { TaskFailure } from '../../core/errors/failure.js';
import type {
  FederatedAbilities,
  FederatedSetting,
  FederatedSource,
} from '../../core/federation/federated-source.js';
import type { PushedQuery } from '../../core/federation/push-down.js';
import { resourceBelow } from '../../core/http/resource-url.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { Field, FieldType } from '../../core/sources/vector-source.js';
import type { VectorLayerInfo } from '../../core/tasks/vector-tasks.js';
import { membersIn } from '../../core/values/json-text.js';
import { wellAnswered } from '../exchange/ingest/discover/index.js';
import { findRelationLink } from '../exchange/ingest/discover/ogc-api.js';
import { get, type RemoteAccess, type RemoteAnswer } from '../exchange/ingest/http.js';
import {
  documentText,
  object,
  parseJsonBox,
  parseLinks,
  parseObject,
  type RemoteJson,
  readJsonInteger,
  string,
} from '../exchange/ingest/json.js';
import {
  type FeatureJson,
  parsePageFeatures,
  splitFeature,
  splitFeatures,
} from '../exchange/ingest/pages.js';
import { refused } from '../storage/remote/allowed-hosts.js';
import {
  chooseColumn,
  FEDERATED_CRS,
  FEDERATED_MEMBERS,
  type FederatedPage,
  type FederatedProtocol,
  federatedField,
  findGeometryType,
} from './protocol.js';

/** Sources that are collections of OGC API Features. */
export const ogcFeaturesProtocol: FederatedProtocol = { describe, readPage, readIds };

const JSON_TYPE = 'application/json';
const GEOJSON = 'application/geo+json, application/json;q=0.9';
/** Features from which types are derived. */
const SAMPLE = 100;
/** Number of features of a page. Servers return fewer if their limit is lower. */
const PAGE = 1000;

async function describe(setting: FederatedSetting, asking: RemoteAccess): Promise<VectorLayerInfo> {
  const { id, layer, timeoutSeconds } = setting;
  const timeoutMs = timeoutSeconds * 1000;
  const read = (url: string) => get({ url, timeoutMs, headers: { accept: JSON_TYPE } }, asking);
  const url = resourceBelow(setting.url, 'collections', layer);
  const collection = parseObject(wellAnswered(await read(url), url).bytes);
  const items = findRelationLink(
    parseLinks(collection, url).filter(({ type }) => type === undefined || /json/.test(type)),
    'items',
  );
  if (!items) throw refused('the collection has no link to its items as GeoJSON');
  const conformance = await readOptional(read, resourceBelow(setting.url, 'conformance'));
  const queryables = await readOptional(read, resourceBelow(url, 'queryables'));
  const schema = await readOptional(read, resourceBelow(url, 'schema'));
  // The link can name another host, for example that behind a proxy. Requests go to the configured one.
  const path = resourceBelow(url, 'items');
  const sample = await readFeatures(path, { limit: String(SAMPLE) }, timeoutMs, asking);
  const fields = listFields(schema, queryables, sample.features);
  if (sample.features.some((feature) => feature.id === undefined)) throw refused('a feature has no id');
  const usesGeneratedIds =
    sample.features.length > 0 && sample.features.every(({ id: one }) => /^-?\d+$/.test(one!));
  const geometryColumn = chooseColumn(fields, 'geometry');
  const extent = parseJsonBox(firstBox(collection));
  const source: FederatedSource = {
    ...FEDERATED_MEMBERS,
    remote: new URL(setting.url).origin,
    table: id,
    geometryColumn,
    geometryType: findGeometryType(sample.features),
    hasZ: sample.features.some(({ geometry }) => hasHeights(geometry)),
    idColumn: chooseColumn([...fields, { name: geometryColumn }], 'id'),
    idType: usesGeneratedIds ? 'integer' : 'string',
    fields,
    federation: {
      ...{ id, kind: setting.kind, url: path, layer, timeoutMs, pageSize: PAGE },
      abilities: readAbilities(conformance, queryables, fields),
      ...(extent ? { extent } : {}),
    },
  };
  return {
    source,
    title: string(collection['title']) ?? layer,
    description: string(collection['description']) ?? '',
    ...(extent ? { extent, extent84: extent } : {}),
    featureCount: sample.matched ?? readJsonInteger(collection['numberItems']) ?? sample.features.length,
    countEstimated: true,
    cursor: 0,
  };
}

function firstBox(collection: RemoteJson): unknown {
  const { bbox } = object(object(collection['extent'])['spatial']);
  return Array.isArray(bbox) ? bbox[0] : undefined;
}

const hasHeights = (geometry: string) =>
  /\[\s*-?[\d.eE+-]+\s*,\s*-?[\d.eE+-]+\s*,\s*-?[\d.eE+-]+\s*\]/.test(geometry);

/** A document that a server need not have. */
async function readOptional(read: (url: string) => Promise<RemoteAnswer>, url: string): Promise<RemoteJson> {
  const answer = await read(url);
  if (answer.status >= 400 && answer.status < 500) return {};
  return parseObject(wellAnswered(answer, url).bytes);
}

/** Fields of a schema or of queryables, and those of features that neither has. */
function listFields(schema: RemoteJson, queryables: RemoteJson, features: readonly FeatureJson[]): Field[] {
  const values = new Map<string, string[]>();
  for (const { properties } of features)
    for (const [name, value] of membersIn(properties) ?? [])
      values.set(name, [...(values.get(name) ?? []), value]);
  const declared = new Map(
    [queryables, schema].flatMap((document) => Object.entries(object(document['properties']))),
  );
  const names = new Set([
    ...Object.entries(object(schema['properties'])).flatMap(([name, member]) =>
      isAttribute(object(member)) ? [name] : [],
    ),
    ...values.keys(),
  ]);
  return [...names].map((name) => {
    const member = object(declared.get(name));
    const title = string(member['title']);
    return federatedField(
      name,
      readType(member) ?? guessType(values.get(name) ?? []),
      title ? { title } : {},
    );
  });
}

function isAttribute(member: RemoteJson): boolean {
  const role = string(member['x-ogc-role']) ?? '';
  const format = string(member['format']) ?? '';
  return role !== 'id' && !role.includes('geometry') && !format.startsWith('geometry') && !member['$ref'];
}

function readType(member: RemoteJson): FieldType | undefined {
  const types = [member['type']].flat().filter((type) => type !== 'null');
  const [type] = types;
  if (types.length !== 1) return undefined;
  if (type === 'string') {
    const format = string(member['format']);
    return format === 'date' || format === 'date-time' ? format : 'string';
  }
  if (type === 'integer' || type === 'number' || type === 'boolean') return type;
  return type === 'object' || type === 'array' ? 'json' : undefined;
}

function guessType(values: readonly string[]): FieldType {
  const known = values.filter((value) => value !== 'null');
  if (known.length === 0) return 'string';
  const all = (pattern: RegExp) => known.every((value) => pattern.test(value));
  if (all(/^"/)) return 'string';
  if (all(/^-?\d/)) return 'number';
  return all(/^(true|false)$/) ? 'boolean' : 'json';
}

const BASIC = ['and', 'or', 'not', '=', '<>', '<', '>', '<=', '>=', 'isNull'];
/** Operators by the last part of conformance classes of CQL2. */
const CLASSES: Readonly<Record<string, readonly string[]>> = {
  'advanced-comparison-operators': ['like', 'between', 'in'],
  'case-insensitive-comparison': ['casei'],
  'accent-insensitive-comparison': ['accenti'],
  arithmetic: ['+', '-', '*', '/', '%', 'div', '^'],
};

function readAbilities(
  conformance: RemoteJson,
  queryables: RemoteJson,
  fields: readonly Field[],
): FederatedAbilities {
  const declared = Array.isArray(conformance['conformsTo']) ? conformance['conformsTo'].map(String) : [];
  const has = (name: string) => declared.find((one) => one.endsWith(`/conf/${name}`));
  const filter = has('features-filter') ?? has('filter');
  const missing = filter ? ['cql2-text', 'basic-cql2'].find((name) => !has(name)) : 'features-filter';
  const canFilter = missing === undefined;
  const operators = Object.entries(CLASSES).flatMap(([name, all]) => (has(name) ? all : []));
  const names = Object.keys(object(queryables['properties']));
  const compared = fields.filter(({ name }) => names.includes(name)).map(({ name }) => name);
  const reason = canFilter
    ? 'conformance declares features-filter, cql2-text and basic-cql2'
    : `conformance does not declare ${missing}`;
  const sorting = has('sorting');
  return {
    attributes: {
      pushedDown: canFilter,
      reason,
      operators: canFilter ? [...BASIC, ...operators] : [],
      fields: compared,
      hasEscapes: true,
    },
    spatial: { pushedDown: true, reason: 'the parameter bbox is part of OGC API Features core' },
    temporal: { pushedDown: canFilter, reason },
    order: {
      pushedDown: sorting !== undefined,
      reason: `conformance ${sorting ? 'declares' : 'does not declare'} sorting`,
    },
    paging: {
      pushedDown: true,
      reason: 'the parameter limit and next links are part of OGC API Features core',
    },
  };
}

/** The parameters of a query. */
function buildParameters(query: PushedQuery): Record<string, string> {
  const filter = and(...query.attributes, ...query.times);
  const parameters: Record<string, string> = {};
  if (query.bbox) parameters['bbox'] = query.bbox.join(',');
  if (filter) {
    parameters['filter'] = printFilter(filter);
    parameters['filter-lang'] = 'cql2-text';
  }
  if (query.order)
    parameters['sortby'] = query.order
      .map(({ field, descending }) => `${descending ? '-' : ''}${field}`)
      .join(',');
  return parameters;
}

const printFilter = (filter: Expression): string => print(filter);

async function readPage(
  { federation }: FederatedSource,
  query: PushedQuery,
  { position, size }: { position: string | undefined; size: number },
  asking: RemoteAccess,
): Promise<FederatedPage> {
  const parameters =
    position === undefined
      ? { ...buildParameters(query), limit: String(size) }
      : Object.fromEntries(new URLSearchParams(position));
  return readFeatures(federation.url, parameters, federation.timeoutMs, asking);
}

async function readFeatures(
  items: string,
  parameters: Readonly<Record<string, string>>,
  timeoutMs: number,
  asking: RemoteAccess,
): Promise<FederatedPage> {
  const url = new URL(items);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  if (url.href.length > LIMITS.urlBytes)
    throw new TaskFailure(
      'too-large',
      'The request to the source would have a too long URL. Shorten the filter.',
    );
  const answer = wellAnswered(
    await get({ url: url.href, timeoutMs, headers: { accept: GEOJSON } }, asking),
    url.href,
  );
  if (!/json/.test(answer.mediaType))
    throw refused(`it returned ${answer.mediaType || 'no media type'}, not GeoJSON`);
  const page = parseObject(answer.bytes);
  const found = parsePageFeatures(page);
  const returned = readJsonInteger(page['numberReturned']);
  if (returned !== undefined && returned !== found.length)
    throw refused(`a page says that it has ${returned} features, and has ${found.length}`);
  const next = parseLinks(page, url.href).find(({ rel }) => rel === 'next')?.href;
  return {
    features: splitFeatures(documentText(answer.bytes)),
    crs: FEDERATED_CRS,
    next: next === undefined ? undefined : readPosition(next, url),
    matched: readJsonInteger(page['numberMatched']),
  };
}

/** The query of a next link. Its path must be that of the items, because only these may be read. */
function readPosition(next: string, items: URL): string {
  const { pathname, search } = new URL(next);
  const last = (path: string) => path.replace(/\/$/, '').split('/').slice(-3).join('/');
  if (last(pathname) !== last(items.pathname))
    throw refused('a next link has another path than the items of the collection');
  if (search === items.search) throw refused('a next link repeats the query of the page');
  return search.slice(1);
}

async function readIds(
  { federation }: FederatedSource,
  ids: readonly string[],
  asking: RemoteAccess,
): Promise<FederatedPage> {
  const found: FeatureJson[] = [];
  for (const id of ids) {
    const url = resourceBelow(federation.url, id);
    const answer = await get({ url, timeoutMs: federation.timeoutMs, headers: { accept: GEOJSON } }, asking);
    if (answer.status === 404 || answer.status === 410 || answer.status === 400) continue;
    wellAnswered(answer, url);
    const feature = parseObject(answer.bytes);
    parsePageFeatures({ type: 'FeatureCollection', features: [feature] });
    found.push(splitFeature(documentText(answer.bytes)));
  }
  return { features: found, crs: FEDERATED_CRS };
}
