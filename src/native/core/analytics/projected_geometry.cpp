#include "projected_geometry.h"

#include <cmath>

namespace graticule {

bool ProjectedGeometry::project(const Geometry& from, const Reprojector& reprojector) {
  size_t total = 0;
  for (const Sequence& s : from.sequences) total += s.count;
  positions_.resize(2 * total);
  geometry_.clear();
  geometry_.nodes = from.nodes;
  double* p = positions_.data();
  for (const Sequence& s : from.sequences) {
    geometry_.sequences.push_back({reinterpret_cast<const uint8_t*>(p), s.count, 16, false});
    for (size_t i = 0; i < s.count; ++i, p += 2) {
      p[0] = s.x(i);
      p[1] = s.y(i);
    }
  }
  reprojector.transform(positions_.data(), total);
  for (const double v : positions_) {
    if (!std::isfinite(v)) return false;
  }
  return true;
}

}  // namespace graticule
