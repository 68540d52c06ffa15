// Protocol Buffers wire format: varints and field keys.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graticule {

constexpr size_t kMaxVarint32 = 5;
constexpr size_t kMaxVarint64 = 10;

constexpr uint32_t zigzag(int32_t v) {
  return (static_cast<uint32_t>(v) << 1) ^ static_cast<uint32_t>(v >> 31);
}
constexpr uint64_t zigzag64(int64_t v) {
  return (static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63);
}

inline uint8_t* putVarint64(uint8_t* p, uint64_t v) {
  while (v >= 0x80) {
    *p++ = static_cast<uint8_t>(v | 0x80);
    v >>= 7;
  }
  *p++ = static_cast<uint8_t>(v);
  return p;
}

/** Difference of two numbers in zigzag order. It wraps around like two's complements. */
constexpr uint32_t zigzagDifference(int32_t a, int32_t b) {
  return zigzag(static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b)));
}

/** Without a branch between one byte and two: deltas in a tile mix both, which no predictor learns. */
inline uint8_t* putVarint32(uint8_t* p, uint32_t v) {
  if (__builtin_expect(v >= 0x4000, 0)) return putVarint64(p, v);
  const uint32_t more = v > 0x7f;
  p[0] = static_cast<uint8_t>(v | more << 7);
  p[1] = static_cast<uint8_t>(v >> 7);
  return p + 1 + more;
}

/** Seven bits a byte, without a loop. */
constexpr size_t varintSize(uint64_t v) {
  return static_cast<size_t>((63 - __builtin_clzll(v | 1)) * 9 + 73) / 64;
}

/** Reads a varint; null when it does not end before `end` or within ten bytes. */
inline const uint8_t* getVarint(const uint8_t* p, const uint8_t* end, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 70 && p < end; shift += 7) {
    const uint8_t byte = *p++;
    value |= static_cast<uint64_t>(byte & 0x7f) << (shift & 63);
    if (byte < 0x80) return p;
  }
  return nullptr;
}

/** Same for numbers of 32 bits, most of which have one or two bytes. Longer numbers lose their higher bits. */
inline const uint8_t* getVarint32(const uint8_t* p, const uint8_t* end, uint32_t& value) {
  if (__builtin_expect(end - p >= 2, 1)) {
    value = p[0];
    if (value < 0x80) return p + 1;
    value = (value & 0x7f) | static_cast<uint32_t>(p[1]) << 7;
    if (p[1] < 0x80) return p + 2;
  }
  uint64_t whole = 0;
  p = getVarint(p, end, whole);
  value = static_cast<uint32_t>(whole);
  return p;
}

/** Key of a length-delimited field. */
constexpr uint8_t lengthDelimited(int field) { return static_cast<uint8_t>(field << 3 | 2); }
/** Key of a varint field. */
constexpr uint8_t varintField(int field) { return static_cast<uint8_t>(field << 3); }

}  // namespace graticule
