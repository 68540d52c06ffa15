import { hasCoverage, hasFeatures } from '../../core/catalog/abilities.js';
import type { Collection } from '../../core/catalog/collection.js';
import { isDistant } from '../../core/catalog/raster-sources.js';
import type { Compression } from '../../core/http/content-coding.js';
import { contentTag } from '../../core/http/content-tag.js';
import { isVectorFormat } from '../../core/http/media.js';
import type { Reply } from '../../core/http/operation.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { Loss, TileSize } from '../../core/rasters/rasters.js';
import { isRemote } from '../../core/sources/sources.js';
import { tileBox } from '../../core/tiles/tile-matrix.js';
import { lossHeaders, sourceItemHeaders, sourceItems, windowIn84 } from '../rasters/source-items.js';
import { blankImage } from './blank.js';
import { tileTags } from './cache/tags.js';
import type { TileRequest } from './request.js';

/** What is made of a vector tile for its first client: others compress it, or undo that, when they ask. */
export type TileCoding = 'gzip' | 'identity';

/** A tile ready to send, with its entity tag. */
export interface Tile {
  /** The answer that every request for this tile gets. */
  readonly reply: Reply;
  /** Of memory. None of its own for a tile without content: blank images are shared. */
  readonly bytes: number;
  /** Nothing is in the tile: 204, or a transparent image. */
  readonly empty?: boolean;
  /** Features left out of it for want of room. */
  readonly dropped?: number;
  /** It misses rasters that could not be read: nobody keeps it. */
  readonly isLossy?: boolean;
}

/** A tile that is wanted, and the name of its content. */
export interface KeyedTileRequest extends TileRequest {
  readonly key: string;
}

/** Seconds that clients may keep a tile of a collection that says nothing else. */
const MAX_AGE = 60;

/** How long clients may keep a tile: as long as all of its collections allow. */
function cacheControlOf(collections: readonly Collection[]): string {
  const ages = collections.map(({ tiles }) => tiles?.maxAge ?? MAX_AGE);
  const seconds = ages.length > 0 ? Math.min(...ages) : MAX_AGE;
  // Whoever signs out, or whose rights change, does not see it again.
  if (collections.some(isPersonal)) return 'private, no-cache';
  return seconds === 0 ? 'no-cache' : `public, max-age=${seconds}, stale-while-revalidate=${5 * seconds}`;
}

/** Not everybody gets the same of it: caches between us and the caller must not keep it. */
function isPersonal(collection: Collection): boolean {
  return collection.isPrivate === true || (hasFeatures(collection) && collection.rule?.scope === 'caller');
}

/** What is to be said of a tile beside its bytes. */
interface TileFacts extends Loss {
  /** Names the content, whatever its coding; without it that of the bytes does. */
  readonly tag?: string | undefined;
  /** Features left out for want of room. */
  readonly dropped?: number;
}

/** A tile of these bytes. */
export function newTile(
  request: TileRequest,
  data: Uint8Array,
  mediaType: string,
  encoding: Compression | undefined,
  empty: boolean,
  { tag, dropped = 0, lost }: TileFacts = {},
): Tile {
  if (empty) return emptyTile(request, { lost });
  // Most clients take gzip: its form is kept beside another one, once it was asked for.
  const secondForm = isVectorFormat(request.format) && encoding !== 'gzip' ? ('gzip' as const) : undefined;
  const constant = { block: undefined, secondForm };
  const isLossy = lost !== undefined && lost.length > 0;
  const cacheControl = isLossy ? 'no-store' : cacheControlOf(request.collections);
  const said = dropped > 0 ? { 'graticule-dropped-features': String(dropped) } : batchHeaders(request);
  const headers = isLossy ? { ...said, ...lossHeaders({ lost }) } : said;
  // One literal, no spread: V8 gives each object made by spreading a hidden class of its own, and then every read misses.
  const etag = tag ?? contentTag(data);
  const cacheTags = tileTags(request);
  const reply = {
    status: 200,
    mediaType,
    body: data,
    encoding,
    etag,
    cacheControl,
    cacheTags,
    constant,
    headers,
  };
  return { reply, bytes: (secondForm ? 2 : 1) * data.byteLength, dropped, isLossy };
}

/**
 * A tile in which nothing is: an image is transparent, because Leaflet and OpenLayers take 204 for a failure; vector
 * tiles and JPEG, which has no transparency, are 204.
 */
export function emptyTile(request: TileRequest, { lost = [] }: Loss = {}): Tile {
  const { format, collections } = request;
  const constant = { block: undefined, secondForm: undefined };
  const isLossy = lost.length > 0;
  const cacheControl = isLossy ? 'no-store' : cacheControlOf(collections);
  const headers = isLossy ? lossHeaders({ lost }) : undefined;
  const cacheTags = tileTags(request);
  const { width, height } = sizeInPixels(request);
  const body = blankImage(format, width, height);
  if (!body)
    return {
      reply: { status: 204, cacheControl, cacheTags, constant, headers },
      bytes: 0,
      empty: true,
      isLossy,
    };
  const { mediaType } = format;
  const etag = contentTag(body);
  const reply = { status: 200, mediaType, body, etag, cacheControl, cacheTags, constant, headers };
  return { reply, bytes: 0, empty: true, isLossy };
}

/** What an image of the tile measures. */
export function sizeInPixels({ at, scale = 1, selection }: TileRequest): TileSize {
  const { tileWidth, tileHeight } = at.set.matrices[at.zoom]!;
  return selection?.size ?? { width: tileWidth * scale, height: tileHeight * scale };
}

/** Names the rasters that a tile of an acquisition batch is made from. */
function batchHeaders({ collections, at, batch }: TileRequest): Record<string, string> | undefined {
  if (!batch) return undefined;
  const window84 = windowIn84(tileBox(at.set, at.zoom, at.row, at.column), at.set.crs.proj);
  return sourceItemHeaders(sourceItems(collections, batch, window84), batch);
}

/** A file that changes is noticed; rows of a database and what is remote change without a word. */
export function maxAgeOf({ collections }: TileRequest): number | undefined {
  const unseen = collections.some((c) =>
    hasFeatures(c)
      ? c.source.database !== undefined
      : hasCoverage(c)
        ? isDistant(c.raster.source)
        : isRemote(c.file),
  );
  return unseen ? LIMITS.databaseTileMs : undefined;
}
