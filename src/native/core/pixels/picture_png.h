// PNG images of pictures, as rasters are: many colours, each near those of its neighbours.
#pragma once

#include "../values/bytes.h"
#include "pixel_stream.h"

namespace graticule {

/**
 * Appends a PNG image with no more channels than it needs: grey, colours of a palette, or red, green and blue; alpha
 * where pixels are not opaque. What is fully transparent has no colour. Throws std::bad_alloc.
 */
void writePicturePng(const PixelWindow& window, ByteBuffer& out);

/** The same of an image in at most 256 colours; nothing of others. */
void writeFewColorsPng(const PixelWindow& window, ByteBuffer& out);

}  // namespace graticule
