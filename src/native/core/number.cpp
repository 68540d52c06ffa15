#include "number.h"

#include <charconv>
#include <cmath>
#include <cstring>

namespace graticule {
namespace {

constexpr double kPowers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
/** 2^53: above it not every integer is a double. */
constexpr double kExactIntegers = 9007199254740992.0;
/** 2^52: above it not every half is a double. */
constexpr double kExactHalves = 4503599627370496.0;

struct DigitPairs {
  char text[200];
  constexpr DigitPairs() : text() {
    for (int i = 0; i < 100; ++i) {
      text[2 * i] = static_cast<char>('0' + i / 10);
      text[2 * i + 1] = static_cast<char>('0' + i % 10);
    }
  }
};
constexpr DigitPairs kPairs;

/** Writes the digits of `v` so that they end at `end`; returns where they begin. */
uint8_t* digitsBefore(uint8_t* end, uint64_t v) {
  while (v >= 100) {
    const uint64_t rest = v / 100;
    end -= 2;
    std::memcpy(end, kPairs.text + 2 * (v - rest * 100), 2);
    v = rest;
  }
  if (v >= 10) {
    end -= 2;
    std::memcpy(end, kPairs.text + 2 * v, 2);
  } else {
    *--end = static_cast<uint8_t>('0' + v);
  }
  return end;
}

uint8_t* trimZeros(uint8_t* out) {
  while (out[-1] == '0') --out;
  return out[-1] == '.' ? out - 1 : out;
}

/** value * scale rounded to the nearest integer by its exact product: what is lost in the product is looked at. */
uint64_t scaledExactly(double value, double scale) {
  const double product = value * scale;
  double rounded = std::floor(product + 0.5);
  const double nearTie = std::fabs(std::fabs(product - rounded) - 0.5);
  if (nearTie < 1e-3 || product > 1e12) {
    // The sign of a fused multiply-add is exact, however near the tie is.
    if (std::fma(value, scale, -(rounded + 0.5)) >= 0) {
      rounded += 1;
    } else if (std::fma(value, scale, -(rounded - 0.5)) < 0) {
      rounded -= 1;
    }
  }
  return static_cast<uint64_t>(rounded);
}

}  // namespace

uint8_t* putInteger(uint8_t* out, int64_t value) {
  uint8_t digits[20];
  auto magnitude = static_cast<uint64_t>(value);
  if (value < 0) {
    *out++ = '-';
    magnitude = 0 - magnitude;
  }
  const uint8_t* begin = digitsBefore(digits + sizeof digits, magnitude);
  const auto n = static_cast<size_t>(digits + sizeof digits - begin);
  std::memcpy(out, begin, n);
  return out + n;
}

uint8_t* putFixed(uint8_t* out, double value, int precision) {
  const double scale = kPowers[precision];
  const double magnitude = std::fabs(value);
  if (!(magnitude * scale < kExactHalves)) {
    auto* text = reinterpret_cast<char*>(out);
    const auto end = std::to_chars(text, text + kMaxFixedSize, value, std::chars_format::fixed, precision).ptr;
    auto* last = reinterpret_cast<uint8_t*>(end);
    return precision > 0 ? trimZeros(last) : last;
  }
  const uint64_t scaled = scaledExactly(magnitude, scale);
  if (scaled == 0) {
    *out = '0';
    return out + 1;
  }
  if (value < 0) *out++ = '-';
  // Digits are padded so that at least one stands before the point.
  uint8_t digits[32];
  uint8_t* const end = digits + sizeof digits;
  std::memset(digits, '0', sizeof digits);
  uint8_t* begin = digitsBefore(end, scaled);
  uint8_t* const point = end - precision;
  if (begin >= point) begin = point - 1;
  const auto whole = static_cast<size_t>(point - begin);
  std::memcpy(out, begin, whole);
  out += whole;
  if (precision == 0) return out;
  *out++ = '.';
  std::memcpy(out, point, static_cast<size_t>(precision));
  return trimZeros(out + precision);
}

uint8_t* putShortest(uint8_t* out, double value) {
  if (std::fabs(value) < kExactIntegers && value == std::trunc(value)) {
    return putInteger(out, static_cast<int64_t>(value));
  }
  auto* text = reinterpret_cast<char*>(out);
  return reinterpret_cast<uint8_t*>(std::to_chars(text, text + kMaxNumberSize, value).ptr);
}

}  // namespace graticule
