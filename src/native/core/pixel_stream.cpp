#include "pixel_stream.h"

#include <libdeflate.h>

#include <algorithm>

#include "prefix_code.h"

namespace graticule {
namespace {

/** Tokens of a block, so few that they stay in the nearest caches, and what one pixel may add to them. */
constexpr size_t kBlockTokens = 16384;
constexpr size_t kPixelTokens = 4;
/** Bytes of a repetition, and how far back one may begin (RFC 1951, 3.2.5). */
constexpr size_t kMinLength = 3;
constexpr size_t kMaxLength = 258;
constexpr size_t kMaxDistance = 32768;
constexpr size_t kLeft = 4;
/** Pixels of one colour that are better taken from the left, because its distance has no extra bits. */
constexpr size_t kFlat = 64;

constexpr size_t kLiterals = 286;
constexpr size_t kDistances = 30;
constexpr size_t kEndOfBlock = 256;
constexpr uint32_t kMaxBits = 15;
/** The alphabet in which code lengths are written: 16 to 18 repeat them. */
constexpr size_t kLengthSymbols = 19;
constexpr uint32_t kMaxLengthBits = 7;
constexpr uint8_t kLengthOrder[kLengthSymbols] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
/** More than a block's head, and what the bit writer writes beyond its end, can take. */
constexpr size_t kHeadBytes = 1024;
/** More than a token can take: two codes and their extra bits. */
constexpr size_t kTokenBytes = 6;

/** A symbol and the bits that follow its code. */
struct Coded {
  uint32_t symbol;
  uint32_t extraBits;
  uint32_t extra;
};

/** The value of a length or distance: as many steps to each power of two as `steps` bits tell apart. */
Coded coded(uint32_t value, uint32_t steps) {
  if (value < 2U << steps) return {value, 0, 0};
  const uint32_t extraBits = 31 - static_cast<uint32_t>(__builtin_clz(value)) - steps;
  return {(extraBits << steps) + (value >> extraBits), extraBits, value & ((1U << extraBits) - 1)};
}

Coded codedLength(uint32_t bytes) {
  // The longest has no extra bits.
  if (bytes == kMaxLength) return {static_cast<uint32_t>(kLiterals - 1), 0, 0};
  Coded code = coded(bytes - kMinLength, 2);
  code.symbol += kEndOfBlock + 1;
  return code;
}

Coded codedDistance(uint32_t bytes) { return coded(bytes - 1, 1); }

void putCoded(const Coded& coded, const uint16_t* codes, const uint8_t* lengths, BitWriter& bits) {
  const uint32_t length = lengths[coded.symbol];
  bits.put(codes[coded.symbol] | coded.extra << length, length + coded.extraBits);
}

/** Pixels from `a` and `b` on that are equal, at most `limit`. */
size_t equalPixels(const uint8_t* a, const uint8_t* b, size_t limit) {
  size_t n = 0;
  while (n + 2 <= limit) {
    const uint64_t difference = loadNative<uint64_t>(a + 4 * n) ^ loadNative<uint64_t>(b + 4 * n);
    if (difference != 0) return n + (static_cast<uint32_t>(difference) == 0 ? 1 : 0);
    n += 2;
  }
  return n + (n < limit && loadNative<uint32_t>(a + 4 * n) == loadNative<uint32_t>(b + 4 * n) ? 1 : 0);
}

/** Pixels, of `n` equal to those above, before the first that many are equal to. */
size_t beforeFlat(const uint8_t* pixels, size_t n) {
  for (size_t i = 1; i < n;) {
    const size_t asLeft = equalPixels(pixels + 4 * i, pixels + 4 * (i - 1), n - i);
    if (asLeft >= kFlat) return i;
    i += asLeft + 1;
  }
  return n;
}

size_t hashOf(uint32_t pixel) { return (pixel * 0x9e3779b1U) >> 20; }

}  // namespace

struct PixelStream::Codes {
  uint8_t literalLengths[kLiterals];
  uint8_t distanceLengths[kDistances];
  uint16_t literals[kLiterals];
  uint16_t distances[kDistances];

