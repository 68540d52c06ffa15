#include "unions.h"

#include <algorithm>
#include <cmath>

namespace graticule {
namespace {

/** Geometries of one run, and vertices beyond which it ends earlier. */
constexpr size_t kRun = 256;
constexpr size_t kRunVertices = 100'000;

GeosGeometry collect(Geos& geos, std::vector<GEOSGeometry*>& parts) {
  GeosGeometry all = geos.own(GEOSGeom_createCollection_r(geos.handle(), GEOS_GEOMETRYCOLLECTION, parts.data(),
                                                          static_cast<unsigned>(parts.size())));
  parts.clear();
  return all;
}

GeosGeometry uniteCollection(Geos& geos, const GEOSGeometry* all) {
  GeosGeometry whole = geos.own(GEOSUnaryUnion_r(geos.handle(), all));
  if (whole != nullptr) return whole;
  // Rounding can bring edges to cross that did not.
  const GeosGeometry valid = geos.own(GEOSMakeValid_r(geos.handle(), all));
  return geos.own(valid == nullptr ? nullptr : GEOSUnaryUnion_r(geos.handle(), valid.get()));
}

/** Share of the area of a coverage that rounding may add or take. */
constexpr double kAreaTolerance = 1e-11;

bool isArea(Geos& geos, const GEOSGeometry* g) {
  const int type = GEOSGeomTypeId_r(geos.handle(), g);
  return (type == GEOS_POLYGON || type == GEOS_MULTIPOLYGON) && GEOSHasZ_r(geos.handle(), g) == 0;
}

/** The area of the smallest polygon of an area. */
double leastArea(Geos& geos, const GEOSGeometry* g) {
  double least = std::numeric_limits<double>::infinity();
  const int parts = GEOSGetNumGeometries_r(geos.handle(), g);
  for (int i = 0; i < parts; ++i) {
    double area = 0;
    if (GEOSArea_r(geos.handle(), GEOSGetGeometryN_r(geos.handle(), g, i), &area) == 1) least = std::min(least, area);
  }
  return least;
}

/**
 * Returns the union of areas that are disjoint or share complete edges, by dropping these edges. Null for other
 * areas, for which the result is not a union; its validity or its area shows this. Dropping edges turns a polygon
 * inside another into a hole, and removes two equal polygons. The area then changes by `least`, the area of the
 * smallest polygon, or more.
 */
GeosGeometry uniteCoverage(Geos& geos, const GEOSGeometry* all, double least) {
  double before = 0;
  double after = 0;
  GeosGeometry whole = geos.own(GEOSCoverageUnion_r(geos.handle(), all));
  const bool measured = whole != nullptr && GEOSArea_r(geos.handle(), all, &before) == 1 &&
                        GEOSArea_r(geos.handle(), whole.get(), &after) == 1;
  const bool same = measured && std::fabs(after - before) <= std::min(kAreaTolerance * before, least / 2);
  if (same && GEOSisValid_r(geos.handle(), whole.get()) == 1) return whole;
  geos.forgetError();
  return geos.own(nullptr);
}

}  // namespace

GeosGeometry uniteParts(Geos& geos, std::vector<GEOSGeometry*>& parts) {
  if (parts.empty()) return geos.own(GEOSGeom_createEmptyCollection_r(geos.handle(), GEOS_GEOMETRYCOLLECTION));
  if (parts.size() == 1) {
    GeosGeometry only = geos.own(parts[0]);
    parts.clear();
    return only;
  }
  const GeosGeometry all = collect(geos, parts);
  return all == nullptr ? geos.own(nullptr) : uniteCollection(geos, all.get());
}

GrowingUnion::~GrowingUnion() {
  for (GEOSGeometry* g : run_) GEOSGeom_destroy_r(geos_.handle(), g);
}

bool GrowingUnion::add(GeosGeometry geometry) {
  if (geometry == nullptr || GEOSisEmpty_r(geos_.handle(), geometry.get()) != 0) return true;
  coverage_ = coverage_ && isArea(geos_, geometry.get());
  if (coverage_) least_ = std::min(least_, leastArea(geos_, geometry.get()));
  const int vertices = GEOSGetNumCoordinates_r(geos_.handle(), geometry.get());
  vertices_ += vertices > 0 ? static_cast<size_t>(vertices) : 0;
  run_.push_back(geometry.release());
  return (run_.size() < kRun && vertices_ < kRunVertices) || fold();
}

GeosGeometry GrowingUnion::unite(std::vector<GEOSGeometry*>& parts) {
  if (!coverage_ || parts.size() < 2) return uniteParts(geos_, parts);
  const GeosGeometry all = collect(geos_, parts);
  if (all == nullptr) return geos_.own(nullptr);
  GeosGeometry whole = uniteCoverage(geos_, all.get(), least_);
  coverage_ = whole != nullptr;
  return coverage_ ? std::move(whole) : uniteCollection(geos_, all.get());
}

bool GrowingUnion::fold() {
  vertices_ = 0;
  GeosGeometry united = unite(run_);
  size_t runs = 1;
  while (united != nullptr && !levels_.empty() && levels_.back().runs <= runs) {
    std::vector<GEOSGeometry*> both{levels_.back().geometry.release(), united.release()};
    runs += levels_.back().runs;
    levels_.pop_back();
    united = unite(both);
  }
  if (united == nullptr) return false;
  levels_.push_back({std::move(united), runs});
  return true;
}

GeosGeometry GrowingUnion::take() {
  std::vector<GEOSGeometry*> all;
  for (Level& level : levels_) all.push_back(level.geometry.release());
  levels_.clear();
  all.insert(all.end(), run_.begin(), run_.end());
  run_.clear();
  vertices_ = 0;
  GeosGeometry whole = unite(all);
  coverage_ = true;
  least_ = std::numeric_limits<double>::infinity();
  return whole;
}

}  // namespace graticule
