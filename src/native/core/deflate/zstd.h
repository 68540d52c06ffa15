// Zstandard (RFC 8878): complete buffers and streams, with windows that every HTTP client supports (RFC 9659).
#pragma once

#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "../values/bytes.h"
#include "decompressor.h"

namespace graticule {

/** Largest window, as a power of two: 8 MiB (RFC 9659, 3.1). */
constexpr int kZstdWindowLog = 23;

/** One frame, or several in turn. */
class ZstdEncoder {
 public:
  /** Level -7 to 19; `windowLog` 0 leaves the window to the level. Throws std::bad_alloc. */
  ZstdEncoder(int level, int windowLog);

  /** Appends a frame that states its uncompressed size. */
  void frame(const uint8_t* data, size_t size, ByteBuffer& out);
  /**
   * Appends the available part of a frame in parts: everything written so far with `ZSTD_e_flush`, and the rest with
   * `ZSTD_e_end`.
   */
  void write(const uint8_t* data, size_t size, ZSTD_EndDirective directive, ByteBuffer& out);

 private:
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  std::unique_ptr<ZSTD_CCtx, Free> context_;
};

/** Appends the contents of the frames, with checked checksums. Throws std::bad_alloc. */
Inflation unzstd(const uint8_t* data, size_t size, size_t maxBytes, ByteBuffer& out);

}  // namespace graticule
