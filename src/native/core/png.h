// PNG images (W3C PNG, third edition) by libdeflate.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bytes.h"
#include "compressor.h"

namespace graticule {

/** Part of an RGBA image, 4 bytes a pixel, not premultiplied. */
struct PixelWindow {
  /** The first pixel. */
  const uint8_t* pixels;
  /** Bytes from one row to the next. */
  size_t stride;
  uint32_t width;
  uint32_t height;
};

/** Appends a PNG image of 8 bits a channel with alpha, rows unfiltered, as suits drawn maps. Throws std::bad_alloc. */
void writePng(const PixelWindow& window, int level, CompressorCache& compressors, ByteBuffer& out);

}  // namespace graticule
