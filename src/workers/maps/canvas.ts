import mapnik, { type Image } from '@mapnik/mapnik';

/** Canvases of usual sizes whose memory waits for the next map, at most. */
const MAX_IDLE = 8;
const MAX_IDLE_BYTES = 16 << 20;

const idle: Buffer[] = [];

/** An image of Mapnik, and its pixels in memory of ours: RGBA. */
export interface Canvas {
  readonly image: Image;
  readonly pixels: Buffer;
}

/**
 * Runs `draw` with a transparent canvas, whose memory is used again afterwards: what is to stay must be copied. New
 * memory for each map has the garbage collector look at the whole heap every few dozen maps. That took a tenth of the
 * time of each map.
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
