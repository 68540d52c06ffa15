// Centroid of a geometry.
#pragma once

#include "../geometry/geometry.h"

namespace graticule {

/**
 * Returns the same centroid as ST_Centroid. It considers the parts of the highest dimension, by area, length or
 * number, and the parts of a lower dimension if these have no extent. False for empty geometries and positions that
 * are not finite; x and y are then unchanged. With `degrees`, x is a longitude, and parts that were cut at 180
 * degrees count as joined there.
 */
bool centroidOf(const Geometry& geometry, double& x, double& y, bool degrees = false);

}  // namespace graticule
