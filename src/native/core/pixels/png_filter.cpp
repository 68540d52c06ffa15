#include "png_filter.h"

#include <algorithm>
#include <cstring>

namespace graticule {
namespace {

/** Before a row there are pixels of 0: the largest has four bytes. */
constexpr size_t kMargin = 16;

/** The row, the row above, and both shifted by one pixel. None overlaps the output, so the compiler can vectorise. */
using Bytes = const uint8_t* __restrict;
using Filter = void (*)(Bytes row, Bytes left, Bytes above, Bytes corner, size_t size, uint8_t* __restrict out);

void bySub(Bytes row, Bytes left, Bytes, Bytes, size_t size, uint8_t* __restrict out) {
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<uint8_t>(row[i] - left[i]);
}

void byUp(Bytes row, Bytes, Bytes above, Bytes, size_t size, uint8_t* __restrict out) {
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<uint8_t>(row[i] - above[i]);
}

void byAverage(Bytes row, Bytes left, Bytes above, Bytes, size_t size, uint8_t* __restrict out) {
  for (size_t i = 0; i < size; ++i) {
    // Mean, rounded down, by operations that all machines have for eight bits.
    const auto mean = static_cast<uint8_t>((left[i] & above[i]) + ((left[i] ^ above[i]) >> 1));
    out[i] = static_cast<uint8_t>(row[i] - mean);
  }
}

int16_t distance(int16_t a, int16_t b) { return static_cast<int16_t>(std::max(a, b) - std::min(a, b)); }

/** Whichever neighbour is nearest to left + above - corner. */
void byPaeth(Bytes row, Bytes left, Bytes above, Bytes corner, size_t size, uint8_t* __restrict out) {
  for (size_t i = 0; i < size; ++i) {
    const int16_t a = left[i];
    const int16_t b = above[i];
    const int16_t c = corner[i];
    const int16_t toA = distance(b, c);
    const int16_t toB = distance(a, c);
    const int16_t toC = distance(static_cast<int16_t>(a + b), static_cast<int16_t>(c + c));
    const int16_t other = toB <= toC ? b : c;
    const int16_t nearest = toA <= std::min(toB, toC) ? a : other;
    out[i] = static_cast<uint8_t>(row[i] - nearest);
  }
}

/** Sum of the filtered bytes as signed numbers. The smallest sum mostly results in the smallest output. */
uint64_t weightOf(const uint8_t* bytes, size_t size) {
  uint64_t sum = 0;
  for (size_t from = 0; from < size; from += 256) {
    uint16_t part = 0;
    const size_t end = std::min(size, from + 256);
    for (size_t i = from; i < end; ++i) {
      const uint8_t value = bytes[i];
      const auto negative = static_cast<uint8_t>(-value);
      part = static_cast<uint16_t>(part + (value < negative ? value : negative));
    }
    sum += part;
  }
  return sum;
}

}  // namespace

PngFilter::PngFilter(size_t rowBytes, size_t pixelBytes)
    : rowBytes_(rowBytes), pixelBytes_(pixelBytes), memory_(new uint8_t[6 * (rowBytes + kMargin)]) {
  std::memset(memory_.get(), 0, 2 * (rowBytes + kMargin));
  const auto at = [&](size_t i) { return memory_.get() + i * (rowBytes + kMargin) + kMargin; };
  row_ = at(0);
  above_ = at(1);
  for (size_t i = 0; i < 4; ++i) left_[i] = at(2 + i);
}

void PngFilter::put(uint8_t* out) {
  constexpr Filter kFilters[] = {bySub, byUp, byAverage, byPaeth};
  size_t best = 0;
  uint64_t least = UINT64_MAX;
  for (size_t i = 0; i < 4; ++i) {
    kFilters[i](row_, row_ - pixelBytes_, above_, above_ - pixelBytes_, rowBytes_, left_[i]);
    const uint64_t weight = weightOf(left_[i], rowBytes_);
    if (weight >= least) continue;
    least = weight;
    best = i;
  }
  *out = static_cast<uint8_t>(best + 1);
  std::memcpy(out + 1, left_[best], rowBytes_);
  next();
}

void PngFilter::putPlain(uint8_t* out) {
  *out = 0;
  std::memcpy(out + 1, row_, rowBytes_);
  next();
}

void PngFilter::next() { std::swap(row_, above_); }

}  // namespace graticule
