import { PNG_FORMAT } from '../../../core/media.js';
import {
  defineOperation,
  type Exchange,
  memoOf,
  type Operation,
  type Reply,
} from '../../../core/operation.js';
import { pathInteger, pathString } from '../../../core/params.js';
import { LEGEND_ZOOM, legendEntries } from '../../../core/style/legend/entries.js';
import { WEB_MERCATOR_QUAD } from '../../../core/tile-matrix.js';
import { SYMBOL, symbolPngs } from '../../../services/legend.js';
import { isMade } from '../../../services/tiles/formats.js';
import type { TilesDeps } from '../tiles/params.js';
import { planTile, replyWithTile, type TilePlan, tileAddress } from '../tiles/tile.js';
import { requestOf } from '../tiles/tile-operations.js';
import { common, documentFormat, readingOperation } from './feature-server.js';
import { inBandFailure, jsonReply } from './in-band.js';
import { mapLayerDocument, mapLayerType, mapServiceDocument } from './map-documents.js';
import { exportOperations } from './map-export.js';
import { findOperations } from './map-find.js';
import { identifyOperations } from './map-identify.js';
import { type DrawnLayer, type MapDeps, mapLayers, requireMapLayer } from './map-layers.js';
import { wholeNumber } from './members.js';
import { layerQueryOperations } from './query-operations.js';

const SERVER = 'MapServer';
const PATH = `/rest/services/{serviceId}/${SERVER}`;
const serviceId = pathString('serviceId', 'Name of a service.');
const layerId = pathString('layerId', 'Number of a layer.');

const about = (verb: string) => common(SERVER, verb, SERVER);

/** Maps of services: their documents, pictures, tiles, legends, and what lies in them. */
export function mapServerOperations(deps: TilesDeps): Operation[] {
  return [
    ...documentOperations(deps),
    ...exportOperations(deps),
    ...identifyOperations(deps),
    ...findOperations(deps),
    ...layerQueryOperations(deps, SERVER),
    tileOperation(deps),
  ];
}

function documentOperations(deps: MapDeps): Operation[] {
  const layersOf = (x: Exchange, path: Readonly<Record<string, string>>) =>
    mapLayers(deps, x.principal, path['serviceId']!);
  return [
    ...readingOperation({
      ...{ about: about('service'), name: 'mapService', path: PATH, pathParams: { serviceId }, params: {} },
      summary: 'A map service',
      run: (x, path, members) =>
        jsonReply(mapServiceDocument(path['serviceId']!, layersOf(x, path)), documentFormat(members)),
    }),
    ...readingOperation({
      ...{ about: about('layers'), name: 'mapLayers', path: `${PATH}/layers` },
      ...{ pathParams: { serviceId }, params: {} },
      summary: 'All layers of a map service',
      run(x, path, members) {
        const layers = layersOf(x, path).map((one) => mapLayerDocument(one, deps.visible(x.principal)));
        return jsonReply({ layers, tables: [] }, documentFormat(members));
      },
    }),
    ...readingOperation({
      ...{ about: about('legend'), name: 'mapLegend', path: `${PATH}/legend` },
      ...{ pathParams: { serviceId }, params: {} },
      summary: 'Legend of a map service',
      async run(x, path, members) {
        const layers = await Promise.all(layersOf(x, path).map((one) => legendOf(x, deps, one)));
        return jsonReply({ layers }, documentFormat(members));
      },
    }),
    ...readingOperation({
      ...{ about: about('layer'), name: 'mapLayer', path: `${PATH}/{layerId}` },
      ...{ pathParams: { serviceId, layerId }, params: {} },
      summary: 'A layer of a map service',
      run(x, path, members) {
        const layer = requireMapLayer(layersOf(x, path), wholeNumber('layerId', path['layerId']));
        return jsonReply(mapLayerDocument(layer, deps.visible(x.principal)), documentFormat(members));
      },
    }),
  ];
}

async function legendOf(x: Exchange, { pools }: MapDeps, layer: DrawnLayer) {
  const entries = legendEntries(layer);
  const pictures = await symbolPngs(x, pools, entries, LEGEND_ZOOM);
  return {
    layerId: layer.layerId,
    layerName: layer.title,
    layerType: mapLayerType(layer),
    ...{ minScale: 0, maxScale: 0 },
    legend: entries.map(({ label }, i) => ({
      label,
      url: `${layer.layerId}-${i}`,
      imageData: Buffer.from(pictures[i] ?? []).toString('base64'),
      ...{ contentType: PNG_FORMAT.mediaType, height: SYMBOL, width: SYMBOL },
    })),
  };
}

/** Tiles of all layers of a service, in WebMercatorQuad; they are cached as others are. */
function tileOperation(deps: TilesDeps): Operation {
  return defineOperation({
    ...{ surface: 'geoservices', protocol: SERVER, permission: 'public', method: 'GET', tag: SERVER },
    id: 'geoservices.mapTile',
    path: `${PATH}/tile/{level}/{row}/{column}`,
    summary: 'A tile of a map service',
    params: {
      serviceId,
      level: pathInteger('level', 'Zoom level.'),
      row: pathInteger('row', 'Row, 0 at the top.'),
      column: pathInteger('column', 'Column.'),
    },
    openQuery: true,
    responses: { 200: { description: 'The tile', content: { [PNG_FORMAT.mediaType]: null } } },
    failure: inBandFailure(SERVER, 'tile'),
    memo: memoOf<TilePlan>(),
    run(x): Reply | Promise<Reply> {
      const plan = planTile(
        x,
        deps.visible(x.principal),
        () => {
          const { level, row, column } = x.params;
          const at = tileAddress(WEB_MERCATOR_QUAD, String(level), row, column);
          const layers = mapLayers(deps, x.principal, x.params.serviceId).filter(isMade).reverse();
          return requestOf(layers, at, PNG_FORMAT, NOTHING);
        },
        { negotiated: false, limited: false },
      );
      return replyWithTile(x, deps, plan);
    },
  });
}

const NOTHING = {
  ...{ datetime: undefined, subset: undefined, filter: undefined, filterLang: 'cql2-text' as const },
  ...{ filterCrs: undefined, properties: undefined },
};
