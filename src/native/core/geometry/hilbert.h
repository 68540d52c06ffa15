// Position along a Hilbert curve, to store neighbours next to each other.
#pragma once

#include <cstdint>

#include "geometry.h"

namespace graticule {

/** Index (0 to 2^32 - 1) of a cell of a 65536 x 65536 grid along the Hilbert curve. */
inline uint32_t hilbertIndex(uint32_t x, uint32_t y) {
  constexpr uint32_t kSide = 1u << 16;
  uint32_t index = 0;
  for (uint32_t s = kSide / 2; s > 0; s /= 2) {
    const uint32_t rx = (x & s) != 0;
    const uint32_t ry = (y & s) != 0;
    index += s * s * ((3 * rx) ^ ry);
    if (ry == 0) {
      if (rx == 1) {
        x = kSide - 1 - x;
        y = kSide - 1 - y;
      }
      const uint32_t swap = x;
      x = y;
      y = swap;
    }
  }
  return index;
}

/** The grid cell of `v` between `min` and `max`; values beyond go to the border cells. */
inline uint32_t hilbertCell(double v, double min, double max) {
  const double t = max > min ? (v - min) / (max - min) * 65536.0 : 0;
  if (!(t > 0)) return 0;
  return t >= 65535.0 ? 65535u : static_cast<uint32_t>(t);
}

}  // namespace graticule
