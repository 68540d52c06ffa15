#include "measure.h"

#include <geodesic.h>

#include <cmath>

#include "../geometry/geodesic.h"

namespace graticule {
namespace {

/** Length of a sequence, and for a ring also the absolute area. */
struct Extent {
  double area;
  double length;
};

Extent planarExtent(const Sequence& s, bool) {
  Extent extent{0, 0};
  for (size_t i = 1; i < s.count; ++i) {
    extent.length += std::hypot(s.x(i) - s.x(i - 1), s.y(i) - s.y(i - 1));
    // Around the first position, which keeps the products small.
    extent.area += (s.x(i - 1) - s.x(0)) * (s.y(i) - s.y(0)) - (s.x(i) - s.x(0)) * (s.y(i - 1) - s.y(0));
  }
  extent.area = std::fabs(extent.area) / 2;
  return extent;
}

Extent groundExtent(const Sequence& s, bool ring) {
  static const geod_geodesic ellipsoid = [] {
    geod_geodesic g;
    const CrsMeasure wgs84;
    geod_init(&g, wgs84.semiMajorMetre, wgs84.flattening);
    return g;
  }();
  geod_polygon polygon;
  geod_polygon_init(&polygon, ring ? 0 : 1);
  for (size_t i = 0; i < s.count; ++i) geod_polygon_addpoint(&ellipsoid, &polygon, s.y(i), s.x(i));
  Extent extent{0, 0};
  constexpr int kSigned = 1;
  geod_polygon_compute(&ellipsoid, &polygon, 0, kSigned, ring ? &extent.area : nullptr, &extent.length);
  extent.area = std::fabs(extent.area);
  return extent;
}

template <typename ExtentOf>
Measures measure(const Geometry& geometry, ExtentOf&& extentOf) {
  Measures all;
  for (const Node& node : geometry.nodes) {
    if (!node.simple() || node.type == GeometryType::Point) continue;
    const bool polygon = node.type == GeometryType::Polygon;
    for (uint32_t i = 0; i < node.sequences; ++i) {
      const Extent extent = extentOf(geometry.sequences[node.firstSequence + i], polygon);
      (polygon ? all.perimeter : all.length) += extent.length;
      if (polygon) all.area += i == 0 ? extent.area : -extent.area;
    }
  }
  return all;
}

}  // namespace

Measures planarMeasures(const Geometry& geometry) { return measure(geometry, planarExtent); }

Measures groundMeasures(const Geometry& geometry) { return measure(geometry, groundExtent); }

}  // namespace graticule
