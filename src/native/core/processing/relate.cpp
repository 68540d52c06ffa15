#include "relate.h"

#include <algorithm>
#include <cstring>

namespace graticule {
namespace {

Box boxOf(Geos& geos, const GEOSGeometry* g) {
  Box box;
  GEOSGeom_getXMin_r(geos.handle(), g, &box.minX);
  GEOSGeom_getYMin_r(geos.handle(), g, &box.minY);
  GEOSGeom_getXMax_r(geos.handle(), g, &box.maxX);
  GEOSGeom_getYMax_r(geos.handle(), g, &box.maxY);
  return box;
}

bool matrixOf(Geos& geos, const GEOSGeometry* a, const GEOSGeometry* b, Matrix& matrix) {
  char* text = GEOSRelate_r(geos.handle(), a, b);
  if (text == nullptr) return false;
  const bool whole = std::strlen(text) == matrix.size();
  if (whole) std::copy(text, text + matrix.size(), matrix.begin());
  GEOSFree_r(geos.handle(), text);
  return whole;
}

}  // namespace

void Relations::add(GeosGeometry geometry) {
  if (geometry != nullptr) tree_.add(boxOf(geos_, geometry.get()), static_cast<uint32_t>(geometries_.size()));
  geometries_.push_back(std::move(geometry));
}

bool Relations::relate(const GEOSGeometry* left, bool all, std::vector<Pair>& pairs) {
  pairs.clear();
  if (!isBuilt_) tree_.build();
  isBuilt_ = true;
  if (all) {
    for (uint32_t i = 0; i < geometries_.size(); ++i) pairs.push_back({i, {}});
  } else {
    tree_.query(boxOf(geos_, left), [&](uint32_t i) { pairs.push_back({i, {}}); });
    std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.right < b.right; });
  }
  const auto none = [&](const Pair& one) { return geometries_[one.right] == nullptr; };
  pairs.erase(std::remove_if(pairs.begin(), pairs.end(), none), pairs.end());
  for (Pair& one : pairs) {
    if (!matrixOf(geos_, left, geometries_[one.right].get(), one.matrix)) return false;
  }
  return true;
}

}  // namespace graticule
