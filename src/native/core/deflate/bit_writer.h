// Bits as DEFLATE packs them (RFC 1951, 3.1.1): the first is the lowest of its byte.
#pragma once

#include <cstdint>
#include <cstring>

namespace graticule {

class BitWriter {
 public:
  /** Continues at `at`, where 8 bytes more than the bits need must be free. */
  void begin(uint8_t* at) { at_ = at; }

  /** Writes at most 56 bits. Higher bits of `bits` must be 0. */
  void put(uint64_t bits, uint32_t count) {
    bits_ |= bits << count_;
    count_ += count;
    // All bits are written together: complete bytes remain, and the last one is written again.
    std::memcpy(at_, &bits_, sizeof bits_);
    at_ += count_ / 8;
    bits_ >>= count_ & ~7U;
    count_ &= 7;
  }

  /** Bits of 0 to the end of a byte. */
  void fillByte() { put(0, (8 - count_) & 7); }

  /** Returns the position after the last complete byte. The remaining bits precede the next ones. */
  const uint8_t* end() const { return at_; }

 private:
  uint8_t* at_ = nullptr;
  uint64_t bits_ = 0;
  uint32_t count_ = 0;
};

}  // namespace graticule
