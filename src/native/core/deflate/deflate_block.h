// DEFLATE blocks with dynamic codes (RFC 1951, 3.2.7), shared by encoders that find repetitions in different ways.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "bit_writer.h"
#include "../values/bytes.h"

namespace graticule {

/** Bytes of a repetition, and the maximum distance back to its source (RFC 1951, 3.2.5). */
constexpr size_t kMinLength = 3;
constexpr size_t kMaxLength = 258;
constexpr size_t kMaxDistance = 32768;

constexpr size_t kLiterals = 286;
constexpr size_t kDistances = 30;
constexpr size_t kEndOfBlock = 256;

/** Upper limit for a block's header and for the bytes that the bit writer writes beyond its end. */
constexpr size_t kBlockHeadBytes = 1024;

/**
 * Writes the bytes before and after the blocks of a zlib stream (RFC 1950). The checksum is the Adler-32 of its
 * contents.
 */
void beginZlib(ByteBuffer& out);
void endZlib(uint32_t checksum, ByteBuffer& out);

/** A symbol and the bits that follow its code. */
struct Coded {
  uint32_t symbol;
  uint32_t extraBits;
  uint32_t extra;
};

/** Returns the code of a length or distance. Each power of two has as many steps as `steps` bits can distinguish. */
inline Coded coded(uint32_t value, uint32_t steps) {
  if (value < 2U << steps) return {value, 0, 0};
  const uint32_t extraBits = 31 - static_cast<uint32_t>(__builtin_clz(value)) - steps;
  return {(extraBits << steps) + (value >> extraBits), extraBits, value & ((1U << extraBits) - 1)};
}

inline Coded codedLength(uint32_t bytes) {
  // The longest has no extra bits.
  if (bytes == kMaxLength) return {static_cast<uint32_t>(kLiterals - 1), 0, 0};
  Coded code = coded(bytes - kMinLength, 2);
  code.symbol += kEndOfBlock + 1;
  return code;
}

inline Coded codedDistance(uint32_t bytes) { return coded(bytes - 1, 1); }

/** Calls with each length that so many repeated bytes, at least `kMinLength`, are written as. */
template <typename Visit>
void splitRepetition(size_t bytes, Visit visit) {
  while (bytes > 0) {
    size_t length = bytes < kMaxLength ? bytes : kMaxLength;
    // The rest must not be shorter than the minimum.
    if (bytes > length && bytes - length < kMinLength) length -= kMinLength;
    visit(static_cast<uint32_t>(length));
    bytes -= length;
  }
}

/** Number of occurrences of each symbol in a block. A code needs two symbols, so some always count as occurring. */
struct Occurrences {
  uint32_t literals[kLiterals] = {1};
  uint32_t distances[kDistances] = {1, 1};

  Occurrences() { literals[kEndOfBlock] = 1; }

  void addLiteral(uint8_t value) { ++literals[value]; }
  void addRepetition(uint32_t length, uint32_t distance) {
    ++literals[codedLength(length).symbol];
    ++distances[codedDistance(distance).symbol];
  }
};

/** Optimal codes for a block, and the functions that write them. */
class BlockCodes {
 public:
  explicit BlockCodes(const Occurrences& occurrences);

  /** At most `kBlockHeadBytes`. */
  void putHead(bool last, BitWriter& bits) const;

  void putLiteral(uint8_t value, BitWriter& bits) const { bits.put(literals_[value], literalLengths_[value]); }

  void putRepetition(uint32_t length, uint32_t distance, BitWriter& bits) const {
    Bits written;
    written.add(codedLength(length), literals_, literalLengths_);
    written.add(codedDistance(distance), distances_, distanceLengths_);
    bits.put(written.bits, written.count);
  }

  /** Writes three literals, the maximum of one write of the bit writer. */
  void putThreeLiterals(const uint8_t* values, BitWriter& bits) const {
    Bits written;
    for (size_t i = 0; i < 3; ++i) written.add(literals_[values[i]], literalLengths_[values[i]]);
    bits.put(written.bits, written.count);
  }

  /** Four literals, the lowest byte first. */
  void putPixel(uint32_t pixel, BitWriter& bits) const {
    for (int half = 0; half < 2; ++half, pixel >>= 16) {
      Bits written;
      for (const uint32_t shift : {0U, 8U}) {
        const uint32_t value = pixel >> shift & 0xff;
        written.add(literals_[value], literalLengths_[value]);
      }
      bits.put(written.bits, written.count);
    }
  }

  void putEnd(BitWriter& bits) const { bits.put(literals_[kEndOfBlock], literalLengths_[kEndOfBlock]); }

 private:
  /** Bits of one write: at most 48. */
  struct Bits {
    uint64_t bits = 0;
    uint32_t count = 0;

    void add(uint64_t code, uint32_t length) {
      bits |= code << count;
      count += length;
    }
    void add(const Coded& coded, const uint16_t* codes, const uint8_t* lengths) {
      add(codes[coded.symbol], lengths[coded.symbol]);
      add(coded.extra, coded.extraBits);
    }
  };

  uint8_t literalLengths_[kLiterals];
  uint8_t distanceLengths_[kDistances];
  uint16_t literals_[kLiterals];
  uint16_t distances_[kDistances];
};

}  // namespace graticule
