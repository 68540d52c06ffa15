#include "unions.h"

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

}  // namespace

GeosGeometry uniteParts(Geos& geos, std::vector<GEOSGeometry*>& parts) {
  if (parts.empty()) return geos.own(GEOSGeom_createEmptyCollection_r(geos.handle(), GEOS_GEOMETRYCOLLECTION));
  if (parts.size() == 1) {
    GeosGeometry only = geos.own(parts[0]);
    parts.clear();
    return only;
  }
  const GeosGeometry all = collect(geos, parts);
  if (all == nullptr) return geos.own(nullptr);
  GeosGeometry whole = geos.own(GEOSUnaryUnion_r(geos.handle(), all.get()));
  if (whole != nullptr) return whole;
  // Rounding can bring edges to cross that did not.
  const GeosGeometry valid = geos.own(GEOSMakeValid_r(geos.handle(), all.get()));
  return geos.own(valid == nullptr ? nullptr : GEOSUnaryUnion_r(geos.handle(), valid.get()));
}

GrowingUnion::~GrowingUnion() {
  for (GEOSGeometry* g : run_) GEOSGeom_destroy_r(geos_.handle(), g);
}

bool GrowingUnion::add(GeosGeometry geometry) {
  if (geometry == nullptr || GEOSisEmpty_r(geos_.handle(), geometry.get()) != 0) return true;
  const int vertices = GEOSGetNumCoordinates_r(geos_.handle(), geometry.get());
  vertices_ += vertices > 0 ? static_cast<size_t>(vertices) : 0;
  run_.push_back(geometry.release());
  return (run_.size() < kRun && vertices_ < kRunVertices) || fold();
}

bool GrowingUnion::fold() {
  vertices_ = 0;
  GeosGeometry united = uniteParts(geos_, run_);
  size_t runs = 1;
  while (united != nullptr && !levels_.empty() && levels_.back().runs <= runs) {
    std::vector<GEOSGeometry*> both{levels_.back().geometry.release(), united.release()};
    runs += levels_.back().runs;
    levels_.pop_back();
    united = uniteParts(geos_, both);
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
  return uniteParts(geos_, all);
}

}  // namespace graticule
