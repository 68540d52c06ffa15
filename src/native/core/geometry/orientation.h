// Positions, segments, and the side of a segment on which a position is.
#pragma once

#include <geos_c.h>

#include <algorithm>
#include <cmath>

#include "box_tree.h"

namespace graticule {

struct Position {
  double x;
  double y;
  bool operator==(const Position& other) const { return x == other.x && y == other.y; }
};

/**
 * Returns the side of the line from a to b on which a position is: 1 left, -1 right, 0 on it. GEOS decides if doubles
 * are not exact enough.
 */
inline int side(GEOSContextHandle_t handle, const Position& a, const Position& b, const Position& p) {
  // Maximum rounding error of the determinant, as a share of its terms.
  constexpr double kSafe = 1e-15;
  const double left = (a.x - p.x) * (b.y - p.y);
  const double right = (a.y - p.y) * (b.x - p.x);
  const double det = left - right;
  if (std::fabs(det) >= kSafe * (std::fabs(left) + std::fabs(right)) && det != 0) return det > 0 ? 1 : -1;
  return GEOSOrientationIndex_r(handle, a.x, a.y, b.x, b.y, p.x, p.y);
}

/** From a position to itself for a point. */
struct Segment {
  Position a;
  Position b;
  Box box() const { return {std::min(a.x, b.x), std::min(a.y, b.y), std::max(a.x, b.x), std::max(a.y, b.y)}; }
};

/** Whether segments share a position whose boxes meet. */
inline bool meet(GEOSContextHandle_t handle, const Segment& p, const Segment& q) {
  const int first = side(handle, p.a, p.b, q.a);
  if (first != 0 && first == side(handle, p.a, p.b, q.b)) return false;
  const int second = side(handle, q.a, q.b, p.a);
  return second == 0 || second != side(handle, q.a, q.b, p.b);
}

/** Whether a ray from p to the right passes an edge of a ring, which p is not on. */
inline bool passes(GEOSContextHandle_t handle, const Position& p, const Position& a, const Position& b) {
  return (a.y > p.y) != (b.y > p.y) && (side(handle, a, b, p) > 0) == (b.y > a.y);
}

}  // namespace graticule