  Codes(const Token* tokens, size_t count) {
    uint32_t ofLiteral[kLiterals] = {};
    // A code needs two symbols; these are in it whether they occur or not.
    uint32_t ofDistance[kDistances] = {1, 1};
    ofLiteral[0] = ofLiteral[kEndOfBlock] = 1;
    for (size_t i = 0; i < count; ++i) {
      const auto [length, value] = tokens[i];
      if (length == 0) {
        ++ofLiteral[value];
      } else {
        ++ofLiteral[codedLength(length).symbol];
        ++ofDistance[codedDistance(value).symbol];
      }
    }
    codeLengths(ofLiteral, kLiterals, kMaxBits, literalLengths);
    codeLengths(ofDistance, kDistances, kMaxBits, distanceLengths);
    codesOf(literalLengths, kLiterals, literals);
    codesOf(distanceLengths, kDistances, distances);
  }
};

PixelStream::PixelStream() : tokens_(new Token[kBlockTokens]) {}

void PixelStream::write(const PixelWindow& window, ByteBuffer& out) {
  constexpr uint8_t kHead[] = {0x78, 0x01};
  constexpr uint8_t kNoFilter = 0;
  out.append(kHead, sizeof kHead);
  seen_.fill({});
  bits_ = {};
  uint32_t checksum = libdeflate_adler32(0, nullptr, 0);
  for (uint32_t y = 0; y < window.height; ++y) {
    checksum = libdeflate_adler32(checksum, &kNoFilter, 1);
    checksum = libdeflate_adler32(checksum, window.row(y), size_t{4} * window.width);
    makeRoom(1, out);
    addLiteral(kNoFilter);
    addRow(window, y, out);
  }
  flush(true, out);
  for (int shift = 24; shift >= 0; shift -= 8) out.push(static_cast<uint8_t>(checksum >> shift));
}

void PixelStream::addRow(const PixelWindow& window, uint32_t y, ByteBuffer& out) {
  const uint8_t* row = window.row(y);
  const size_t width = window.width;
  const size_t rowBytes = 4 * width + 1;
  const uint8_t* above = y > 0 && rowBytes <= kMaxDistance ? window.row(y - 1) : nullptr;
  for (size_t x = 0; x < width;) {
    const uint8_t* pixel = row + 4 * x;
    const size_t rest = width - x;
    const size_t asLeft = x == 0 ? 0 : equalPixels(pixel, pixel - 4, rest);
    Run run{asLeft, kLeft};
    if (asLeft < kFlat) {
      const size_t asAbove = above == nullptr ? 0 : equalPixels(pixel, above + 4 * x, rest);
      if (asAbove > asLeft) run = {beforeFlat(pixel, asAbove), rowBytes};
    }
    if (run.pixels == 0) run = seenBefore(window, y, static_cast<uint32_t>(x));
    if (run.pixels > 0) {
      addRepetition(run, out);
      x += run.pixels;
      continue;
    }
    makeRoom(kPixelTokens, out);
    for (size_t i = 0; i < kPixelTokens; ++i) addLiteral(pixel[i]);
    ++x;
  }
}

/** The repetition of what began with the same pixel last time, and notes that this one begins here. */
PixelStream::Run PixelStream::seenBefore(const PixelWindow& window, uint32_t y, uint32_t x) {
  const uint8_t* pixel = window.row(y) + 4 * x;
  Place& place = seen_[hashOf(loadNative<uint32_t>(pixel))];
  const Place before = place;
  place = {y, x};
  const size_t distance = (y - before.y) * (size_t{4} * window.width + 1) + 4 * x - 4 * before.x;
  if (distance == 0 || distance > kMaxDistance) return {};
  // Neither may run on into the next row.
  const size_t limit = window.width - std::max(x, before.x);
  return {equalPixels(pixel, window.row(before.y) + 4 * before.x, limit), distance};
}

void PixelStream::addRepetition(Run run, ByteBuffer& out) {
  for (size_t bytes = 4 * run.pixels; bytes > 0;) {
    makeRoom(1, out);
    size_t length = std::min(bytes, kMaxLength);
    // What is left must not be shorter than the shortest.
    if (bytes > length && bytes - length < kMinLength) length -= kMinLength;
    tokens_[count_++] = {static_cast<uint16_t>(length), static_cast<uint16_t>(run.distance)};
    bytes -= length;
  }
}

void PixelStream::makeRoom(size_t tokens, ByteBuffer& out) {
  if (count_ + tokens > kBlockTokens) flush(false, out);
}

void PixelStream::flush(bool last, ByteBuffer& out) {
  const Codes codes(tokens_.get(), count_);
  bits_.begin(out.reserve(kHeadBytes + kTokenBytes * (count_ + 1)));
  constexpr uint32_t kDynamic = 2;
  bits_.put((last ? 1U : 0U) | kDynamic << 1, 3);
  writeLengths(codes);
  writeTokens(codes);
  count_ = 0;
  if (last) bits_.fillByte();
  out.commit(bits_.end());
}

/** RFC 1951, 3.2.7. Runs of lengths are not shortened but for those of 0, of which there are many. */
void PixelStream::writeLengths(const Codes& codes) {
  uint8_t lengths[kLiterals + kDistances];
  std::copy_n(codes.literalLengths, kLiterals, lengths);
  std::copy_n(codes.distanceLengths, kDistances, lengths + kLiterals);
  constexpr size_t kTotal = kLiterals + kDistances;
  constexpr uint32_t kZeros = 18;
  constexpr size_t kFewestZeros = 11;
  constexpr size_t kMostZeros = 138;
  const auto zerosAt = [&](size_t i) {
    size_t n = 0;
    while (i + n < kTotal && n < kMostZeros && lengths[i + n] == 0) ++n;
    return n >= kFewestZeros ? n : 0;
  };
  uint32_t occurrences[kLengthSymbols] = {1};
  occurrences[kZeros] = 1;
  for (size_t i = 0; i < kTotal;) {
    const size_t zeros = zerosAt(i);
    ++occurrences[zeros > 0 ? kZeros : lengths[i]];
    i += std::max<size_t>(zeros, 1);
  }
  uint8_t bits[kLengthSymbols];
  uint16_t code[kLengthSymbols];
  codeLengths(occurrences, kLengthSymbols, kMaxLengthBits, bits);
  codesOf(bits, kLengthSymbols, code);
  bits_.put(kLiterals - 257, 5);
  bits_.put(kDistances - 1, 5);
  bits_.put(kLengthSymbols - 4, 4);
  for (const uint8_t symbol : kLengthOrder) bits_.put(bits[symbol], 3);
  for (size_t i = 0; i < kTotal;) {
    const size_t zeros = zerosAt(i);
    const size_t symbol = zeros > 0 ? kZeros : lengths[i];
    bits_.put(code[symbol], bits[symbol]);
    if (zeros > 0) bits_.put(zeros - kFewestZeros, 7);
    i += std::max<size_t>(zeros, 1);
  }
}

void PixelStream::writeTokens(const Codes& codes) {
  // In registers: what is written might be the members, as far as the compiler knows.
  BitWriter bits = bits_;
  for (size_t i = 0; i < count_; ++i) {
    const auto [length, value] = tokens_[i];
    if (length == 0) {
      bits.put(codes.literals[value], codes.literalLengths[value]);
      continue;
    }
    putCoded(codedLength(length), codes.literals, codes.literalLengths, bits);
    putCoded(codedDistance(value), codes.distances, codes.distanceLengths, bits);
  }
  bits.put(codes.literals[kEndOfBlock], codes.literalLengths[kEndOfBlock]);
  bits_ = bits;
}

}  // namespace graticule
