import { badParameter } from '../../../core/errors/errors.js';
import { PNG_FORMAT } from '../../../core/http/media.js';
import {
  declareMemo,
  defineOperation,
  type Exchange,
  type Operation,
  type Params,
  type Reply,
} from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import type { TilePlan } from '../../../services/tiles/plan.js';
import type { TilesDeps } from '../../surface/tile-reply.js';

import { listMapLayers } from '../maps/map-layers.js';
import { type ServiceTiles, serviceTile } from '../maps/map-tiles.js';
import type { Members } from '../members.js';
import { parseOgcParameters, xmlFailure, xmlReply } from './ogc-requests.js';
import {
  negotiateVersion,
  owsError,
  readSections,
  requireOperation,
  requireText,
  requireValue,
} from './ows.js';
import {
  MATRIX_SET,
  STYLE,
  WMTS_OPERATIONS,
  WMTS_SECTIONS,
  WMTS_VERSION,
  wmtsCapabilities,
  wmtsException,
} from './wmts-capabilities.js';

const MAP = '/rest/services/{serviceId}/MapServer';

const serviceId = pathString('serviceId', 'Name of a service.');

const BASICS = {
  ...({ surface: 'geoservices', protocol: 'MapServer', permission: 'public', method: 'GET' } as const),
  tag: 'MapServer',
  openQuery: true,
  takesToken: true,
  failure: xmlFailure('MapServer', 'wmts', wmtsException),
} as const;

/** Tiles of map services as WMTS 1.0.0, by pairs and as resources. */
export function wmtsOperations(
  deps: TilesDeps,
  tiles: Pick<ServiceTiles, 'format' | 'layersOf'>,
): Operation[] {
  const capabilities = (x: Exchange, name: string, pairs: Members) => {
    const layers = listMapLayers(deps, x.principal, name);
    const address = `${x.baseUrl}${x.path.slice(0, x.path.indexOf('/WMTS'))}/WMTS`;
    return xmlReply(wmtsCapabilities({ name, address, layers }, readSections(pairs, WMTS_SECTIONS)));
  };
  const tile = (x: Exchange<Params, unknown, TilePlan>, service: string, pairs: Members) => {
    requireLayer(pairs, service);
    const matrix = requireText(pairs, 'TileMatrix');
    const [row, column] = [readIndex(pairs, 'TileRow'), readIndex(pairs, 'TileCol')];
    return serviceTile(x, deps, tiles, { service, matrix, row, column });
  };
  const responses = {
    200: { description: 'XML, or a tile', content: { 'text/xml': null, 'image/png': null } },
  };
  return [
    defineOperation({
      ...BASICS,
      responses,
      params: { serviceId },
      id: 'geoservices.wmts',
      path: `${MAP}/WMTS`,
      summary: 'A map service as WMTS',
      memo: declareMemo<TilePlan>(),
      run(x): Reply | Promise<Reply> {
        const pairs = parseOgcParameters(x.query);
        const service = x.params.serviceId;
        if (requireOperation(pairs, 'WMTS', WMTS_OPERATIONS) === 'GetCapabilities') {
          negotiateVersion(pairs, [WMTS_VERSION]);
          return capabilities(x, service, pairs);
        }
        requireValue(pairs, 'version', WMTS_VERSION);
        return tile(x, service, pairs);
      },
    }),
    defineOperation({
      ...BASICS,
      responses,
      params: { serviceId },
      id: 'geoservices.wmtsCapabilities',
      path: `${MAP}/WMTS/${WMTS_VERSION}/WMTSCapabilities.xml`,
      summary: 'Capabilities of a map service as WMTS',
      run: (x) => capabilities(x, x.params.serviceId, {}),
    }),
    defineOperation({
      ...BASICS,
      responses,
      id: 'geoservices.wmtsTile',
      path: `${MAP}/WMTS/tile/${WMTS_VERSION}/{layer}/{style}/{tileMatrixSet}/{tileMatrix}/{tileRow}/{tileCol}`,
      summary: 'A tile of a map service as WMTS',
      params: {
        serviceId,
        layer: pathString('layer', 'Name of the service.'),
        style: pathString('style', STYLE),
        tileMatrixSet: pathString('tileMatrixSet', MATRIX_SET),
        tileMatrix: pathString('tileMatrix', 'Zoom level.'),
        tileRow: pathString('tileRow', 'Row, 0 at the top.'),
        tileCol: pathString('tileCol', 'Column with the extension .png.'),
      },
      memo: declareMemo<TilePlan>(),
      run(x): Reply | Promise<Reply> {
        const { layer, style, tileMatrixSet, tileMatrix, tileRow, tileCol } = x.params;
        const [, column = tileCol, extension = 'png'] = /^(.*)\.(\w+)$/.exec(tileCol) ?? [];
        return tile(x, x.params.serviceId, {
          LAYER: layer,
          STYLE: style,
          TILEMATRIXSET: tileMatrixSet,
          TILEMATRIX: tileMatrix,
          TILEROW: tileRow,
          TILECOL: column,
          FORMAT: `image/${extension}`,
        });
      },
    }),
  ];
}

/** Throws MissingParameterValue and InvalidParameterValue. A style may be empty: it is the default one then. */
function requireLayer(pairs: Members, service: string): void {
  requireValue(pairs, 'layer', service);
  if (pairs['STYLE'] !== '') requireValue(pairs, 'style', STYLE);
  requireValue(pairs, 'format', PNG_FORMAT.mediaType);
  requireValue(pairs, 'TileMatrixSet', MATRIX_SET);
}

/** A row or column. Throws InvalidParameterValue, and TileOutOfRange below 0. */
function readIndex(pairs: Members, locator: 'TileRow' | 'TileCol'): number {
  const text = requireText(pairs, locator);
  if (!/^[+-]?\d{1,15}$/.test(text)) {
    const detail = `${locator.toUpperCase()}: '${text.slice(0, 40)}' is not an integer of at least 0.`;
    throw owsError('InvalidParameterValue', locator, detail);
  }
  const index = Number(text);
  if (index < 0) throw badParameter(locator, `${index} is out of range. Use a number from 0.`);
  return index;
}
