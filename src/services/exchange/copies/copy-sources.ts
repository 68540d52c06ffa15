import { ApiError, badMember } from '../../../core/errors/errors.js';
import type { RemoteLayer, SourceKind } from '../../../core/exchange/ingest.js';
import { isObjectKey } from '../../../core/sources/object-stores.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import type { CopyChoice } from '../../catalog/copies/layer-copy.js';
import type { StoredConnection } from '../../connections/connection.js';
import { getConnectionProvider } from '../../connections/connection.js';
import { type Connections, requireActiveConnection } from '../../connections/connections.js';
import { findObjectFormat, isBucketProvider } from '../../connections/object-store.js';
import { remoteFailure } from '../../connections/remote-failure.js';
import { serviceAddress } from '../../connections/service-address.js';
import { absentObject } from '../../storage/places.js';
import { GEOSERVICES } from '../remote/geoservices.js';
import type { GeoServicesSource } from '../remote/geoservices-source.js';
import { OBJECT, type ObjectSource } from '../remote/objects.js';
import { OGC_FEATURES, type OgcFeaturesSource } from '../remote/ogc-features.js';
import { WFS, type WfsSource } from '../remote/wfs.js';

/** Kind and input of the import job that copies a layer. */
export type CopySource =
  | { jobKind: typeof OGC_FEATURES; remote: OgcFeaturesSource }
  | { jobKind: typeof WFS; remote: WfsSource }
  | { jobKind: typeof GEOSERVICES; remote: GeoServicesSource }
  | { jobKind: typeof OBJECT; remote: ObjectSource };

/** Service of a layer, and the CRS in which the layer is stored. */
export interface CopyTarget {
  readonly srid: number;
  /** Default: the present service of the layer. */
  readonly service?: string | undefined;
  readonly disabled?: true;
}

export interface CopySourceDeps {
  readonly connections: Pick<Connections, 'service' | 'requestTo'>;
  readonly pools: Pick<Pools, 'run'>;
}

const REQUEST_MS = 120_000;
const PAGE = 1000;
const RETRIES = 3;
/** Maximum time for a complete collection, whose pages are read one after another. */
const COLLECTION_SECONDS = 86_400;

/** Kinds of services whose layers can be copied. Layers of other services are only listed. */
const COPIED: ReadonlySet<string> = new Set(['ogc-api-features', 'ogc-wfs', 'arcgis-geoservices-rest']);

/**
 * Finds the source of a copy. Throws `invalid-body` if it does not exist, and `unavailable` while the server does not
 * respond.
 */
export async function copySource(
  { connections, pools }: CopySourceDeps,
  connection: StoredConnection,
  { schema, table }: CopyChoice,
  place: CopyTarget,
): Promise<CopySource> {
  requireActiveConnection(connection);
  const provider = getConnectionProvider(connection.body);
  if (isBucketProvider(provider)) return objectSource(connection, { schema, table });
  if (!COPIED.has(provider))
    throw new ApiError(
      'invalid-request',
      `The layers of '${connection.body.name}' (${provider}) cannot be published, because they have no features.`,
    );
  const service = await connections.service(connection);
  const layer = findLayer(service.layers, { schema, table }, provider);
  const serviceUrl = serviceAddress(connection.body).href;
  const credentials = { connection: connection.id };
  if (provider === 'ogc-api-features') {
    const bounds = { maxFeatures: 0, maxPages: 1_000_000, timeoutSeconds: COLLECTION_SECONDS };
    const remote = { serviceUrl, collectionId: layer.name, pageSize: PAGE, ...bounds, credentials };
    return { jobKind: OGC_FEATURES, remote };
  }
  if (provider === 'ogc-wfs') {
    const request = await connections.requestTo(connection, REQUEST_MS);
    const { version, geoJson } = await pools.run('ingest.wfsPlan', request).catch((error: unknown) => {
      throw remoteFailure('table', error);
    });
    const title = (layer.title ?? layer.name).slice(0, 200);
    const type = { serviceUrl, version, typeName: layer.name, title, geoJson, srid: layer.srid };
    const reading = { pageSize: PAGE, requestMs: REQUEST_MS, maxRetries: RETRIES };
    return { jobKind: WFS, remote: { ...type, ...reading, credentials } };
  }
  const { srid: targetSrid, ...where } = place;
  const reading = { where: '1=1', maxRetries: RETRIES, requestMs: REQUEST_MS };
  // The connection may name one layer of the service.
  const { search } = new URL(serviceUrl);
  const layerOf = { serviceUrl: service.url + search, layerId: layer.layerId! };
  const remote = { ...layerOf, targetSrid, ...reading, ...where, credentials };
  return { jobKind: GEOSERVICES, remote };
}

/** Layers of GeoServices go by their numbers. */
export const getRemoteTableName = ({ name, layerId }: RemoteLayer): string =>
  layerId === undefined ? name : String(layerId);

function findLayer(
  layers: readonly RemoteLayer[],
  { schema, table }: CopyChoice,
  provider: SourceKind | string,
): RemoteLayer {
  const layer = schema === provider ? layers.find((one) => getRemoteTableName(one) === table) : undefined;
  if (!layer) throw absentLayer({ schema, table });
  return layer;
}

const absentLayer = ({ schema, table }: CopyChoice): ApiError =>
  wrong('table', `there is no layer '${table}' in '${schema}'`);

/** The error for a source that is missing, or does not exist for the caller. */
export function absentSource({ body }: StoredConnection, { schema, table }: CopyChoice): ApiError {
  return isBucketProvider(getConnectionProvider(body))
    ? absentObject({ bucket: schema, key: table })
    : absentLayer({ schema, table });
}

/** The source of an object. The copy itself checks whether the object exists. */
function objectSource({ id, body }: StoredConnection, { schema, table }: CopyChoice): CopySource {
  if (schema !== body.databaseName)
    absent('schema', `must be ${body.databaseName}, the bucket of the connection`);
  if (!isObjectKey(table)) absent('table', "must be a key without the parts '.' and '..'");
  const format = findObjectFormat(table);
  if (format?.isCopied !== true)
    absent('table', 'must be a FlatGeobuf, GeoParquet, GeoPackage or GeoJSON file');
  return { jobKind: OBJECT, remote: { connection: id, key: table } };
}

function absent(name: string, detail: string): never {
  throw wrong(name, detail);
}

const wrong = (name: string, detail: string): ApiError => badMember(`/${name}`, detail);
