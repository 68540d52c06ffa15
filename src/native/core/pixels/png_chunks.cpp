#include "png_chunks.h"

#include <libdeflate.h>

#include <cstring>

namespace graticule {
namespace {

constexpr uint8_t kSignature[] = {0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a};
/** Length and type before the data of a chunk. */
constexpr size_t kChunkHead = 8;

void storeBigEndian(uint8_t* p, uint32_t value) {
  for (int i = 0; i < 4; ++i) p[i] = static_cast<uint8_t>(value >> (24 - 8 * i));
}

}  // namespace

size_t beginChunk(const char (&type)[5], ByteBuffer& out) {
  const size_t at = out.size();
  uint8_t* p = out.reserve(kChunkHead);
  std::memcpy(p + 4, type, 4);
  out.commit(p + kChunkHead);
  return at;
}

void endChunk(size_t at, ByteBuffer& out) {
  const size_t size = out.size() - at - kChunkHead;
  storeBigEndian(out.data() + at, static_cast<uint32_t>(size));
  const uint32_t checksum = libdeflate_crc32(0, out.data() + at + 4, size + 4);
  uint8_t* p = out.reserve(4);
  storeBigEndian(p, checksum);
  out.commit(p + 4);
}

void putChunk(const char (&type)[5], const uint8_t* data, size_t size, ByteBuffer& out) {
  const size_t at = beginChunk(type, out);
  out.append(data, size);
  endChunk(at, out);
}

void beginPng(uint32_t width, uint32_t height, PngColor color, ByteBuffer& out) {
  out.append(kSignature, sizeof kSignature);
  // Bits a channel, colour type, compression, filter method, interlace.
  uint8_t head[] = {0, 0, 0, 0, 0, 0, 0, 0, 8, static_cast<uint8_t>(color), 0, 0, 0};
  storeBigEndian(head, width);
  storeBigEndian(head + 4, height);
  putChunk("IHDR", head, sizeof head, out);
}

void endPng(ByteBuffer& out) { putChunk("IEND", nullptr, 0, out); }

}  // namespace graticule
