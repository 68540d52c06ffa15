// A geometry in another CRS.
#pragma once

#include <vector>

#include "../geometry/geometry.h"
#include "../geometry/reprojector.h"

namespace graticule {

/** A copy of a geometry in the plane, reprojected. Z and M are left behind. */
class ProjectedGeometry {
 public:
  /** Returns false if a position is not finite or cannot be projected. */
  bool project(const Geometry& from, const Reprojector& reprojector);

  /** Valid until the next project(). */
  const Geometry& geometry() const { return geometry_; }

 private:
  Geometry geometry_;
  std::vector<double> positions_;
};

}  // namespace graticule
