import mapnik, { type Image } from '@mapnik/mapnik';

/** Maximum number of idle canvases whose memory is kept for the next map. */
const MAX_IDLE = 8;
const MAX_IDLE_BYTES = 16 << 20;

const idle: Buffer[] = [];

/** Mapnik image and its pixels (RGBA) in memory of the server. */
export interface Canvas {
  readonly image: Image;
  readonly pixels: Buffer;
}

/**
 * Runs `draw` with a transparent canvas, whose memory is reused afterwards, so results must be copied. With new
 * memory for each map, the garbage collector would scan the complete heap every few dozen maps. That took a tenth of
 * the time of each map.
 */
export async function withCanvas<T>(
  width: number,
  height: number,
  draw: (canvas: Canvas) => Promise<T>,
): Promise<T> {
  const pixels = takePixels(4 * width * height);
  const image = mapnik.Image.fromBufferSync(width, height, pixels, { premultiplied: true });
  try {
    return await draw({ image, pixels });
  } finally {
    if (pixels.byteLength <= MAX_IDLE_BYTES) idle.push(pixels);
    if (idle.length > MAX_IDLE) idle.shift();
  }
}

function takePixels(bytes: number): Buffer {
  const place = idle.findIndex(({ byteLength }) => byteLength === bytes);
  return place < 0 ? Buffer.alloc(bytes) : idle.splice(place, 1)[0]!.fill(0);
}
