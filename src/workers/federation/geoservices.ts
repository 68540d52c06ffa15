import type { Geometry } from 'geojson';
import type { GeoServicesLayer } from '../../core/exchange/ingest.js';
import type {
  FederatedAbilities,
  FederatedSetting,
  FederatedSource,
} from '../../core/federation/federated-source.js';
import type { PushedQuery } from '../../core/federation/push-down.js';
import { printSql } from '../../core/federation/sql.js';
import { computeEnvelope } from '../../core/geometry/box.js';
import type { VectorLayerInfo } from '../../core/tasks/vector-tasks.js';
import { geojsonToWkb, geometryToGeoJSON } from '../../native/index.js';
import { parseWkid } from '../exchange/ingest/discover/geoservices.js';
import {
  askLayer,
  describeLayer,
  parseFeature,
  requireWkid,
} from '../exchange/ingest/geoservices-features.js';
import type { RemoteAccess } from '../exchange/ingest/http.js';
import { bigInteger, listJsonObjects, object, type RemoteJson, string } from '../exchange/ingest/json.js';
import { refused } from '../storage/remote/allowed-hosts.js';
import {
  chooseColumn,
  FEDERATED_CRS,
  FEDERATED_MEMBERS,
  type FederatedPage,
  type FederatedProtocol,
  federatedField,
} from './protocol.js';

/** Sources that are layers of GeoServices REST. */
export const geoServicesProtocol: FederatedProtocol = { describe, readPage, readIds };

const SRID = 4326;
const MAX_PAGE = 1000;

async function describe(setting: FederatedSetting, asking: RemoteAccess): Promise<VectorLayerInfo> {
  const { id, kind, layer: number, timeoutSeconds } = setting;
  if (!/^\d+$/.test(number)) throw refused(`'${number.slice(0, 60)}' is not the number of a layer`);
  const url = `${setting.url.replace(/\/+$/, '')}/${encodeURIComponent(number)}`;
  const request = { url, timeoutMs: timeoutSeconds * 1000 };
  const layer = await describeLayer({ ...request, where: '1=1' }, asking);
  if (layer.isTable) throw refused('the layer is a table without geometries');
  const resource = await askLayer(request, '', {}, asking);
  const fields = layer.fields
    .filter(({ name }) => name !== layer.objectIdField)
    .map(({ name, type, alias }) => federatedField(name, type, alias ? { title: alias } : {}));
  const extent = readExtent(resource);
  const source: FederatedSource = {
    ...FEDERATED_MEMBERS,
    remote: new URL(url).origin,
    table: id,
    geometryColumn: chooseColumn([...fields, { name: layer.objectIdField }], 'geometry'),
    geometryType: layer.geometryType,
    hasZ: layer.hasZ,
    idColumn: layer.objectIdField,
    idType: 'integer',
    fields,
    federation: {
      ...{ id, kind, url, layer: number, timeoutMs: request.timeoutMs },
      pageSize: Math.min(layer.maxRecordCount, MAX_PAGE),
      abilities: readAbilities(resource, layer),
      ...(extent ? { extent } : {}),
    },
  };
  return {
    source,
    title: layer.name,
    description: layer.description ?? '',
    ...(extent ? { extent, extent84: extent } : {}),
    featureCount: layer.count,
    countEstimated: true,
    cursor: 0,
  };
}

/** The extent of a layer in degrees, if it can be converted. */
function readExtent(resource: RemoteJson) {
  const { spatialReference, ...sides } = object(resource['extent']);
  const srid = parseWkid(spatialReference);
  const [west, south, east, north] = ['xmin', 'ymin', 'xmax', 'ymax'].map((side) => sides[side]);
  if (srid === undefined || ![west, south, east, north].every(Number.isFinite)) return undefined;
  const corners = [
    [west, south],
    [east, south],
    [east, north],
    [west, north],
  ];
  try {
    const wkb = geojsonToWkb(
      { type: 'MultiPoint', coordinates: corners },
      { from: `EPSG:${srid}`, to: FEDERATED_CRS },
    );
    const text = geometryToGeoJSON(wkb, {
      from: FEDERATED_CRS,
      to: FEDERATED_CRS,
      precision: 9,
      swap: false,
    });
    return computeEnvelope(JSON.parse(text) as Geometry);
  } catch {
    return undefined;
  }
}

const SQL_OPERATORS = [
  'and',
  'or',
  'not',
  '=',
  '<>',
  '<',
  '>',
  '<=',
  '>=',
  'isNull',
  'in',
  'between',
  'like',
];

