// Whether a geometry, not merely its envelope, has a point in a box.
#pragma once

#include "../geometry/geometry.h"
#include "../geometry/wkb.h"

namespace graticule {

/**
 * True when the geometry and the closed box share a point: touching is enough. Polygons are filled (even-odd over their
 * rings), so a box inside one is a hit and a box inside a hole is none. Z and M play no part; positions that are no
 * numbers are in no box. Exact but for the rounding of one product of doubles per edge. O(vertices), no allocation.
 */
bool intersectsBox(const Geometry& geometry, const Box& box);

/** The same for a blob; what its envelope decides is not looked at again. `scratch` is reused from call to call. */
ReadStatus intersectsBox(const uint8_t* blob, size_t size, const Box& box, Geometry& scratch, bool& answer);

}  // namespace graticule
