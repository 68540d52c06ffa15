// Clips rings and lines against a square, both axes from `low` to `high`. O(n), no allocation once warm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../geometry/geometry.h"

namespace graticule {

/** Flat x,y pairs. */
using Coordinates = std::vector<double>;

/**
 * Copies the positions of a sequence that matter for clipping against `box`; returns their number. If adjacent
 * positions are all beyond the same side of the box, only the first and the last are kept. Nothing between them can
 * touch the box. `out` must have space for 2 * count numbers.
 */
size_t copyNear(const Sequence& sequence, const Box& box, double* out);

/**
 * Clips a ring (Sutherland-Hodgman, one pass per axis). The ring is implicitly closed: its first position does not
 * have to be repeated. The result is in `ring`, empty if no part remains. Separate parts of a concave ring remain
 * joined by edges along the border, which enclose no area.
 */
void clipRing(Coordinates& ring, Coordinates& scratch, double low, double high);

/**
 * Clips a line of `n` positions. The result can have several parts: `ends` gets the index one past the last position
 * of each, in positions of `out`. Parts of a single position are omitted.
 */
void clipLine(const double* xy, size_t n, double low, double high, Coordinates& out, std::vector<uint32_t>& ends);

}  // namespace graticule
