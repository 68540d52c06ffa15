// The integer grid of a tile: from CRS coordinates to grid units, y down.
#pragma once

#include <cmath>
#include <cstdint>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "../geometry/geometry.h"

namespace graticule {

/** Affine map from a tile's CRS box to its grid, and the clip box in grid units. */
struct TileGrid {
  double originX = 0;
  double originY = 0;
  double scaleX = 1;
  /** Negative: tile coordinates grow downwards. */
  double scaleY = -1;
  /** Clip box in grid units, the same on both axes. */
  double low = 0;
  double high = 4096;

  static TileGrid of(const Box& bbox, double extent, double buffer) {
    return {bbox.minX,  bbox.maxY, extent / (bbox.maxX - bbox.minX), -extent / (bbox.maxY - bbox.minY),
            -buffer, extent + buffer};
  }
  double gridX(double x) const { return (x - originX) * scaleX; }
  double gridY(double y) const { return (y - originY) * scaleY; }

  /** The clip box in the CRS of the tile, a hundredth of a grid unit wider on each side. */
  Box clipBox() const {
    const double margin = 0.01;
    return {originX + (low - margin) / scaleX, originY + (high + margin) / scaleY,
            originX + (high + margin) / scaleX, originY + (low - margin) / scaleY};
  }
};

/** Rounds as quantiseInside() does: to nearest, ties to even. Only for values inside the clip box. */
inline int32_t roundToGrid(double v) { return static_cast<int32_t>(std::lrint(v)); }

/**
 * Quantises a sequence in one pass over its doubles. `out` takes 2 * count ints. False as soon as a position is
 * outside the clip box or not a number; `out` is then of no use.
 */
inline bool quantiseInside(const Sequence& s, const TileGrid& grid, int32_t* out) {
  const uint8_t* p = s.data;
  const size_t stride = s.stride;
  // Checked once per block, so that long rings which leave the tile are given up early.
  constexpr size_t kBlock = 128;
#if defined(__SSE2__)
  const __m128d origin = _mm_set_pd(grid.originY, grid.originX);
  const __m128d scale = _mm_set_pd(grid.scaleY, grid.scaleX);
  const __m128d low = _mm_set1_pd(grid.low);
  const __m128d high = _mm_set1_pd(grid.high);
  for (size_t done = 0; done < s.count;) {
    const size_t end = s.count - done > kBlock ? done + kBlock : s.count;
    __m128d outside = _mm_setzero_pd();
    for (; done < end; ++done, p += stride, out += 2) {
      const __m128d xy = _mm_loadu_pd(reinterpret_cast<const double*>(p));
      const __m128d v = _mm_mul_pd(_mm_sub_pd(xy, origin), scale);
      outside = _mm_or_pd(outside, _mm_or_pd(_mm_cmpnge_pd(v, low), _mm_cmpnle_pd(v, high)));
      _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_cvtpd_epi32(v));
    }
    if (_mm_movemask_pd(outside) != 0) return false;
  }
#else
  for (size_t i = 0; i < s.count; ++i, p += stride, out += 2) {
    const double x = grid.gridX(loadNative<double>(p));
    const double y = grid.gridY(loadNative<double>(p + 8));
    if (!(x >= grid.low && x <= grid.high && y >= grid.low && y <= grid.high)) return false;
    out[0] = roundToGrid(x);
    out[1] = roundToGrid(y);
  }
  static_cast<void>(kBlock);
#endif
  return true;
}

}  // namespace graticule
