// Envelopes in longitude and latitude, and distances over the ground.
#pragma once

#include <vector>

#include "../geometry/geometry.h"

namespace graticule {

constexpr double kRadiansPerDegree = 0.017453292519943295769;

/**
 * Returns the envelopes that contain everything within a distance: wider towards the poles, two at the antimeridian.
 */
std::vector<Box> groundBoxes(const Box& box, double metres);

}  // namespace graticule
