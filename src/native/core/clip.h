// Clips rings and lines against a square, both axes from `low` to `high`. O(n), no allocation once warm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace graticule {

/** Flat x,y pairs. */
using Coordinates = std::vector<double>;

/**
 * Clips a ring (Sutherland-Hodgman, one pass per axis). The ring is implicitly closed: its first position need not be
 * repeated. The result is in `ring`, empty when nothing is left; parts of a concave ring that fall apart stay
 * joined by edges along the border, which enclose no area.
 */
void clipRing(Coordinates& ring, Coordinates& scratch, double low, double high);

/**
 * Clips a line of `n` positions. What is left falls into parts: `ends` gets the index one past the last position
 * of each, in positions of `out`. Parts of a single position are left out.
 */
void clipLine(const double* xy, size_t n, double low, double high, Coordinates& out, std::vector<uint32_t>& ends);

}  // namespace graticule
