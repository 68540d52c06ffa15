#include "png.h"

#include <libdeflate.h>

#include <cstring>

namespace graticule {
namespace {

constexpr uint8_t kSignature[] = {0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a};
/** Bits a channel, colour type (RGBA), compression, filter method, interlace. */
constexpr uint8_t kFormat[] = {8, 6, 0, 0, 0};
/** Length and type before the data of a chunk. */
constexpr size_t kChunkHead = 8;

void storeBigEndian(uint8_t* p, uint32_t value) {
  for (int i = 0; i < 4; ++i) p[i] = static_cast<uint8_t>(value >> (24 - 8 * i));
}

/** Begins a chunk; returns where it does. */
size_t beginChunk(const char (&type)[5], ByteBuffer& out) {
  const size_t at = out.size();
  uint8_t* p = out.reserve(kChunkHead);
  std::memcpy(p + 4, type, 4);
  out.commit(p + kChunkHead);
  return at;
}

/** Writes length and checksum of the chunk that begins there. */
void endChunk(size_t at, ByteBuffer& out) {
  const size_t size = out.size() - at - kChunkHead;
  storeBigEndian(out.data() + at, static_cast<uint32_t>(size));
  const uint32_t checksum = libdeflate_crc32(0, out.data() + at + 4, size + 4);
  uint8_t* p = out.reserve(4);
  storeBigEndian(p, checksum);
  out.commit(p + 4);
}

}  // namespace

void writePng(const PixelWindow& window, ByteBuffer& out) {
  out.append(kSignature, sizeof kSignature);
  size_t chunk = beginChunk("IHDR", out);
  uint8_t* p = out.reserve(8);
  storeBigEndian(p, window.width);
  storeBigEndian(p + 4, window.height);
  out.commit(p + 8);
  out.append(kFormat, sizeof kFormat);
  endChunk(chunk, out);

  chunk = beginChunk("IDAT", out);
  PixelStream().write(window, out);
  endChunk(chunk, out);
  endChunk(beginChunk("IEND", out), out);
}

}  // namespace graticule
