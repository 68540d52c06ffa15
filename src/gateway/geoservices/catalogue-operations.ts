import { type VectorCollection, whole } from '../../core/catalog/collection.js';
import type { Operation, Principal } from '../../core/http/operation.js';
import { pathString } from '../../core/http/params.js';
import {
  listServiceLayers,
  requireLayer,
  requireVisibleService,
} from '../../services/replicas/layer-view.js';
import type { SurfaceDeps } from '../surface/common.js';
import { common, documentFormat, readingOperation, SERVER } from './features/feature-server.js';
import type { GeocodeDeps } from './geocoding/geocode-server.js';
import { imageServices } from './images/image-layers.js';
import { jsonReply } from './images/in-band.js';
import { CURRENT_VERSION, layerDocument, serviceDocument } from './layer-documents.js';
import { mapServices, serviceNames } from './maps/map-layers.js';
import { vectorTileServices } from './maps/vector-tile-server.js';
import { wholeNumber } from './members.js';
import { GP_SERVICE } from './processes/gp-server.js';
import { TOKEN_MINUTES, TOKEN_PATH } from './token-operations.js';

export interface CatalogueDeps extends Pick<SurfaceDeps, 'catalog' | 'visible' | 'access'>, GeocodeDeps {
  /** Layers that the principal may read on maps. */
  visibleMaps: SurfaceDeps['visible'];
  visibleImages: SurfaceDeps['visible'];
  visibleVectorTiles: SurfaceDeps['visible'];
}

const ROOT = '/rest/services';
const UTILITIES = 'Utilities';
export const GEOMETRY_SERVICE = { name: `${UTILITIES}/Geometry`, type: 'GeometryServer' };
const serviceId = pathString('serviceId', 'Name of a service.');
const layerId = pathString('layerId', 'Number of a layer.');

const about = (verb: string) => common('FeatureServer', verb);

/** Operations that describe the server, its services and their layers. */
export function catalogueOperations(deps: CatalogueDeps): Operation[] {
  return [
    ...readingOperation({
      about: about('info'),
      name: 'info',
      path: '/rest/info',
      pathParams: {},
      params: {},
      summary: 'About the server',
      run: (x, _path, members) => jsonReply(infoDocument(x.baseUrl), documentFormat(members)),
    }),
    ...readingOperation({
      about: about('services'),
      name: 'services',
      path: ROOT,
      pathParams: {},
      params: {},
      summary: 'Services',
      async run(x, _path, members) {
        const services = await servicesFor(deps, x.principal);
        const document = { currentVersion: CURRENT_VERSION, folders: [UTILITIES], services };
        return jsonReply(document, documentFormat(members));
      },
    }),
    ...readingOperation({
      about: about('services'),
      name: 'utilities',
      path: `${ROOT}/${UTILITIES}`,
      pathParams: {},
      params: {},
      summary: 'Services of the folder of utilities',
      run: (_x, _path, members) =>
        jsonReply(
          { currentVersion: CURRENT_VERSION, folders: [], services: [GEOMETRY_SERVICE] },
          documentFormat(members),
        ),
    }),
    ...readingOperation({
      about: about('service'),
      name: 'service',
      path: `${ROOT}/{serviceId}/${SERVER}`,
      pathParams: { serviceId },
      params: {},
      summary: 'A feature service',
      run(x, path, members) {
        const name = path['serviceId']!;
        requireVisibleService(deps, x.principal, name);
        const layers = listServiceLayers(deps, x.principal, name);
        return jsonReply(
          serviceDocument(
            name,
            layers,
            layers.some((one) => isEditable(deps, x.principal, one)),
          ),
          documentFormat(members),
        );
      },
    }),
    ...readingOperation({
      about: about('layers'),
      name: 'layers',
      path: `${ROOT}/{serviceId}/${SERVER}/layers`,
      pathParams: { serviceId },
      params: {},
      summary: 'All layers of a feature service',
      run(x, path, members) {
        const name = path['serviceId']!;
        requireVisibleService(deps, x.principal, name);
        const documents = listServiceLayers(deps, x.principal, name).map((one) =>
          buildDocument(deps, x.principal, one),
        );
        const layers = documents.filter(({ type }) => type !== 'Table');
        const tables = documents.filter(({ type }) => type === 'Table');
        return jsonReply({ layers, tables }, documentFormat(members));
      },
    }),
    ...readingOperation({
      about: about('layer'),
      name: 'layer',
      path: `${ROOT}/{serviceId}/${SERVER}/{layerId}`,
      pathParams: { serviceId, layerId },
      params: {},
      summary: 'A layer of a feature service',
      run(x, path, members) {
        const service = path['serviceId']!;
        const id = wholeNumber('layerId', path['layerId']);
        const layer = requireLayer(deps, x.principal, { service, layerId: id, parameter: 'layerId' });
        const document = buildDocument(deps, x.principal, layer);
        return jsonReply(document, documentFormat(members));
      },
    }),
  ];
}

/** Data that a client needs for signing in. */
export const infoDocument = (baseUrl: string) => ({
  currentVersion: CURRENT_VERSION,
  owningSystemUrl: baseUrl,
  authInfo: {
    isTokenBasedSecurity: true,
    tokenServicesUrl: `${baseUrl}${TOKEN_PATH}`,
    shortLivedTokenValidity: TOKEN_MINUTES,
  },
});

export interface ServiceEntry {
  readonly name: string;
  /** Type of the server. */
  readonly type: string;
}

/** Services that a principal may read something of. */
export async function servicesFor(deps: CatalogueDeps, principal: Principal): Promise<ServiceEntry[]> {
  const listEntries = (type: string, names: readonly string[]) => names.map((name) => ({ name, type }));
  return [
    ...listEntries(SERVER, listServices(deps, principal)),
    ...listEntries('MapServer', mapServices(deps.visibleMaps(principal))),
    ...listEntries('ImageServer', imageServices(deps.visibleImages(principal))),
    ...listEntries('VectorTileServer', vectorTileServices(deps.visibleVectorTiles(principal))),
    ...listEntries('GeocodeServer', await deps.geocoding.names(principal)),
    ...listEntries('GPServer', [GP_SERVICE]),
  ];
}

/** Names of services that have a layer for this principal. */
function listServices(deps: CatalogueDeps, principal: Principal): string[] {
  const names = serviceNames(deps.visible(principal).vectors);
  return names.filter((name) => listServiceLayers(deps, principal, name).length > 0);
}

function buildDocument(deps: CatalogueDeps, principal: Principal, layer: VectorCollection) {
  return layerDocument(layer, deps.visible(principal), isEditable(deps, principal, layer));
}

/** Whether this principal may change features of a layer. */
function isEditable({ access }: CatalogueDeps, principal: Principal, layer: VectorCollection): boolean {
  return whole(layer).source.writable && access(principal, layer, 'write').allowed;
}
