// Circular arcs as chains of straight lines.
#pragma once

#include <cstddef>
#include <vector>

namespace graticule {

/**
 * Chords of a quarter circle, as ST_CurveToLine of PostGIS has them by default: a chord lies no farther from its arc than
 * 0.031 % of the radius.
 */
constexpr int kChordsPerQuarter = 32;

/**
 * Appends the positions of the arc from `a` over `b` to `c`, without `a`. Each position has `ordinates` doubles, x and y
 * first; the others are interpolated by the angle. `a` equal to `c` is a full circle whose diameter ends at `b`. Positions
 * on a straight line stay as they are. An arc and its reverse have the same positions.
 */
void appendArc(std::vector<double>& out, const double* a, const double* b, const double* c, size_t ordinates);

}  // namespace graticule
