import { badParameter } from '../../../core/errors.js';
import { PNG_FORMAT } from '../../../core/media.js';
import {
  defineOperation,
  type Exchange,
  memoOf,
  type Operation,
  type Reply,
} from '../../../core/operation.js';
import { pathString } from '../../../core/params.js';
import type { TilesDeps } from '../tiles/params.js';
import type { TilePlan } from '../tiles/tile.js';
import { mapLayers } from './map-layers.js';
import { type ServiceTiles, serviceTile } from './map-tiles.js';
import { type Members, textOf, wholeNumber } from './members.js';
import { pairsOf, requestOf, requireFormat, xmlFailure, xmlReply } from './ogc-requests.js';
import { MATRIX_SET, STYLE, wmtsCapabilities, wmtsException } from './wmts-capabilities.js';

const MAP = '/rest/services/{serviceId}/MapServer';
const MOST_TEXT = 200;

const BASICS = {
  ...({ surface: 'geoservices', protocol: 'MapServer', permission: 'public', method: 'GET' } as const),
  tag: 'MapServer',
  ...{
    openQuery: true,
    takesToken: true,
    params: { serviceId: pathString('serviceId', 'Name of a service.') },
  },
  failure: xmlFailure('MapServer', 'wmts', wmtsException),
} as const;

/** Tiles of map services as WMTS 1.0.0. */
export function wmtsOperations(
  deps: TilesDeps,
  tiles: Pick<ServiceTiles, 'format' | 'layersOf'>,
): Operation[] {
  const capabilities = (x: Exchange, name: string) => {
    const layers = mapLayers(deps, x.principal, name);
    const map = `${x.baseUrl}${x.path.slice(0, x.path.indexOf('/WMTS'))}`;
    return xmlReply(wmtsCapabilities({ name, address: `${map}/WMTS`, map, layers }));
  };
  const responses = {
    200: { description: 'XML, or a tile', content: { 'text/xml': null, 'image/png': null } },
  };
  return [
    defineOperation({
      ...{
        ...BASICS,
        responses,
        id: 'geoservices.wmts',
        path: `${MAP}/WMTS`,
        summary: 'A map service as WMTS',
      },
      memo: memoOf<TilePlan>(),
      run(x): Reply | Promise<Reply> {
        const pairs = pairsOf(x.query);
        const service = x.params.serviceId;
        if (requestOf(pairs, ['GetCapabilities', 'GetTile']) === 'GetCapabilities')
          return capabilities(x, service);
        requireLayer(pairs, service);
        const [row, column] = [
          wholeNumber('TILEROW', pairs['TILEROW']),
          wholeNumber('TILECOL', pairs['TILECOL']),
        ];
        const matrix = textOf(pairs, 'TILEMATRIX', MOST_TEXT) ?? '';
        return serviceTile(x, deps, tiles, { service, matrix, row, column });
      },
    }),
    defineOperation({
      ...{ ...BASICS, responses, id: 'geoservices.wmtsCapabilities' },
      path: `${MAP}/WMTS/1.0.0/WMTSCapabilities.xml`,
      summary: 'Capabilities of a map service as WMTS',
      run: (x) => capabilities(x, x.params.serviceId),
    }),
  ];
}

/** Throws 400 naming what there is not. */
function requireLayer(pairs: Members, service: string): void {
  requireFormat(pairs, 'FORMAT', [PNG_FORMAT.mediaType]);
  for (const [name, value] of Object.entries({ LAYER: service, TILEMATRIXSET: MATRIX_SET }))
    if (textOf(pairs, name, MOST_TEXT) !== value) throw badParameter(name, `must be ${value}`);
  if (![undefined, STYLE].includes(textOf(pairs, 'STYLE', MOST_TEXT)))
    throw badParameter('STYLE', `must be ${STYLE}`);
}
