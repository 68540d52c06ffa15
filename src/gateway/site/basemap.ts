import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import Type from 'typebox';
import { notFound } from '../../core/errors/errors.js';
import { type ContentCoding, findCompression } from '../../core/http/content-coding.js';
import { contentTag } from '../../core/http/content-tag.js';
import { JSON_FORMAT, MVT_FORMAT } from '../../core/http/media.js';
import { defineOperation, type Exchange, type Operation, type Reply } from '../../core/http/operation.js';
import { pathInteger } from '../../core/http/params.js';
import { bytes, json } from '../../core/http/reply.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { archiveTile } from '../../services/tiles/archive-tiles.js';
import { basemapStyle, OWN_ZOOM } from '../pages/maps/basemap.js';

export interface BasemapDeps {
  readonly pools: Pools;
  /** Tile archive that the build writes. */
  readonly basemapFile: string;
}

const SITE = { method: 'GET', surface: 'site', protocol: 'Site', permission: 'public' } as const;
const CACHE_CONTROL = 'public, max-age=86400';
/** Tiles that are kept ready: a screen of the world and some countries. */
const KEPT_TILES = 400;

/** The base map of the pages: Graticule's own tiles, or a configured style. */
export function basemapOperations(deps: BasemapDeps): Operation[] {
  return [tiles(deps), style()];
}

const zoom = pathInteger('z', `Zoom, up to ${OWN_ZOOM}.`);
const column = pathInteger('x', 'Column.');
const row = pathInteger('y', 'Row, 0 at the top.');

function tiles({ pools, basemapFile }: BasemapDeps): Operation {
  const archive = { file: basemapFile, container: 'mbtiles' } as const;
  const replies = new LRUCache<string, Reply>({ max: KEPT_TILES });
  const read = async (x: Exchange, key: string, at: { zoom: number; row: number; column: number }) => {
    const { data, encoding } = await archiveTile(x, pools, archive, at);
    const reply = data.length === 0 ? SEA : tileReply(data, encoding);
    replies.set(key, reply);
    return reply;
  };
  return defineOperation({
    ...SITE,
    id: 'site.basemapTile',
    path: '/basemap/{z}/{x}/{y}',
    summary: 'Vector tile of the base map',
    description:
      'Layers land, coast, borders, regions and names of Natural Earth, for the maps of the pages.',
    params: { z: zoom, x: column, y: row },
    responses: {
      200: { description: 'The tile.', content: { [MVT_FORMAT.mediaType]: null } },
      204: { description: 'The tile contains only sea.' },
      404: { description: 'The tile does not exist.' },
    },
    run(x) {
      const { z, x: at, y } = x.params;
      const key = `${z}/${at}/${y}`;
      const last = 2 ** z - 1;
      if (z > OWN_ZOOM || at > last || y > last) throw notFound('tile of the base map', key);
      return replies.get(key) ?? read(x, key, { zoom: z, row: y, column: at });
    },
  });
}

const SEA: Reply = { status: 204, cacheControl: CACHE_CONTROL };

function tileReply(data: Uint8Array, encoding: ContentCoding): Reply {
  const etag = createHash('sha256').update(data).digest('base64url').slice(0, 22);
  return bytes(data, MVT_FORMAT.mediaType, {
    etag,
    cacheControl: CACHE_CONTROL,
    encoding: findCompression(encoding),
  });
}

function style(): Operation {
  return defineOperation({
    ...SITE,
    id: 'site.basemapStyle',
    path: '/basemap/style.json',
    summary: 'Style of the base map',
    responses: {
      200: { description: 'MapLibre style.', content: { [JSON_FORMAT.mediaType]: Type.Object({}) } },
      404: { description: 'The configuration names no file of a style.' },
    },
    run: () => {
      const document = basemapStyle();
      if (!document) throw notFound('style of the base map', 'style.json');
      const reply = json(document);
      return { ...reply, cacheControl: 'no-cache', etag: contentTag(reply.body as string) };
    },
  });
}
