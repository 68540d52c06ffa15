// PNG encoder for raster data and photographs: many colours, each similar to its neighbours.
#pragma once

#include "../values/bytes.h"
#include "pixel_stream.h"

namespace graticule {

/**
 * Appends a PNG image with only the channels that it needs: grey, palette colours, or red, green and blue; alpha if
 * pixels are not opaque. Fully transparent pixels do not have a colour. Throws std::bad_alloc.
 */
void writePicturePng(const PixelWindow& window, ByteBuffer& out);

/** Same for an image with at most 256 colours. Appends no bytes for other images. */
void writeFewColorsPng(const PixelWindow& window, ByteBuffer& out);

}  // namespace graticule