function readAbilities(
  resource: RemoteJson,
  { fields, objectIdField }: GeoServicesLayer,
): FederatedAbilities {
  const advanced = object(resource['advancedQueryCapabilities']);
  const capability = (name: string, at = `advancedQueryCapabilities.${name}`) => ({
    pushedDown: advanced[name] === true,
    reason: `${at} is ${advanced[name] === true ? 'true' : 'not true'}`,
  });
  const standard = advanced['useStandardizedQueries'] ?? resource['useStandardizedQueries'];
  const canQuery = /\bQuery\b/.test(string(resource['capabilities']) ?? 'Query');
  const attributes = {
    pushedDown: canQuery && standard !== false,
    reason: canQuery
      ? `useStandardizedQueries is ${standard === false ? 'false' : 'not false'}`
      : 'capabilities do not have Query',
  };
  // Other names would need quotes, which not all servers accept.
  const isPlain = (name: string) => name !== objectIdField && /^[A-Za-z_]\w*$/.test(name);
  const names = fields.map(({ name }) => name).filter(isPlain);
  return {
    attributes: { ...attributes, operators: SQL_OPERATORS, fields: names, hasEscapes: false },
    spatial: { pushedDown: canQuery, reason: `capabilities ${canQuery ? 'have' : 'do not have'} Query` },
    temporal: attributes,
    order: capability('supportsOrderBy'),
    paging: capability('supportsPagination'),
  };
}

const columnsOf = ({ fields }: FederatedSource) =>
  fields.map(({ name, type }) => ({ name, field: name, type }));

async function query(
  source: FederatedSource,
  parameters: Readonly<Record<string, string>>,
  asking: RemoteAccess,
): Promise<{ page: RemoteJson; features: FederatedPage['features'] }> {
  const { url, timeoutMs } = source.federation;
  const form = {
    ...{ where: '1=1', returnGeometry: 'true', returnZ: String(source.hasZ), returnM: 'false' },
    ...{ returnTrueCurves: 'false', outSR: String(SRID) },
    outFields: [source.idColumn, ...source.fields.map(({ name }) => name)].join(','),
    ...parameters,
  };
  const page = await askLayer({ url, timeoutMs }, '/query', form, asking, ['attributes']);
  if (!Array.isArray(page['features'])) throw refused('a page has no features');
  requireWkid(page, SRID);
  const options = { columns: columnsOf(source), hasZ: source.hasZ, isTable: false };
  const features = listJsonObjects(page['features']).map((feature) => {
    const id = bigInteger(object(feature['attributes'])[source.idColumn]);
    if (id === undefined) throw refused('a page has a feature without an object id');
    return parseFeature(feature, id, options);
  });
  return { page, features };
}

async function readPage(
  source: FederatedSource,
  { bbox, attributes, times, order }: PushedQuery,
  { position, size }: { position: string | undefined; size: number },
  asking: RemoteAccess,
): Promise<FederatedPage> {
  const { paging } = source.federation.abilities;
  const offset = Number(position ?? 0);
  const where = [...attributes, ...times].map((condition) => `(${printSql(condition)})`).join(' AND ');
  // Features with equal values need an order, so that pages do not repeat or omit them.
  const sort = source.federation.abilities.order.pushedDown ? [...(order ?? []), ID_ORDER(source)] : [];
  const { page, features } = await query(
    source,
    {
      ...(where === '' ? {} : { where }),
      ...(bbox
        ? {
            geometry: bbox.join(','),
            ...{ geometryType: 'esriGeometryEnvelope', spatialRel: 'esriSpatialRelIntersects' },
            inSR: String(SRID),
          }
        : {}),
      ...(sort.length > 0
        ? {
            orderByFields: sort
              .map(({ field, descending }) => `${field}${descending ? ' DESC' : ''}`)
              .join(','),
          }
        : {}),
      ...(paging.pushedDown ? { resultOffset: String(offset), resultRecordCount: String(size) } : {}),
    },
    asking,
  );
  const isCut = page['exceededTransferLimit'] === true;
  if (isCut && !paging.pushedDown)
    throw refused('it returns a part of the features, and its layer does not support pagination');
  // A server may return fewer features than requested, and says so.
  const goesOn = isCut || (paging.pushedDown && features.length >= size);
  return {
    features,
    crs: FEDERATED_CRS,
    next: goesOn && features.length > 0 ? String(offset + features.length) : undefined,
  };
}

const ID_ORDER = ({ idColumn }: FederatedSource) => ({ field: idColumn, descending: false });

async function readIds(
  source: FederatedSource,
  ids: readonly string[],
  asking: RemoteAccess,
): Promise<FederatedPage> {
  const numbers = ids.filter((id) => /^-?\d{1,19}$/.test(id));
  if (numbers.length === 0) return { features: [], crs: FEDERATED_CRS };
  const { features } = await query(source, { objectIds: numbers.join(',') }, asking);
  return { features: features.filter(({ id }) => numbers.includes(id ?? '')), crs: FEDERATED_CRS };
}
