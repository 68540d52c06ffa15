// PNG images (W3C PNG, third edition).
#pragma once

#include "../values/bytes.h"
#include "pixel_stream.h"

namespace graticule {

/** Appends a PNG image of 8 bits a channel with alpha. Throws std::bad_alloc. */
void writePng(const PixelWindow& window, ByteBuffer& out);

}  // namespace graticule
