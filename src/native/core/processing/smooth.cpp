#include "smooth.h"

#include <vector>

namespace graticule {
namespace {

using Positions = std::vector<double>;

void cut(Positions& positions, bool ring) {
  const size_t n = positions.size() / 2;
  if (n < 3) return;
  Positions result;
  result.reserve(positions.size() * 2);
  const auto add = [&](size_t i, size_t j, double share) {
    for (size_t k = 0; k < 2; ++k) {
      result.push_back(positions[2 * i + k] + (positions[2 * j + k] - positions[2 * i + k]) * share);
    }
  };
  if (!ring) add(0, 0, 0);
  for (size_t i = 0; i + 1 < n; ++i) {
    if (ring || i > 0) add(i, i + 1, 0.25);
    if (ring || i + 2 < n) add(i, i + 1, 0.75);
  }
  if (ring) {
    result.push_back(result[0]);
    result.push_back(result[1]);
  } else {
    add(n - 1, n - 1, 0);
  }
  positions = std::move(result);
}

GEOSCoordSequence* smoothed(GEOSContextHandle_t handle, const GEOSGeometry* line, uint32_t iterations, bool ring) {
  const GEOSCoordSequence* sequence = GEOSGeom_getCoordSeq_r(handle, line);
  unsigned n = 0;
  if (sequence == nullptr || GEOSCoordSeq_getSize_r(handle, sequence, &n) == 0) return nullptr;
  Positions positions(2 * size_t{n});
  if (n > 0 && GEOSCoordSeq_copyToBuffer_r(handle, sequence, positions.data(), 0, 0) == 0) return nullptr;
  for (uint32_t i = 0; i < iterations; ++i) cut(positions, ring);
  return GEOSCoordSeq_copyFromBuffer_r(handle, positions.data(), static_cast<unsigned>(positions.size() / 2), 0, 0);
}

GEOSGeometry* smoothLine(GEOSContextHandle_t handle, const GEOSGeometry* line, uint32_t iterations) {
  GEOSCoordSequence* sequence = smoothed(handle, line, iterations, GEOSisClosed_r(handle, line) == 1);
  return sequence == nullptr ? nullptr : GEOSGeom_createLineString_r(handle, sequence);
}

GEOSGeometry* smoothRing(GEOSContextHandle_t handle, const GEOSGeometry* ring, uint32_t iterations) {
  GEOSCoordSequence* sequence = smoothed(handle, ring, iterations, true);
  return sequence == nullptr ? nullptr : GEOSGeom_createLinearRing_r(handle, sequence);
}

GEOSGeometry* smoothPolygon(GEOSContextHandle_t handle, const GEOSGeometry* polygon, uint32_t iterations) {
  GEOSGeometry* shell = smoothRing(handle, GEOSGetExteriorRing_r(handle, polygon), iterations);
  if (shell == nullptr) return nullptr;
  std::vector<GEOSGeometry*> holes;
  const int n = GEOSGetNumInteriorRings_r(handle, polygon);
  for (int i = 0; i < n; ++i) {
    GEOSGeometry* hole = smoothRing(handle, GEOSGetInteriorRingN_r(handle, polygon, i), iterations);
    if (hole != nullptr) holes.push_back(hole);
  }
  return GEOSGeom_createPolygon_r(handle, shell, holes.data(), static_cast<unsigned>(holes.size()));
}

GEOSGeometry* smoothAny(GEOSContextHandle_t handle, const GEOSGeometry* g, uint32_t iterations) {
  const int type = GEOSGeomTypeId_r(handle, g);
  if (GEOSisEmpty_r(handle, g) != 0 || type == GEOS_POINT) return GEOSGeom_clone_r(handle, g);
  if (type == GEOS_LINESTRING || type == GEOS_LINEARRING) return smoothLine(handle, g, iterations);
  if (type == GEOS_POLYGON) return smoothPolygon(handle, g, iterations);
  std::vector<GEOSGeometry*> parts;
  const int n = GEOSGetNumGeometries_r(handle, g);
  for (int i = 0; i < n; ++i) {
    GEOSGeometry* part = smoothAny(handle, GEOSGetGeometryN_r(handle, g, i), iterations);
    if (part != nullptr) parts.push_back(part);
  }
  return GEOSGeom_createCollection_r(handle, type, parts.data(), static_cast<unsigned>(parts.size()));
}

}  // namespace

GeosGeometry smooth(Geos& geos, const GEOSGeometry* geometry, uint32_t iterations) {
  return geos.own(smoothAny(geos.handle(), geometry, iterations));
}

}  // namespace graticule
