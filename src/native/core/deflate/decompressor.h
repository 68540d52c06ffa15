// gunzip by libdeflate: complete buffers with a size limit.
#pragma once

#include <libdeflate.h>

#include <cstddef>
#include <cstdint>

#include "../values/bytes.h"

namespace graticule {

enum class Inflation { done, damaged, tooLarge };

class Decompressor {
 public:
  Decompressor() = default;
  ~Decompressor() { libdeflate_free_decompressor(decompressor_); }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  /**
   * Appends the contents of one or several gzip members (RFC 1952), with checked checksums. Bytes after the last
   * member that do not start another member count as damage, because readers treat them differently. Throws
   * std::bad_alloc.
   */
  Inflation gunzip(const uint8_t* data, size_t size, size_t maxBytes, ByteBuffer& out);

 private:
  Inflation member(const uint8_t*& data, const uint8_t* end, size_t maxBytes, ByteBuffer& out);

  libdeflate_decompressor* decompressor_ = nullptr;
};

}  // namespace graticule
