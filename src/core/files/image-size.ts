/** Width and height of images, read from the start of their files. */

export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

type Reader = (bytes: DataView) => ImageSize | undefined;

const READERS: Readonly<Record<string, Reader>> = {
  'image/png': (bytes) => ({ width: bytes.getUint32(16), height: bytes.getUint32(20) }),
  'image/gif': (bytes) => ({ width: bytes.getUint16(6, true), height: bytes.getUint16(8, true) }),
  'image/bmp': (bytes) => ({
    width: Math.abs(bytes.getInt32(18, true)),
    height: Math.abs(bytes.getInt32(22, true)),
  }),
  'image/jpeg': jpegSize,
  'image/webp': webpSize,
};

/** Media types of images with their size at the start of the file. */
export const SIZED_IMAGES: ReadonlySet<string> = new Set(Object.keys(READERS));

/** Undefined where it is not in the bytes, or the image is damaged. */
export function imageSize(mediaType: string, head: Uint8Array): ImageSize | undefined {
  try {
    const size = READERS[mediaType]?.(new DataView(head.buffer, head.byteOffset, head.byteLength));
    return size && size.width > 0 && size.height > 0 ? size : undefined;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Frames start with one of these markers (ITU-T T.81, table B.1); the remaining markers between them are tables. */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}

function jpegSize(bytes: DataView): ImageSize | undefined {
  for (let at = 2; ; ) {
    if (bytes.getUint8(at) !== 0xff) return undefined;
    const marker = bytes.getUint8(at + 1);
    if (marker === 0xff) at += 1;
    else if (isFrame(marker)) return { height: bytes.getUint16(at + 5), width: bytes.getUint16(at + 7) };
    else if (marker === 0xd9 || marker === 0xda) return undefined;
    else at += 2 + Math.max(2, bytes.getUint16(at + 2));
  }
}

function webpSize(bytes: DataView): ImageSize | undefined {
  switch (bytes.getUint32(12)) {
    // VP8X, VP8L and VP8 in ASCII.
    case 0x56503858:
      return { width: 1 + uint24(bytes, 24), height: 1 + uint24(bytes, 27) };
    case 0x5650384c: {
      const bits = bytes.getUint32(21, true);
      return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) };
    }
    case 0x56503820:
      return { width: bytes.getUint16(26, true) & 0x3fff, height: bytes.getUint16(28, true) & 0x3fff };
    default:
      return undefined;
  }
}

const uint24 = (bytes: DataView, at: number) => bytes.getUint16(at, true) | (bytes.getUint8(at + 2) << 16);
