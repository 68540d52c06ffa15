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
 * Returns the same result as GEOS, by comparing all segments of one geometry with all segments of the other. Empty if
 * they have too many positions for that, for geometries that GEOS cannot represent, and for positions that are not
 * finite.
 */
std::optional<bool> smallIntersects(GEOSContextHandle_t handle, const Placed& a, const Placed& b);

/** The least distance, as above. */
std::optional<double> smallDistance(GEOSContextHandle_t handle, const Placed& a, const Placed& b);

}  // namespace graticule
