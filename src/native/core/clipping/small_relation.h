// Whether two geometries of few positions meet, and how far apart they are, without GEOS.
#pragma once

#include <geos_c.h>

#include <optional>

#include "../geometry/geometry.h"

namespace graticule {

/** A geometry and its envelope. */
struct Placed {
  const Geometry& geometry;
  const Box& box;
};

/**
 * What GEOS answers, by a comparison of all segments of one with those of the other. Nothing where they have too many
 * positions for that, and for what GEOS cannot hold or positions that are not finite.
 */
std::optional<bool> smallIntersects(GEOSContextHandle_t handle, const Placed& a, const Placed& b);

/** The least distance, as above. */
std::optional<double> smallDistance(GEOSContextHandle_t handle, const Placed& a, const Placed& b);

}  // namespace graticule
