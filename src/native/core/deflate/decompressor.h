// gunzip by libdeflate: whole buffers, bounded.
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
   * Appends what one gzip member or several (RFC 1952) hold, checksums compared. Bytes behind the last member that begin
   * no other are damage: readers differ in what they make of them. Throws std::bad_alloc.
   */
  Inflation gunzip(const uint8_t* data, size_t size, size_t maxBytes, ByteBuffer& out);

 private:
  Inflation member(const uint8_t*& data, const uint8_t* end, size_t maxBytes, ByteBuffer& out);

  libdeflate_decompressor* decompressor_ = nullptr;
};

}  // namespace graticule
