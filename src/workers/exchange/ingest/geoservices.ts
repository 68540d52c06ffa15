import { TaskFailure } from '../../../core/errors/failure.js';
import type { RemoteLayer, RemoteRequest, RemoteService } from '../../../core/exchange/ingest.js';
import { EXCHANGE_LIMITS } from '../../../core/exchange/limits.js';
import { parseGeoService, parseServiceLayer } from './discover/geoservices.js';
import { requireNoError, wellAnswered } from './discover/index.js';
import { get, type RemoteAccess } from './http.js';
import { parseObject, type RemoteJson, readJsonInteger } from './json.js';

/** Resources of a service, by their paths below it. */
type Read = (path: string, parameters?: Readonly<Record<string, string>>) => Promise<RemoteJson>;

/**
 * Task `ingest.geoservices`: returns a service with the resources of its layers and their feature counts. `timeoutMs`
 * is for all requests together. Fails like `get`, and with `source-unreadable` for other documents.
 */
export async function describeService(request: RemoteRequest, asking: RemoteAccess): Promise<RemoteService> {
  const read = parseReader(request, asking);
  const resource = await read('');
  if (!Array.isArray(resource['layers']))
    throw new TaskFailure('source-unreadable', 'It is not a service with layers.');
  const url = new URL(request.url);
  url.search = '';
  const service = parseGeoService(url.href, resource);
  if (service.layers.length > EXCHANGE_LIMITS.remoteFolders)
    throw new TaskFailure('too-large', `The service has more than ${EXCHANGE_LIMITS.remoteFolders} layers.`);
  const layers: RemoteLayer[] = [];
  for (const entry of service.layers) layers.push(await layerByResource(entry, service.srid, read));
  return { ...service, layers };
}

function parseReader(request: RemoteRequest, asking: RemoteAccess): Read {
  const end = Date.now() + request.timeoutMs;
  return async (path, parameters = {}) => {
    const url = new URL(request.url);
    url.pathname += path;
    for (const [name, value] of Object.entries({ ...parameters, f: 'json' }))
      url.searchParams.set(name, value);
    const timeoutMs = end - Date.now();
    if (timeoutMs <= 0)
      throw new TaskFailure('deadline-exceeded', `${url.host} did not respond in time. Retry later.`);
    const headers = { accept: 'application/json', ...request.headers };
    const answer = await get({ ...request, url: url.href, timeoutMs, headers }, asking);
    const document = parseObject(wellAnswered(answer, url.href).bytes);
    requireNoError(document);
    return document;
  };
}

/** Returns a layer from its own resource, with its feature count. Group layers and raster layers have no features. */
async function layerByResource(
  entry: RemoteLayer,
  srid: number | undefined,
  read: Read,
): Promise<RemoteLayer> {
  const path = `/${entry.layerId}`;
  const [own = entry] = parseServiceLayer(await read(path), srid);
  const isOfFeatures = own.layerType === 'Feature Layer' || own.layerType === 'Table';
  if (!isOfFeatures) return own;
  const featureCount = await fetchCount(path, read);
  return featureCount === undefined ? own : { ...own, featureCount };
}

/** Undefined for a layer that cannot be queried. */
async function fetchCount(path: string, read: Read): Promise<number | undefined> {
  try {
    const { count } = await read(`${path}/query`, { where: '1=1', returnCountOnly: 'true' });
    return readJsonInteger(count);
  } catch (error) {
    if (error instanceof TaskFailure && error.code === 'source-unreadable') return undefined;
    throw error;
  }
}
