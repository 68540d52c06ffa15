import { badParameter } from '../../../core/errors/errors.js';
import type { Format } from '../../../core/http/media.js';
import {
  declareMemo,
  defineOperation,
  type Exchange,
  type Operation,
  type Param,
  type Params,
  type Principal,
  type Reply,
} from '../../../core/http/operation.js';
import { pathInteger, pathString } from '../../../core/http/params.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { WEB_MERCATOR_QUAD } from '../../../core/tiles/tile-matrix.js';
import { narrowTile, planTile, type TilePlan, tileAddress } from '../../../services/tiles/plan.js';

import { replyWithTile, type TilesDeps } from '../../surface/tile-reply.js';

import type { ServerType } from '../features/feature-server.js';
import { createErrorReply, withHttpStatus } from '../images/in-band.js';
import type { DrawnLayer } from './map-layers.js';

const serviceId = pathString('serviceId', 'Name of a service.');

export interface ServiceTiles {
  /** Operation id. */
  readonly id: string;
  readonly server: Exclude<ServerType, 'GeometryServer'>;
  readonly format: Format;
  /** `.pbf` may follow the column. */
  readonly ending?: '.pbf';
  /** The lowest first. Throws 404 for a service that does not exist for this principal, 401. */
  layersOf(principal: Principal, service: string): readonly DrawnLayer[];
}

/** Tiles of a service in WebMercatorQuad, cached like all other tiles. */
export function tileOperation(deps: TilesDeps, tiles: ServiceTiles): Operation {
  const { server, format } = tiles;
  return defineOperation({
    surface: 'geoservices',
    protocol: server,
    permission: 'public',
    method: 'GET',
    tag: server,
    id: `geoservices.${tiles.id}`,
    path: `/rest/services/{serviceId}/${server}/tile/{level}/{row}/{column}`,
    summary: 'A tile of a service',
    params: {
      serviceId,
      level: pathInteger('level', 'Zoom level.'),
      row: pathInteger('row', 'Row, 0 at the top.'),
      column: parseColumn(tiles.ending),
    },
    openQuery: true,
    responses: { 200: { description: 'The tile', content: { [format.mediaType]: null } } },
    failure: withHttpStatus(createErrorReply(server, 'tile')),
    memo: declareMemo<TilePlan>(),
    run(x): Reply | Promise<Reply> {
      const { serviceId: service, level, row, column } = x.params;
      return serviceTile(x, deps, tiles, { service, matrix: String(level), row, column });
    },
  });
}

interface ServiceTile {
  readonly service: string;
  readonly matrix: string;
  readonly row: number;
  readonly column: number;
}

/** A tile of WebMercatorQuad with all layers of a service. Throws 400 for one that there is not. */
export function serviceTile(
  x: Exchange<Params, unknown, TilePlan>,
  deps: TilesDeps,
  { format, layersOf }: Pick<ServiceTiles, 'format' | 'layersOf'>,
  { service, matrix, row, column }: ServiceTile,
): Reply | Promise<Reply> {
  const make = () => {
    const at = tileAddress(WEB_MERCATOR_QUAD, matrix, row, column);
    const layers = layersOf(x.principal, service).slice(-LIMITS.collectionsPerRequest);
    return narrowTile(layers, at, format, WHOLE_TILE);
  };
  const plan = planTile(x, deps.visible(x.principal), make, { negotiated: false, limited: false });
  return replyWithTile(x, deps, plan);
}

function parseColumn(ending: ServiceTiles['ending']): Param<number> {
  const column = pathInteger('column', ending ? `Column, perhaps with ${ending}.` : 'Column.');
  if (ending === undefined) return column;
  return {
    ...pathString('column', column.description),
    parse(raw: string | undefined) {
      const [, digits] = /^(\d{1,10})(?:\.pbf)?$/.exec(raw ?? '') ?? [];
      if (digits === undefined) throw badParameter('column', `must be an integer, optionally with ${ending}`);
      return Number(digits);
    },
  };
}

/** Tile options without any filter. */
const WHOLE_TILE = {
  datetime: undefined,
  subset: undefined,
  filter: undefined,
  filterLang: 'cql2-text' as const,
  filterCrs: undefined,
  properties: undefined,
};
