import { hasCoverage, hasFeatures } from '../../core/catalog/abilities.js';
import type { Collection } from '../../core/catalog/collection.js';
import { isDistant } from '../../core/catalog/raster-sources.js';
import type { Compression } from '../../core/http/content-coding.js';
import { contentTag } from '../../core/http/content-tag.js';
import { isVectorFormat } from '../../core/http/media.js';
import type { AcquisitionTime } from '../../core/http/params.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { Loss, TileSize } from '../../core/rasters/rasters.js';
import { isRemote } from '../../core/sources/sources.js';
import { tileBox } from '../../core/tiles/tile-matrix.js';
import { MAX_NAMED, type SourceItem, sourceItems, windowIn84 } from '../rasters/source-items.js';
import { blankImage } from './blank.js';
import { tileTags } from './cache/tags.js';
import type { TileRequest } from './request.js';

/** Coding of a vector tile for its first client. For other clients it is compressed or decompressed on request. */
export type TileCoding = 'gzip' | 'identity';

/** Caching of a tile: none, only by its caller, or by all caches for this number of seconds. */
export type TileLifetime = 'none' | 'caller' | number;

/** An acquisition, with the number and the first of the rasters that a tile of it is rendered from. */
interface ShownBatch {
  readonly batch: AcquisitionTime;
  readonly count: number;
  readonly items: readonly SourceItem[];
}

/** A tile. The members that a response needs come first. */
export interface Tile {
  /** Undefined for a tile without content in a format that cannot express that. The cache shares equal bodies. */
  body: Uint8Array | undefined;
  readonly mediaType?: string | undefined;
  readonly encoding?: Compression | undefined;
  /** Names the content, whatever its coding. */
  readonly tag?: string | undefined;
  readonly lifetime?: TileLifetime;
  /** Names by which a content delivery network finds it. */
  readonly names?: readonly string[];
  /** The acquisition batch that it shows. */
  readonly shown?: ShownBatch | undefined;
  /** Rasters that could not be read. */
  readonly lost?: readonly string[] | undefined;
  /** Whether its compressed form is kept with it: most clients take gzip. */
  readonly hasSecondForm?: boolean;
  /** Bytes in memory. 0 for a tile without content, because blank images are shared. */
  readonly bytes: number;
  /** Whether the tile has no content: it has no body, or is a transparent image. */
  readonly empty?: boolean;
  /** Number of features omitted for lack of space. */
  readonly dropped?: number;
  /** Number of features in the tile, if some were omitted. */
  readonly features?: number | undefined;
  /** Whether the tile lacks rasters that could not be read. Such tiles are not cached. */
  readonly isLossy?: boolean;
  /** Response that the API created from the tile. It is kept as long as the tile. */
  answer?: unknown;
}

/** A tile that is wanted, and the name of its content. */
export interface KeyedTileRequest extends TileRequest {
  readonly key: string;
}

/** Seconds that clients may keep a tile. Default of collections without a setting. */
const MAX_AGE = 60;

/** Seconds that clients may keep a tile: the minimum of all its collections. */
function tileLifetime(collections: readonly Collection[]): TileLifetime {
  // A caller who signs out, or whose rights change, must not see it again.
  if (collections.some(isPersonal)) return 'caller';
  const ages = collections.map(({ tiles }) => tiles?.maxAge ?? MAX_AGE);
  return ages.length > 0 ? Math.min(...ages) : MAX_AGE;
}

/**
 * Whether callers see different data of the collection. Shared caches in front of the server must not keep its tiles.
 */
function isPersonal(collection: Collection): boolean {
  return collection.isPrivate === true || (hasFeatures(collection) && collection.rule?.scope === 'caller');
}

/** Facts about a tile in addition to its bytes. */
interface TileFacts extends Loss {
  /** Names the content, whatever its coding; without it that of the bytes does. */
  readonly tag?: string | undefined;
  /** Number of features omitted for lack of space. */
  readonly dropped?: number;
  readonly features?: number | undefined;
}

/** A tile of these bytes. */
export function newTile(
  request: TileRequest,
  data: Uint8Array,
  mediaType: string,
  encoding: Compression | undefined,
  empty: boolean,
  { tag, dropped = 0, features, lost }: TileFacts = {},
): Tile {
  if (empty) return emptyTile(request, { lost });
  const hasSecondForm = isVectorFormat(request.format) && encoding !== 'gzip';
  const isLossy = lost !== undefined && lost.length > 0;
  // One literal without spread: V8 gives each object made by spreading a separate hidden class, and then every read
  // misses.
  return {
    body: data,
    mediaType,
    encoding,
    tag: tag ?? contentTag(data),
    lifetime: isLossy ? 'none' : tileLifetime(request.collections),
    names: tileTags(request),
    shown: dropped > 0 ? undefined : shownBatch(request),
    lost,
    hasSecondForm,
    bytes: (hasSecondForm ? 2 : 1) * data.byteLength,
    empty: false,
    dropped,
    features: dropped > 0 ? features : undefined,
    isLossy,
    answer: undefined,
  };
}

/**
 * A tile without content. An image is transparent, because Leaflet and OpenLayers treat a missing body as a failure.
 * Vector tiles and JPEG, which has no transparency, have no body.
 */
export function emptyTile(request: TileRequest, { lost = [] }: Loss = {}): Tile {
  const { format, collections } = request;
  const isLossy = lost.length > 0;
  const { width, height } = sizeInPixels(request);
  const body = blankImage(format, width, height);
  return {
    body,
    mediaType: body && format.mediaType,
    encoding: undefined,
    tag: body && contentTag(body),
    lifetime: isLossy ? 'none' : tileLifetime(collections),
    names: tileTags(request),
    shown: undefined,
    lost,
    hasSecondForm: false,
    bytes: 0,
    empty: true,
    dropped: 0,
    features: undefined,
    isLossy,
    answer: undefined,
  };
}

/** Size of an image of the tile in pixels. */
export function sizeInPixels({ at, scale = 1, selection }: TileRequest): TileSize {
  const { tileWidth, tileHeight } = at.set.matrices[at.zoom]!;
  return selection?.size ?? { width: tileWidth * scale, height: tileHeight * scale };
}

/** The rasters that a tile of an acquisition is rendered from. */
function shownBatch({ collections, at, batch }: TileRequest): ShownBatch | undefined {
  if (!batch) return undefined;
  const window84 = windowIn84(tileBox(at.set, at.zoom, at.row, at.column), at.set.crs.proj);
  const items = sourceItems(collections, batch, window84);
  return { batch, count: items.length, items: items.slice(0, MAX_NAMED) };
}

/** A file that changes is noticed; rows of a database and what is remote change without a word. */
export function findMaxAge({ collections }: TileRequest): number | undefined {
  const unseen = collections.some((c) =>
    hasFeatures(c)
      ? c.source.database !== undefined
      : hasCoverage(c)
        ? isDistant(c.raster.source)
        : isRemote(c.file),
  );
  return unseen ? LIMITS.databaseTileMs : undefined;
}
