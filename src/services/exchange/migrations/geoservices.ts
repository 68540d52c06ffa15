import { TaskFailure } from '../../../core/errors/failure.js';
import type { RemoteLayer, RemoteRequest, RemoteService } from '../../../core/exchange/ingest.js';
import { EXCHANGE_LIMITS } from '../../../core/exchange/limits.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import { servicePath } from '../../geoservices/service-path.js';
import {
  type Compatibility,
  compatible,
  type InventoryContainer,
  type InventoryResource,
  incompatible,
  type Scan,
} from './inventory.js';

const READABLE = /\/(?:Feature|Map)Server$/i;

/**
 * Reads a GeoServices REST service, or all FeatureServers and MapServers of a catalog. `timeoutMs` limits the
 * complete reading.
 */
export async function scanGeoServices(
  request: RemoteRequest,
  pools: Pick<Pools, 'run'>,
  signal: AbortSignal,
): Promise<Scan> {
  const end = Date.now() + request.timeoutMs;
  const services: RemoteService[] = [];
  const gaps: { path: string; reason: string }[] = [];
  const entries = await listServices(request, pools, signal);
  for (const [i, service] of entries.entries()) {
    const readable = READABLE.test(service.url);
    if (!readable || i >= EXCHANGE_LIMITS.remoteFolders) {
      services.push(service);
      if (readable)
        gaps.push({ path: service.url, reason: `Only ${EXCHANGE_LIMITS.remoteFolders} services are read.` });
      continue;
    }
    const timeoutMs = end - Date.now();
    if (timeoutMs <= 0) throw new TaskFailure('deadline-exceeded', 'The catalog was not read in time.');
    try {
      const task = { ...request, url: service.url, timeoutMs };
      services.push(await pools.run('ingest.geoservices', task, { signal }));
    } catch (error) {
      // A catalog can list stopped services, but the service that the request names must respond.
      const isGap = error instanceof TaskFailure && /^(source-unreadable|too-large)$/.test(error.code);
      if (!isGap || entries.length === 1) throw error;
      services.push(service);
      gaps.push({ path: service.url, reason: error.message });
    }
  }
  return buildScan(request.url, services, gaps);
}

async function listServices(
  request: RemoteRequest,
  pools: Pick<Pools, 'run'>,
  signal: AbortSignal,
): Promise<readonly RemoteService[]> {
  const url = new URL(request.url);
  const service = servicePath(url.pathname);
  if (service !== undefined) {
    url.pathname = service;
    url.search = '';
    const name = service.replace(/^.*\/rest\/services\//i, '').replace(/\/\w+$/, '');
    return [{ kind: 'arcgis-geoservices-rest', name, url: url.href, layers: [] }];
  }
  const { services } = await pools.run('ingest.discover', request, { signal });
  const own = services.filter(({ kind }) => kind === 'arcgis-geoservices-rest');
  if (own.length === 0 && services.length > 0)
    throw new TaskFailure('source-unreadable', 'It is not a catalog of GeoServices REST.');
  return own;
}

function buildScan(
  address: string,
  services: readonly RemoteService[],
  gaps: readonly { path: string; reason: string }[],
): Scan {
  const { origin, pathname, host } = new URL(address);
  return {
    sourceKind: 'arcgis-geoservices-rest',
    source: {
      baseUrl: origin + pathname.replace(/\/$/, ''),
      displayName: services.length === 1 ? services[0]!.name : host,
      product: 'GeoServices REST',
      version: null,
      build: null,
      serviceType: services.length === 1 ? services[0]!.url.replace(/^.*\//, '') : 'Catalog',
    },
    containers: services.map(buildContainer),
    resources: services.flatMap((service) => service.layers.map((layer) => buildResource(service, layer))),
    styles: [],
    externalDependencies: [],
    warnings: gaps.map(({ path, reason }) => `${path}: ${reason}`),
    missingArtifacts: gaps.map(({ path }) => path),
  };
}

function buildContainer({ url, name, description }: RemoteService): InventoryContainer {
  const kind = url.replace(/^.*\//, '');
  const compatibility = READABLE.test(url)
    ? compatible('Its layers are taken over one by one.')
    : incompatible('service-type', `Services of the type ${kind.slice(0, 40)} are not read.`);
  return {
    id: url,
    kind,
    name,
    title: null,
    description: description ?? null,
    isDefault: null,
    compatibility,
  };
}

function buildResource({ url }: RemoteService, layer: RemoteLayer): InventoryResource {
  const { srid } = layer;
  return {
    id: `${url}/${layer.layerId}`,
    containerId: url,
    kind: layer.layerType ?? 'layer',
    name: layer.name,
    title: layer.title ?? null,
    description: layer.description ?? null,
    geometryType: layer.geometryType ?? null,
    featureCount: layer.featureCount ?? null,
    hasAttachments: layer.hasAttachments ?? null,
    capabilities: layer.featureCount === undefined ? [] : ['features'],
    fields: (layer.fields ?? []).map(({ name, type, alias, nullable }) => ({
      name,
      fieldType: type ?? 'unknown',
      alias: alias ?? null,
      nullable: nullable ?? null,
      domainType: null,
      domainName: null,
      domainValues: [],
    })),
    spatialReferences:
      srid === undefined
        ? []
        : [
            {
              role: 'storage',
              sourceValue: String(srid),
              srid,
              crsUri: `http://www.opengis.net/def/crs/EPSG/0/${srid}`,
            },
          ],
    styleIds: [],
    externalDependencyIds: [],
    compatibility: assess(layer),
  };
}

function assess({ layerType, geometryType, featureCount, hasAttachments }: RemoteLayer): Compatibility {
  const isTable = layerType === 'Table';
  if (!isTable && layerType !== 'Feature Layer')
    return incompatible(
      'layer-type',
      `It is a ${layerType ?? 'layer of an unknown type'}, which has no features.`,
    );
  if (geometryType === 'esriGeometryMultiPatch')
    return incompatible('multipatch', 'Its geometries are bodies, which are not read.');
  if (featureCount === undefined) return incompatible('no-query', 'The layer cannot be queried.');
  const rows = isTable
    ? 'rows become a collection of features without geometries'
    : 'features become a collection';
  return compatible(`Its ${rows}${hasAttachments ? ', with their attachments' : ''}.`);
}
