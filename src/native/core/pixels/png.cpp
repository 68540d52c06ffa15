#include "png.h"

#include "png_chunks.h"

namespace graticule {

void writePng(const PixelWindow& window, ByteBuffer& out) {
  beginPng(window.width, window.height, PngColor::kRgba, out);
  const size_t chunk = beginChunk("IDAT", out);
  PixelStream().write(window, out);
  endChunk(chunk, out);
  endPng(out);
}

}  // namespace graticule
