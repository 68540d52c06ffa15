// Rings and lines on the integer grid of a tile: flat x,y pairs, the first position of a ring not repeated.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graticule {

/** Drops positions equal to the one before; returns how many are left. */
size_t dropRepeated(int32_t* xy, size_t n);

/** The same for a ring, whose last position comes before its first. */
size_t dropRepeatedOfRing(int32_t* xy, size_t n);

/** Removes artefacts of clipping along the border: edges that run back and forth on one line. */
size_t dropBorderRuns(int32_t* xy, size_t n, int32_t low, int32_t high);

/**
 * Removes spikes that the grid creates from slivers and narrow arms: edges that run back over themselves, which the
 * specification forbids (4.3.4.4). The ring does not have equal neighbours, before and after.
 */
size_t dropSpikes(int32_t* xy, size_t n);

/** Twice the signed area by the surveyor's formula; positive is clockwise on a y-down screen. */
int64_t doubleArea(const int32_t* xy, size_t n);

enum class Side : uint8_t { Inside, Outside, On };

/** On which side of a ring a position is. */
Side sideOf(const int32_t* xy, size_t n, const int32_t* p);

}  // namespace graticule
