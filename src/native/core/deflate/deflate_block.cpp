#include "deflate_block.h"

#include <algorithm>

#include "prefix_code.h"

namespace graticule {
namespace {

constexpr uint32_t kMaxBits = 15;
/** The alphabet in which code lengths are written: 16 to 18 repeat them. */
constexpr size_t kLengthSymbols = 19;
constexpr uint32_t kMaxLengthBits = 7;
constexpr uint8_t kLengthOrder[kLengthSymbols] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};

constexpr size_t kTotal = kLiterals + kDistances;
constexpr uint32_t kZeros = 18;
constexpr size_t kFewestZeros = 11;
constexpr size_t kMostZeros = 138;

/** Lengths of 0 from there on, if they are enough to be written as a run. */
size_t zerosAt(const uint8_t* lengths, size_t i) {
  size_t n = 0;
  while (i + n < kTotal && n < kMostZeros && lengths[i + n] == 0) ++n;
  return n >= kFewestZeros ? n : 0;
}

/** Writes the lengths of all codes. Only runs of 0, which are frequent, are shortened. */
void putLengths(const uint8_t* lengths, BitWriter& bits) {
  uint32_t occurrences[kLengthSymbols] = {1};
  occurrences[kZeros] = 1;
  for (size_t i = 0; i < kTotal;) {
    const size_t zeros = zerosAt(lengths, i);
    ++occurrences[zeros > 0 ? kZeros : lengths[i]];
    i += std::max<size_t>(zeros, 1);
  }
  uint8_t codeBits[kLengthSymbols];
  uint16_t codes[kLengthSymbols];
  codeLengths(occurrences, kLengthSymbols, kMaxLengthBits, codeBits);
  codesOf(codeBits, kLengthSymbols, codes);
  for (const uint8_t symbol : kLengthOrder) bits.put(codeBits[symbol], 3);
  for (size_t i = 0; i < kTotal;) {
    const size_t zeros = zerosAt(lengths, i);
    const size_t symbol = zeros > 0 ? kZeros : lengths[i];
    bits.put(codes[symbol], codeBits[symbol]);
    if (zeros > 0) bits.put(zeros - kFewestZeros, 7);
    i += std::max<size_t>(zeros, 1);
  }
}

}  // namespace

void beginZlib(ByteBuffer& out) {
  constexpr uint8_t kHead[] = {0x78, 0x01};
  out.append(kHead, sizeof kHead);
}

void endZlib(uint32_t checksum, ByteBuffer& out) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push(static_cast<uint8_t>(checksum >> shift));
}

BlockCodes::BlockCodes(const Occurrences& occurrences) {
  codeLengths(occurrences.literals, kLiterals, kMaxBits, literalLengths_);
  codeLengths(occurrences.distances, kDistances, kMaxBits, distanceLengths_);
  codesOf(literalLengths_, kLiterals, literals_);
  codesOf(distanceLengths_, kDistances, distances_);
}

void BlockCodes::putHead(bool last, BitWriter& bits) const {
  constexpr uint32_t kDynamic = 2;
  bits.put((last ? 1U : 0U) | kDynamic << 1, 3);
  bits.put(kLiterals - 257, 5);
  bits.put(kDistances - 1, 5);
  bits.put(kLengthSymbols - 4, 4);
  uint8_t lengths[kTotal];
  std::copy_n(literalLengths_, kLiterals, lengths);
  std::copy_n(distanceLengths_, kDistances, lengths + kLiterals);
  putLengths(lengths, bits);
}

}  // namespace graticule
