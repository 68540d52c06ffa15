// Numbers as JSON text.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graticule {

constexpr int kMaxPrecision = 15;
/** Most bytes putFixed() writes: sign, 309 digits, point, 15 decimals. */
constexpr size_t kMaxFixedSize = 1 + 309 + 1 + kMaxPrecision;
/** Most bytes putInteger() and putShortest() write. */
constexpr size_t kMaxNumberSize = 32;

/** Writes an integer in decimal. */
uint8_t* putInteger(uint8_t* out, int64_t value);

/**
 * Writes a finite number with at most `precision` (0 to 15) decimals, rounded as Number.prototype.toFixed does:
 * exactly, ties away from zero. From 2^52 units of the last decimal on, ties go to even. Trailing zeros and
 * "-0" are never written.
 */
uint8_t* putFixed(uint8_t* out, double value, int precision);

/** Writes a finite number with the fewest digits that read back as the same double. */
uint8_t* putShortest(uint8_t* out, double value);

}  // namespace graticule
