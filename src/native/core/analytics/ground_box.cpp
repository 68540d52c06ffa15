#include "ground_box.h"

#include <algorithm>
#include <cmath>

namespace graticule {
namespace {

/** The least metres of a degree of latitude, anywhere on the ellipsoid. */
constexpr double kMetresPerDegree = 110574;

}  // namespace

std::vector<Box> groundBoxes(const Box& box, double metres) {
  const double dy = metres / kMetresPerDegree;
  const double latitude = std::min(90.0, std::max(std::fabs(box.minY), std::fabs(box.maxY)) + dy);
  const double cosine = std::cos(latitude * kRadiansPerDegree);
  const double dx = cosine > 1e-6 ? std::min(360.0, dy / cosine * 1.01) : 360;
  const Box wide{box.minX - dx, box.minY - dy, box.maxX + dx, box.maxY + dy};
  std::vector<Box> boxes{wide};
  if (wide.minX < -180) boxes.push_back({wide.minX + 360, wide.minY, wide.maxX + 360, wide.maxY});
  if (wide.maxX > 180) boxes.push_back({wide.minX - 360, wide.minY, wide.maxX - 360, wide.maxY});
  return boxes;
}

}  // namespace graticule
