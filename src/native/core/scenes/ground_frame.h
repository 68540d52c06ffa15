// Local axes on the WGS 84 ellipsoid: east, north and up in metres from a point of origin.
#pragma once

#include <array>

#include "../geometry/geodesic.h"

namespace graticule {

/** A frame at a point of origin with ellipsoidal height 0. Computed in doubles: the error is below a micrometre. */
class GroundFrame {
 public:
  /** Longitude and latitude in degrees. */
  GroundFrame(double longitude, double latitude);

  /**
   * Position (east, north, up) on the ellipsoid, and the direction up at that position. A position at a height is
   * `ground + height * up`.
   */
  void place(double longitude, double latitude, Vector3& ground, Vector3& up) const;

  /** Earth-centred position (EPSG:4978) of the origin. */
  const Vector3& origin() const { return origin_; }

  /** Directions east, north and up at the origin, in earth-centred axes. */
  const Vector3& east() const { return east_; }
  const Vector3& north() const { return north_; }
  const Vector3& up() const { return up_; }

 private:
  Vector3 turn(const Vector3& v) const;

  Vector3 origin_;
  Vector3 east_;
  Vector3 north_;
  Vector3 up_;
};

}  // namespace graticule
