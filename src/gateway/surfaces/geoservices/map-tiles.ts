import { LIMITS } from '../../../core/limits.js';
import { PNG_FORMAT } from '../../../core/media.js';
import {
  defineOperation,
  memoOf,
  type Operation,
  type Principal,
  type Reply,
} from '../../../core/operation.js';
import { pathInteger, pathString } from '../../../core/params.js';
import { WEB_MERCATOR_QUAD } from '../../../core/tile-matrix.js';
import type { TilesDeps } from '../tiles/params.js';
import { planTile, replyWithTile, type TilePlan, tileAddress } from '../tiles/tile.js';
import { requestOf } from '../tiles/tile-operations.js';
import type { ServerType } from './feature-server.js';
import { inBandFailure } from './in-band.js';
import type { DrawnLayer } from './map-layers.js';

const serviceId = pathString('serviceId', 'Name of a service.');

/** Drawn tiles of a service in WebMercatorQuad; they are cached as others are. `layersOf` has the lowest first. */
export function tileOperation(
  deps: TilesDeps,
  server: ServerType,
  layersOf: (principal: Principal, service: string) => readonly DrawnLayer[],
): Operation {
  return defineOperation({
    ...{ surface: 'geoservices', protocol: server, permission: 'public', method: 'GET', tag: server },
    id: `geoservices.tile${server}`,
    path: `/rest/services/{serviceId}/${server}/tile/{level}/{row}/{column}`,
    summary: 'A drawn tile of a service',
    params: {
      serviceId,
      level: pathInteger('level', 'Zoom level.'),
      row: pathInteger('row', 'Row, 0 at the top.'),
      column: pathInteger('column', 'Column.'),
    },
    openQuery: true,
    responses: { 200: { description: 'The tile', content: { [PNG_FORMAT.mediaType]: null } } },
    failure: inBandFailure(server, 'tile'),
    memo: memoOf<TilePlan>(),
    run(x): Reply | Promise<Reply> {
      const plan = planTile(
        x,
        deps.visible(x.principal),
        () => {
          const { level, row, column } = x.params;
          const at = tileAddress(WEB_MERCATOR_QUAD, String(level), row, column);
          const layers = layersOf(x.principal, x.params.serviceId).slice(-LIMITS.collectionsPerRequest);
          return requestOf(layers, at, PNG_FORMAT, WHOLE_TILE);
        },
        { negotiated: false, limited: false },
      );
      return replyWithTile(x, deps, plan);
    },
  });
}

/** A tile of which nothing is left out. */
export const WHOLE_TILE = {
  ...{ datetime: undefined, subset: undefined, filter: undefined, filterLang: 'cql2-text' as const },
  ...{ filterCrs: undefined, properties: undefined },
};
