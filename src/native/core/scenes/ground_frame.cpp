#include "ground_frame.h"

#include <cmath>

namespace graticule {
namespace {

constexpr double kRadians = 3.14159265358979323846 / 180;
/** Semi-major axis and squared eccentricity of WGS 84. */
constexpr double kSemiMajor = 6378137;
constexpr double kFlattening = 1 / 298.257223563;
constexpr double kEccentricity2 = kFlattening * (2 - kFlattening);

/** Earth-centred position on the ellipsoid, and the direction up. */
Vector3 placeOnEarth(double longitude, double latitude, Vector3& up) {
  const double sinLongitude = std::sin(longitude * kRadians);
  const double cosLongitude = std::cos(longitude * kRadians);
  const double sinLatitude = std::sin(latitude * kRadians);
  const double cosLatitude = std::cos(latitude * kRadians);
  const double radius = kSemiMajor / std::sqrt(1 - kEccentricity2 * sinLatitude * sinLatitude);
  up = {cosLatitude * cosLongitude, cosLatitude * sinLongitude, sinLatitude};
  return {radius * up.x, radius * up.y, radius * (1 - kEccentricity2) * up.z};
}

double dot(const Vector3& a, const Vector3& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

}  // namespace

GroundFrame::GroundFrame(double longitude, double latitude) {
  origin_ = placeOnEarth(longitude, latitude, up_);
  const double sinLongitude = std::sin(longitude * kRadians);
  const double cosLongitude = std::cos(longitude * kRadians);
  east_ = {-sinLongitude, cosLongitude, 0};
  north_ = {-up_.z * cosLongitude, -up_.z * sinLongitude, std::cos(latitude * kRadians)};
}

Vector3 GroundFrame::turn(const Vector3& v) const { return {dot(v, east_), dot(v, north_), dot(v, up_)}; }

void GroundFrame::place(double longitude, double latitude, Vector3& ground, Vector3& up) const {
  Vector3 direction;
  const Vector3 position = placeOnEarth(longitude, latitude, direction);
  ground = turn({position.x - origin_.x, position.y - origin_.y, position.z - origin_.z});
  up = turn(direction);
}

}  // namespace graticule
