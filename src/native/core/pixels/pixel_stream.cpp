#include "pixel_stream.h"

#include <libdeflate.h>

#include <algorithm>

#include "../deflate/deflate_block.h"

namespace graticule {
namespace {

/** Tokens of a block, so few that they stay in the nearest caches. */
constexpr size_t kBlockTokens = 8192;
constexpr size_t kLeft = 4;
/** Pixels of one colour that are better taken from the left, because its distance has no extra bits. */
constexpr size_t kFlat = 64;

/** More than a token can take: four codes of literals, or two codes and their extra bits. */
constexpr size_t kTokenBytes = 8;
/** Byte before each row, which is not filtered. It is stored among the tokens as an empty repetition. */
constexpr uint8_t kNoFilter = 0;
constexpr uint16_t kRowBegins = 1;

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

PixelStream::PixelStream() : tokens_(new Token[kBlockTokens]) {}

void PixelStream::write(const PixelWindow& window, ByteBuffer& out) {
  beginZlib(out);
  seen_.fill({});
  bits_ = {};
  uint32_t checksum = libdeflate_adler32(0, nullptr, 0);
  for (uint32_t y = 0; y < window.height; ++y) {
    checksum = libdeflate_adler32(checksum, &kNoFilter, 1);
    checksum = libdeflate_adler32(checksum, window.row(y), size_t{4} * window.width);
    add({0, kRowBegins, 0}, out);
    addRow(window, y, out);
  }
  flush(true, out);
  endZlib(checksum, out);
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
    add({0, 0, loadNative<uint32_t>(pixel)}, out);
    ++x;
  }
}

/** Returns the repetition of the run that last started with the same pixel, and records the start of this run. */
PixelStream::Run PixelStream::seenBefore(const PixelWindow& window, uint32_t y, uint32_t x) {
  const uint8_t* pixel = window.row(y) + 4 * x;
  Place& place = seen_[hashOf(loadNative<uint32_t>(pixel))];
  const Place before = place;
  place = {y, x};
  const size_t distance = (y - before.y) * (size_t{4} * window.width + 1) + 4 * x - 4 * before.x;
  if (distance == 0 || distance > kMaxDistance) return {};
  // A repetition must not continue in the next row.
  const size_t limit = window.width - std::max(x, before.x);
  return {equalPixels(pixel, window.row(before.y) + 4 * before.x, limit), distance};
}

void PixelStream::addRepetition(Run run, ByteBuffer& out) {
  splitRepetition(4 * run.pixels, [&](uint32_t length) {
    add({static_cast<uint16_t>(length), static_cast<uint16_t>(run.distance), 0}, out);
  });
}

void PixelStream::add(Token token, ByteBuffer& out) {
  if (count_ == kBlockTokens) flush(false, out);
  tokens_[count_++] = token;
}

void PixelStream::flush(bool last, ByteBuffer& out) {
  Occurrences occurrences;
  for (size_t i = 0; i < count_; ++i) {
    const auto [length, distance, pixel] = tokens_[i];
    if (length > 0) {
      occurrences.addRepetition(length, distance);
    } else if (distance == kRowBegins) {
      occurrences.addLiteral(kNoFilter);
    } else {
      for (int shift = 0; shift < 32; shift += 8) occurrences.addLiteral(static_cast<uint8_t>(pixel >> shift));
    }
  }
  const BlockCodes codes(occurrences);
  // A local copy stays in registers, because the compiler must assume that the output could overlap the member.
  BitWriter bits = bits_;
  bits.begin(out.reserve(kBlockHeadBytes + kTokenBytes * (count_ + 1)));
  codes.putHead(last, bits);
  for (size_t i = 0; i < count_; ++i) {
    const auto [length, distance, pixel] = tokens_[i];
    if (length > 0) {
      codes.putRepetition(length, distance, bits);
    } else if (distance == kRowBegins) {
      codes.putLiteral(kNoFilter, bits);
    } else {
      codes.putPixel(pixel, bits);
    }
  }
  codes.putEnd(bits);
  count_ = 0;
  if (last) bits.fillByte();
  out.commit(bits.end());
  bits_ = bits;
}

}  // namespace graticule
