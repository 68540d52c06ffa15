// Lines over the ground with more positions.
#pragma once

#include <vector>

#include "../geometry/geometry.h"

namespace graticule {

/** A geometry in longitude and latitude whose segments are geodesics of WGS 84, cut into equal parts of no more than a length. */
class GroundDensifier {
 public:
  /** False when the result would have too many positions. */
  bool densify(const Geometry& geometry, double longest);

  /** Valid until the next densify(). Z and M are left behind. */
  const Geometry& geometry() const { return geometry_; }

 private:
  bool addSegment(const Sequence& s, size_t i, double longest);

  Geometry geometry_;
  std::vector<double> positions_;
};

}  // namespace graticule
