import { PNG_FORMAT } from '../../../core/http/media.js';
import type { Exchange, Operation } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { isMade } from '../../../services/tiles/formats.js';
import type { TilesDeps } from '../../surface/tile-reply.js';

import { featureOperations } from '../features/feature-resource.js';
import { common, documentFormat, readingOperation } from '../features/feature-server.js';
import { layerQueryOperations } from '../features/query-operations.js';
import { jsonReply } from '../images/in-band.js';
import { wholeNumber } from '../members.js';
import { wmsOperation } from '../ogc/wms-server.js';
import { wmtsOperations } from '../ogc/wmts-server.js';
import { rendererOperations } from './generate-renderer.js';
import { mapLayerDocument, mapServiceDocument } from './map-documents.js';
import { exportOperations } from './map-export.js';
import { createFindOperations } from './map-find.js';
import { identifyOperations } from './map-identify.js';
import { kmlOperations } from './map-kml.js';
import { listMapLayers, type MapDeps, requireMapLayer } from './map-layers.js';
import { createLegendDocument } from './map-legend.js';
import { type ServiceTiles, tileOperation } from './map-tiles.js';

const SERVER = 'MapServer';
const PATH = `/rest/services/{serviceId}/${SERVER}`;
const serviceId = pathString('serviceId', 'Name of a service.');
const layerId = pathString('layerId', 'Number of a layer.');

const about = (verb: string) => common(SERVER, verb, SERVER);

/** Maps of services: documents, images, tiles, legends, and their features. */
export function mapServerOperations(deps: TilesDeps): Operation[] {
  const tiles: Pick<ServiceTiles, 'format' | 'layersOf'> = {
    format: PNG_FORMAT,
    layersOf: (principal, id) => listMapLayers(deps, principal, id).filter(isMade).reverse(),
  };
  return [
    ...documentOperations(deps),
    ...exportOperations(deps),
    ...identifyOperations(deps),
    ...createFindOperations(deps),
    ...layerQueryOperations(deps, SERVER),
    ...featureOperations(deps, SERVER),
    ...rendererOperations(deps, SERVER),
    ...kmlOperations(deps),
    wmsOperation(deps),
    tileOperation(deps, { id: 'tileMapServer', server: SERVER, ...tiles }),
    ...wmtsOperations(deps, tiles),
  ];
}

function documentOperations(deps: MapDeps): Operation[] {
  const listLayers = (x: Exchange, path: Readonly<Record<string, string>>) =>
    listMapLayers(deps, x.principal, path['serviceId']!);
  return [
    ...readingOperation({
      about: about('service'),
      name: 'mapService',
      path: PATH,
      pathParams: { serviceId },
      params: {},
      summary: 'A map service',
      run: (x, path, members) =>
        jsonReply(mapServiceDocument(path['serviceId']!, listLayers(x, path)), documentFormat(members)),
    }),
    ...readingOperation({
      about: about('layers'),
      name: 'mapLayers',
      path: `${PATH}/layers`,
      pathParams: { serviceId },
      params: {},
      summary: 'All layers of a map service',
      run(x, path, members) {
        const layers = listLayers(x, path).map((one) => mapLayerDocument(one, deps.visible(x.principal)));
        return jsonReply({ layers, tables: [] }, documentFormat(members));
      },
    }),
    ...readingOperation({
      about: about('legend'),
      name: 'mapLegend',
      path: `${PATH}/legend`,
      pathParams: { serviceId },
      params: {},
      summary: 'Legend of a map service',
      async run(x, path, members) {
        const layers = [];
        for (const layer of listLayers(x, path)) layers.push(await createLegendDocument(x, deps, layer));
        return jsonReply({ layers }, documentFormat(members));
      },
    }),
    ...readingOperation({
      about: about('layer'),
      name: 'mapLayer',
      path: `${PATH}/{layerId}`,
      pathParams: { serviceId, layerId },
      params: {},
      summary: 'A layer of a map service',
      run(x, path, members) {
        const layer = requireMapLayer(
          listLayers(x, path),
          wholeNumber('layerId', path['layerId']),
          deps.visible(x.principal),
        );
        return jsonReply(mapLayerDocument(layer, deps.visible(x.principal)), documentFormat(members));
      },
    }),
  ];
}
