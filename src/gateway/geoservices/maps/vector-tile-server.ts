import type { CatalogSnapshot, VectorCollection } from '../../../core/catalog/collection.js';
import { MVT_FORMAT } from '../../../core/http/media.js';
import type { Operation, Principal } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { WEB_MERCATOR } from '../../../core/tiles/tile-matrix.js';
import { isInService, requireVisibleService } from '../../../services/replicas/layer-view.js';
import { datasetStyle } from '../../../services/styles/client-style.js';
import type { Symbols } from '../../../services/styles/symbols.js';
import { symbolOperations } from '../../surface/symbols.js';
import type { TilesDeps } from '../../surface/tile-reply.js';

import { common, documentFormat, readingOperation } from '../features/feature-server.js';
import { createErrorReply, jsonReply, withHttpStatus } from '../images/in-band.js';
import { CURRENT_VERSION, createSpatialReference, extentIn } from '../layer-documents.js';
import { serviceNames, topFirst } from './map-layers.js';
import { tileOperation } from './map-tiles.js';
import { tileInfo } from './tile-info.js';

const SERVER = 'VectorTileServer';
const PATH = `/rest/services/{serviceId}/${SERVER}`;
const serviceId = pathString('serviceId', 'Name of a service.');
const about = (verb: string) => common(SERVER, verb, SERVER);

/** Pixels of a side of a vector tile to Esri's clients, as to MapLibre. */
const SIDE = 512;
const SPRITE = 'sprite';

export interface VectorTileDeps extends TilesDeps {
  readonly symbols: Symbols;
}

/** Vector tiles of services: style, symbols and tiles, at the paths that Esri clients expect. */
export function vectorTileServerOperations(deps: VectorTileDeps): Operation[] {
  const style = (path: string, name: string) =>
    readingOperation({
      about: about('styles'),
      name,
      path: `${PATH}/${path}`,
      pathParams: { serviceId },
      params: {},
      summary: 'Style of a vector tile service',
      run: (x, { serviceId: service }, members) =>
        jsonReply(buildStyle(listLayers(deps, x.principal, service!)), documentFormat(members)),
    });
  return [
    ...readingOperation({
      about: about('service'),
      name: 'vectorTileService',
      path: PATH,
      pathParams: { serviceId },
      params: {},
      summary: 'A vector tile service',
      run: (x, { serviceId: service }, members) =>
        jsonReply(
          serviceDocument(service!, listLayers(deps, x.principal, service!)),
          documentFormat(members),
        ),
    }),
    ...style('resources/styles', 'vectorTileStyles'),
    ...style('resources/styles/root.json', 'vectorTileStyle'),
    ...symbolOperations(deps.symbols, {
      about: {
        surface: 'geoservices',
        protocol: SERVER,
        permission: 'public',
        method: 'GET',
        tag: SERVER,
        openQuery: true,
        failure: withHttpStatus(createErrorReply(SERVER, 'resources')),
      },
      ids: 'geoservices',
      path: `${PATH}/resources`,
      params: { serviceId },
      sprite: SPRITE,
      require: (x) => requireVisibleService(deps, x.principal, (x.params as { serviceId: string }).serviceId),
    }),
    tileOperation(deps, {
      id: 'vectorTile',
      server: SERVER,
      format: MVT_FORMAT,
      ending: '.pbf',
      layersOf: (principal, id) => listLayers(deps, principal, id),
    }),
  ];
}

/** Names of services that have vector tiles. */
export function vectorTileServices({ vectors }: CatalogSnapshot): string[] {
  return serviceNames(vectors);
}

/** Throws 404 for a service that does not exist for this principal, 401. */
function listLayers(deps: TilesDeps, principal: Principal, service: string): VectorCollection[] {
  requireVisibleService(deps, principal, service);
  return deps
    .visible(principal)
    .vectors.filter((one) => isInService(one, service))
    .slice(0, LIMITS.collectionsPerRequest);
}

function serviceDocument(name: string, layers: readonly VectorCollection[]) {
  const extent = extentIn(layers, WEB_MERCATOR);
  const info = tileInfo('pbf', SIDE);
  const scales = info.lods.map(({ scale }) => scale);
  return {
    currentVersion: CURRENT_VERSION,
    name,
    type: 'indexedVector',
    copyrightText: '',
    capabilities: 'TilesOnly',
    tiles: ['tile/{z}/{y}/{x}.pbf'],
    defaultStyles: 'resources/styles',
    spatialReference: createSpatialReference(WEB_MERCATOR),
    initialExtent: extent,
    fullExtent: extent,
    minScale: scales[0],
    maxScale: scales.at(-1),
    minLOD: 0,
    maxLOD: scales.length - 1,
    tileInfo: info,
    maxzoom: scales.length - 1,
    exportTilesAllowed: false,
    resourceInfo: { styleVersion: 8, tileCompression: 'gzip' },
  };
}

/** One MapLibre style in the order of the MapServer, bottom first, whose addresses are relative to its own. */
function buildStyle(layers: readonly VectorCollection[]) {
  const { layers: drawn } = datasetStyle(topFirst(layers).reverse(), '');
  return {
    version: 8,
    sources: { esri: { type: 'vector', url: '../../' } },
    sprite: `../sprites/${SPRITE}`,
    glyphs: '../fonts/{fontstack}/{range}.pbf',
    layers: drawn.map((layer) => ('source' in layer ? { ...layer, source: 'esri' } : layer)),
  };
}
