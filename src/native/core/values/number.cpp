#include "number.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <type_traits>

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

/** Writes the digits of `v` so that they end at `end`; returns their start. */
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

/** value * scale rounded to the nearest integer by its exact product. Both are positive, the product below 2^52. */
uint64_t scaledExactly(double value, double scale) {
  const double product = value * scale;
  auto scaled = static_cast<int64_t>(product + 0.5);
  const auto rounded = static_cast<double>(scaled);
  const double nearTie = std::fabs(std::fabs(product - rounded) - 0.5);
  if (__builtin_expect(nearTie < 1e-3 || product > 1e12, 0)) {
    // The sign of a fused multiply-add is exact, however near the tie is.
    if (std::fma(value, scale, -(rounded + 0.5)) >= 0) {
      ++scaled;
    } else if (std::fma(value, scale, -(rounded - 0.5)) < 0) {
      --scaled;
    }
  }
  return static_cast<uint64_t>(scaled);
}

constexpr uint64_t powerOfTen(int exponent) { return exponent == 0 ? 1 : 10 * powerOfTen(exponent - 1); }

uint8_t* putWhole(uint8_t* out, uint64_t v) {
  if (v < 10) {
    *out = static_cast<uint8_t>('0' + v);
    return out + 1;
  }
  if (v < 100) {
    std::memcpy(out, kPairs.text + 2 * v, 2);
    return out + 2;
  }
  uint8_t digits[20];
  uint8_t* const end = digits + sizeof digits;
  const uint8_t* begin = digitsBefore(end, v);
  for (; begin != end; ++begin) *out++ = *begin;
  return out;
}

/** Writes scaled / 10^P. P is a constant, so that no digit costs a division. */
template <int P>
uint8_t* putScaled(uint8_t* out, uint64_t scaled) {
  constexpr uint64_t kPower = powerOfTen(P);
  using Fraction = std::conditional_t<(P <= 9), uint32_t, uint64_t>;
  const uint64_t whole = scaled / kPower;
  auto fraction = static_cast<Fraction>(scaled - whole * kPower);
  out = putWhole(out, whole);
  if (fraction == 0) return out;
  *out++ = '.';
  uint8_t* w = out + P;
  for (int i = P; i >= 2; i -= 2) {
    const Fraction rest = fraction / 100;
    w -= 2;
    std::memcpy(w, kPairs.text + 2 * (fraction - rest * 100), 2);
    fraction = rest;
  }
  if (P % 2 != 0) *out = static_cast<uint8_t>('0' + fraction);
  return trimZeros(out + P);
}

using ScaledWriter = uint8_t* (*)(uint8_t*, uint64_t);
constexpr ScaledWriter kScaledWriters[] = {
    putScaled<0>,  putScaled<1>,  putScaled<2>,  putScaled<3>,  putScaled<4>,  putScaled<5>,
    putScaled<6>,  putScaled<7>,  putScaled<8>,  putScaled<9>,  putScaled<10>, putScaled<11>,
    putScaled<12>, putScaled<13>, putScaled<14>, putScaled<15>,
};

}  // namespace

uint8_t* putInteger(uint8_t* out, int64_t value) {
  auto magnitude = static_cast<uint64_t>(value);
  if (value < 0) {
    *out++ = '-';
    magnitude = 0 - magnitude;
  }
  return putWhole(out, magnitude);
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
  return kScaledWriters[precision](out, scaled);
}

uint8_t* putShortest(uint8_t* out, double value) {
  if (std::fabs(value) < kExactIntegers && value == std::trunc(value)) {
    return putInteger(out, static_cast<int64_t>(value));
  }
  auto* text = reinterpret_cast<char*>(out);
  return reinterpret_cast<uint8_t*>(std::to_chars(text, text + kMaxNumberSize, value).ptr);
}

}  // namespace graticule
