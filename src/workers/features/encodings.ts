import { TaskFailure } from '../../core/errors/failure.js';
import type { VectorTileTask } from '../../core/tasks/vector-tasks.js';
import { mltToMvt, mvtToMlt, TOO_LARGE } from '../../native/index.js';

/** Half the time of level 6, which took as long as all else of a tile, for 4 to 8 % more bytes. */
export const GZIP_LEVEL = 1;
/** Most of a MapLibre Tile of points are attributes, of which this makes a tenth less; of positions it makes more. */
const MLT_POINTS_GZIP_LEVEL = 2;

/** The level that the tile of a task is compressed at. */
export function getGzipLevel({ gzipLevel, format, layers }: VectorTileTask): number {
  if (gzipLevel !== undefined) return gzipLevel;
  const isOfPoints = layers.every(({ source }) => source.geometryType === 'Point');
  return format === 'mlt' && isOfPoints ? MLT_POINTS_GZIP_LEVEL : GZIP_LEVEL;
}

/** A vector tile in another encoding. Throws `source-unreadable` and `too-large`. */
export function asMlt(mvt: Uint8Array): Uint8Array {
  return converted(mvtToMlt, mvt);
}

export function asMvt(mlt: Uint8Array): Uint8Array {
  return converted(mltToMvt, mlt);
}

function converted(convert: (tile: Uint8Array) => Uint8Array, tile: Uint8Array): Uint8Array {
  try {
    return convert(tile);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === TOO_LARGE) throw createTileSizeFailure();
    throw new TaskFailure('source-unreadable', 'The tile is damaged.', message);
  }
}

export const createTileSizeFailure = () =>
  new TaskFailure('too-large', 'The tile is too large for the other encoding.');
