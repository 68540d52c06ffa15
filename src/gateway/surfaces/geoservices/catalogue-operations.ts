import { type VectorCollection, whole } from '../../../core/collection.js';
import type { Operation, Principal } from '../../../core/operation.js';
import { pathString } from '../../../core/params.js';
import { layersOf, requireLayer, requireService } from '../../../services/replicas/layer-view.js';
import type { SurfaceDeps } from '../common.js';
import { common, documentFormat, readingOperation, SERVER } from './feature-server.js';
import { imageServices } from './image-layers.js';
import { jsonReply } from './in-band.js';
import { CURRENT_VERSION, layerDocument, serviceDocument } from './layer-documents.js';
import { mapServices, serviceNames } from './map-layers.js';
import { wholeNumber } from './members.js';
import { vectorTileServices } from './vector-tile-server.js';

export interface CatalogueDeps extends Pick<SurfaceDeps, 'catalog' | 'visible' | 'access'> {
  /** What the principal may read on maps. */
  visibleMaps: SurfaceDeps['visible'];
  visibleImages: SurfaceDeps['visible'];
  visibleVectorTiles: SurfaceDeps['visible'];
}

const ROOT = '/rest/services';
const serviceId = pathString('serviceId', 'Name of a service.');
const layerId = pathString('layerId', 'Number of a layer.');

const about = (verb: string) => common('FeatureServer', verb);

/** What there is: the server, its services, their layers. */
export function catalogueOperations(deps: CatalogueDeps): Operation[] {
  return [
    ...readingOperation({
      ...{ about: about('info'), name: 'info', path: '/rest/info', pathParams: {}, params: {} },
      summary: 'About the server',
      run: (_x, _path, members) =>
        jsonReply(
          { currentVersion: CURRENT_VERSION, authInfo: { isTokenBasedSecurity: false } },
          documentFormat(members),
        ),
    }),
    ...readingOperation({
      ...{ about: about('services'), name: 'services', path: ROOT, pathParams: {}, params: {} },
      summary: 'Services',
      run(x, _path, members) {
        const maps = mapServices(deps.visibleMaps(x.principal));
        const services = [
          ...servicesOf(deps, x.principal).map((name) => ({ name, type: SERVER })),
          ...maps.map((name) => ({ name, type: 'MapServer' })),
          ...imageServices(deps.visibleImages(x.principal)).map((name) => ({ name, type: 'ImageServer' })),
          ...vectorTileServices(deps.visibleVectorTiles(x.principal)).map((name) => ({
            ...{ name, type: 'VectorTileServer' },
          })),
        ];
        return jsonReply(
          { currentVersion: CURRENT_VERSION, folders: ['Utilities'], services },
          documentFormat(members),
        );
      },
    }),
    ...readingOperation({
      ...{
        about: about('services'),
        name: 'utilities',
        path: `${ROOT}/Utilities`,
        pathParams: {},
        params: {},
      },
      summary: 'Services of the folder Utilities',
      run: (_x, _path, members) =>
        jsonReply(
          {
            ...{ currentVersion: CURRENT_VERSION, folders: [] },
            services: [{ name: 'Utilities/Geometry', type: 'GeometryServer' }],
          },
          documentFormat(members),
        ),
    }),
    ...readingOperation({
      ...{ about: about('service'), name: 'service', path: `${ROOT}/{serviceId}/${SERVER}` },
      ...{ pathParams: { serviceId }, params: {} },
      summary: 'A feature service',
      run(x, path, members) {
        const name = path['serviceId']!;
        requireService(deps, x.principal, name);
        const layers = layersOf(deps, x.principal, name);
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
      ...{ about: about('layers'), name: 'layers', path: `${ROOT}/{serviceId}/${SERVER}/layers` },
      ...{ pathParams: { serviceId }, params: {} },
      summary: 'All layers of a feature service',
      run(x, path, members) {
        const name = path['serviceId']!;
        requireService(deps, x.principal, name);
        const documents = layersOf(deps, x.principal, name).map((one) => documentOf(deps, x.principal, one));
        const layers = documents.filter(({ type }) => type !== 'Table');
        const tables = documents.filter(({ type }) => type === 'Table');
        return jsonReply({ layers, tables }, documentFormat(members));
      },
    }),
    ...readingOperation({
      ...{ about: about('layer'), name: 'layer', path: `${ROOT}/{serviceId}/${SERVER}/{layerId}` },
      ...{ pathParams: { serviceId, layerId }, params: {} },
      summary: 'A layer of a feature service',
      run(x, path, members) {
        const service = path['serviceId']!;
        const id = wholeNumber('layerId', path['layerId']);
        const layer = requireLayer(deps, x.principal, { service, layerId: id, parameter: 'layerId' });
        const document = documentOf(deps, x.principal, layer);
        return jsonReply(document, documentFormat(members));
      },
    }),
  ];
}

/** Names of services that have a layer for this principal. */
function servicesOf(deps: CatalogueDeps, principal: Principal): string[] {
  const names = serviceNames(deps.visible(principal).vectors);
  return names.filter((name) => layersOf(deps, principal, name).length > 0);
}

function documentOf(deps: CatalogueDeps, principal: Principal, layer: VectorCollection) {
  return layerDocument(layer, deps.visible(principal), isEditable(deps, principal, layer));
}

/** Whether this principal may change features of a layer. */
function isEditable({ access }: CatalogueDeps, principal: Principal, layer: VectorCollection): boolean {
  return whole(layer).source.writable && access(principal, layer, 'write').allowed;
}
