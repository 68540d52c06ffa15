// Whether a geometry, not merely its envelope, has a point in a box.
#pragma once

#include "../geometry/geometry.h"
#include "../geometry/wkb.h"

namespace graticule {

/**
 * Whether the geometry and the closed box share a point; touching is sufficient. Polygons are filled (even-odd over
 * their rings): a box inside a polygon is a hit, and a box inside a hole is not. Z and M are ignored, and positions
 * that are not finite are in no box. Exact except for the rounding of one product of doubles per edge. O(vertices),
 * no allocation.
 */
bool intersectsBox(const Geometry& geometry, const Box& box);

/** Same for a blob. If its envelope decides, the geometry is not read. `scratch` is reused from call to call. */
ReadStatus intersectsBox(const uint8_t* blob, size_t size, const Box& box, Geometry& scratch, bool& answer);

}  // namespace graticule
