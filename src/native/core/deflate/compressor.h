// gzip and zlib by libdeflate: complete buffers, with cached compressors per level.
#pragma once

#include <libdeflate.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "../values/bytes.h"

namespace graticule {

class CompressorCache {
 public:
  CompressorCache() = default;
  ~CompressorCache();
  CompressorCache(const CompressorCache&) = delete;
  CompressorCache& operator=(const CompressorCache&) = delete;

  /** Appends a gzip member (RFC 1952). Level 0 (stored) to 12 (smallest). Throws std::bad_alloc. */
  void gzip(const uint8_t* data, size_t size, int level, ByteBuffer& out);

  /** Appends a zlib stream (RFC 1950), as `gzip` does. */
  void zlib(const uint8_t* data, size_t size, int level, ByteBuffer& out);

 private:
  libdeflate_compressor* at(int level);

  std::array<libdeflate_compressor*, 13> compressors_{};
};

}  // namespace graticule
