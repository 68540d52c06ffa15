// Circular arcs as chains of straight lines.
#pragma once

#include <cstddef>
#include <vector>

namespace graticule {

/**
 * Chords of a quarter circle, the same as by default in ST_CurveToLine of PostGIS. The maximum distance of a chord
 * from its arc is 0.031 % of the radius.
 */
constexpr int kChordsPerQuarter = 32;

/**
 * Appends the positions of the arc from `a` over `b` to `c`, without `a`. Each position has `ordinates` doubles, x
 * and y first; the other ordinates are interpolated by the angle. If `a` equals `c`, the arc is a full circle whose
 * diameter ends at `b`. Positions on a straight line remain unchanged. An arc and its reverse have the same
 * positions.
 */
void appendArc(std::vector<double>& out, const double* a, const double* b, const double* c, size_t ordinates);

}  // namespace graticule
