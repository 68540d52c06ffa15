// Corner cutting (Chaikin 1974) of lines and rings.
#pragma once

#include "../geometry/geos.h"

namespace graticule {

/**
 * Replaces each corner by two points at a quarter of its edges, `iterations` times. Ends of lines stay, points stay, Z is
 * dropped. Null when GEOS cannot build the result.
 */
GeosGeometry smooth(Geos& geos, const GEOSGeometry* geometry, uint32_t iterations);

}  // namespace graticule
