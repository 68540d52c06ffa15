// The point that stands for a geometry.
#pragma once

#include "../geometry/geometry.h"

namespace graticule {

/**
 * The centroid, as ST_Centroid has it: of the parts of the highest dimension, by area, length or number; of the lower
 * ones where these have no extent. False, and x and y as they were, for empty geometries and positions that are no
 * numbers. With `degrees`, x is a longitude and parts that were cut at 180 degrees count as joined there.
 */
bool centroidOf(const Geometry& geometry, double& x, double& y, bool degrees = false);

}  // namespace graticule
