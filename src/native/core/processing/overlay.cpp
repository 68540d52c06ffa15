#include "overlay.h"

#include <algorithm>

#include "geometry_operation.h"
#include "unions.h"

namespace graticule {

namespace {

/** Does `binary` to both, and where that fails, to both repaired. */
template <typename Binary>
GeosGeometry robust(Geos& geos, const GEOSGeometry* a, const GEOSGeometry* b, Binary&& binary) {
  GeosGeometry result = geos.own(binary(geos.handle(), a, b));
  if (result != nullptr) return result;
  const GeosGeometry left = repair(geos, geos.own(GEOSGeom_clone_r(geos.handle(), a)));
  const GeosGeometry right = repair(geos, geos.own(GEOSGeom_clone_r(geos.handle(), b)));
  if (left == nullptr || right == nullptr) return result;
  return geos.own(binary(geos.handle(), left.get(), right.get()));
}

void gather(Geos& geos, const GEOSGeometry* g, int dimension, std::vector<GEOSGeometry*>& parts) {
  if (GEOSGeomTypeId_r(geos.handle(), g) == GEOS_GEOMETRYCOLLECTION) {
    const int n = GEOSGetNumGeometries_r(geos.handle(), g);
    for (int i = 0; i < n; ++i) gather(geos, GEOSGetGeometryN_r(geos.handle(), g, i), dimension, parts);
  } else if (GEOSGeom_getDimensions_r(geos.handle(), g) == dimension) {
    parts.push_back(GEOSGeom_clone_r(geos.handle(), g));
  }
}

/**
 * Returns the parts of a collection that have a dimension as one geometry, because touching areas also share lines
 * and points.
 */
GeosGeometry ofDimension(Geos& geos, GeosGeometry geometry, int dimension) {
  if (GEOSGeomTypeId_r(geos.handle(), geometry.get()) != GEOS_GEOMETRYCOLLECTION) {
    if (GEOSGeom_getDimensions_r(geos.handle(), geometry.get()) == dimension) return geometry;
    return geos.own(GEOSGeom_createEmptyCollection_r(geos.handle(), GEOS_GEOMETRYCOLLECTION));
  }
  std::vector<GEOSGeometry*> parts;
  gather(geos, geometry.get(), dimension, parts);
  return uniteParts(geos, parts);
}

/** Not valid for null and empty ones. */
Box boxOf(Geos& geos, const GEOSGeometry* g) {
  const GEOSContextHandle_t handle = geos.handle();
  Box box;
  const bool measured = g != nullptr && GEOSisEmpty_r(handle, g) == 0 && GEOSGeom_getXMin_r(handle, g, &box.minX) == 1 &&
                        GEOSGeom_getYMin_r(handle, g, &box.minY) == 1 && GEOSGeom_getXMax_r(handle, g, &box.maxX) == 1 &&
                        GEOSGeom_getYMax_r(handle, g, &box.maxY) == 1;
  return measured ? box : Box{};
}

Box boxOf(const Ring& ring) {
  Box box;
  for (const Position& p : ring) box.add(p.x, p.y);
  return box;
}

/** Returns the area unchanged. */
GeosGeometry areaOf(Geos& geos, const Shell& shell) {
  Ring closed = shell.ring;
  if (shell.reversed) std::reverse(closed.begin(), closed.end());
  closed.push_back(Position(closed.front()));
  Geometry geometry;
  geometry.nodes.push_back({GeometryType::Polygon, 0, 0, 1});
  geometry.sequences.push_back({reinterpret_cast<const uint8_t*>(closed.data()), static_cast<uint32_t>(closed.size()),
                                sizeof(Position), false});
  return geos.read(geometry);
}

}  // namespace

bool Overlay::add(const Geometry& geometry) {
  Right right{shellOf(geos_.handle(), geometry), geos_.own(nullptr), GeosPrepared(nullptr, GeosDeleter{geos_.handle()})};
  if (!right.shell && !geometry.empty()) {
    geos_.forgetError();
    right.geometry = repair(geos_, geos_.read(geometry));
  }
  const bool usable = right.shell || geometry.empty() || right.geometry != nullptr;
  right_.push_back(std::move(right));
  return usable;
}

void Overlay::build() {
  for (uint32_t i = 0; i < right_.size(); ++i) {
    tree_.add(right_[i].shell ? boxOf(right_[i].shell->ring) : boxOf(geos_, right_[i].geometry.get()), i);
  }
  tree_.build();
  built_ = true;
}

const GEOSGeometry* Overlay::right(uint32_t i) {
  Right& one = right_[i];
  if (one.geometry == nullptr && one.shell) one.geometry = areaOf(geos_, *one.shell);
  return one.geometry.get();
}

const GEOSPreparedGeometry* Overlay::prepared(uint32_t i) {
  Right& one = right_[i];
  if (one.prepared == nullptr) one.prepared.reset(GEOSPrepare_r(geos_.handle(), right(i)));
  return one.prepared.get();
}

std::vector<uint32_t> Overlay::touching(const Box& window) {
  if (!built_) build();
  std::vector<uint32_t> candidates;
  tree_.query(window, [&](uint32_t i) { candidates.push_back(i); });
  std::sort(candidates.begin(), candidates.end());
  return candidates;
}

std::vector<uint32_t> Overlay::meeting(const GEOSGeometry* left) {
  std::vector<uint32_t> candidates = touching(boxOf(geos_, left));
  const auto apart = [&](uint32_t i) {
    // If GEOS fails here, the operation itself reports the reason.
    return GEOSPreparedIntersects_r(geos_.handle(), prepared(i), left) == 0;
  };
  candidates.erase(std::remove_if(candidates.begin(), candidates.end(), apart), candidates.end());
  return candidates;
}

GeosGeometry Overlay::clip(const GEOSGeometry* left) {
  const std::vector<uint32_t> rights = meeting(left);
  for (const uint32_t i : rights) {
    if (GEOSPreparedCovers_r(geos_.handle(), prepared(i), left) == 1) return geos_.own(GEOSGeom_clone_r(geos_.handle(), left));
  }
  const int dimension = GEOSGeom_getDimensions_r(geos_.handle(), left);
  std::vector<GeosGeometry> pieces;
  for (const uint32_t i : rights) {
    GeosGeometry piece = robust(geos_, left, right(i), GEOSIntersection_r);
    if (piece == nullptr) return piece;
    pieces.push_back(ofDimension(geos_, std::move(piece), dimension));
  }
  if (pieces.empty()) return geos_.own(GEOSGeom_createEmptyCollection_r(geos_.handle(), GEOS_GEOMETRYCOLLECTION));
  if (pieces.size() == 1) return std::move(pieces[0]);
  std::vector<GEOSGeometry*> parts;
  for (GeosGeometry& piece : pieces) parts.push_back(piece.release());
  return uniteParts(geos_, parts);
}

GeosGeometry Overlay::subtract(const GEOSGeometry* left) {
  GeosGeometry rest = geos_.own(GEOSGeom_clone_r(geos_.handle(), left));
  for (const uint32_t i : meeting(left)) {
    rest = robust(geos_, rest.get(), right(i), GEOSDifference_r);
    if (rest == nullptr || GEOSisEmpty_r(geos_.handle(), rest.get()) != 0) return rest;
  }
  return rest;
}

bool Overlay::intersect(const Geometry& left, std::vector<Piece>& pieces) {
  pieces.clear();
  const std::optional<Shell> shell = shellOf(geos_.handle(), left);
  GeosGeometry geometry = geos_.own(nullptr);
  const auto geometryOf = [&] {
    if (geometry == nullptr) geometry = geos_.read(left);
    if (geometry != nullptr && !shell) geometry = repair(geos_, std::move(geometry));
    return geometry.get();
  };
  geos_.forgetError();
  if (!shell && geometryOf() == nullptr) return false;
  for (const uint32_t i : touching(shell ? boxOf(shell->ring) : boxOf(geos_, geometry.get()))) {
    std::vector<Ring> rings;
    const std::optional<Shell>& other = right_[i].shell;
    const Shared shared =
        shell && other ? sharedBy(geos_.handle(), shell->ring, other->ring, rings) : Shared::Unsure;
    if (shared == Shared::Second) rings.assign(1, other->ring);
    if (shared == Shared::Unsure) {
      if (geometryOf() == nullptr) return false;
      intersectByGeos(geometry.get(), shell.has_value(), i, pieces);
    } else if (shared != Shared::Nothing) {
      pieces.push_back({i, shared == Shared::First, std::move(rings), geos_.own(nullptr)});
    }
  }
  return true;
}

void Overlay::intersectByGeos(const GEOSGeometry* left, bool isValid, uint32_t i, std::vector<Piece>& pieces) {
  const GEOSContextHandle_t handle = geos_.handle();
  // If GEOS fails here, the operation itself reports the reason.
  if (GEOSPreparedIntersects_r(handle, prepared(i), left) == 0) return;
  // Most of many small areas are inside a single large one. Only the parts of a collection with the highest dimension
  // are kept.
  const bool isSimple = GEOSGeomTypeId_r(handle, left) != GEOS_GEOMETRYCOLLECTION;
  if (isSimple && GEOSPreparedCovers_r(handle, prepared(i), left) == 1) {
    pieces.push_back({i, isValid, {}, geos_.own(isValid ? nullptr : GEOSGeom_clone_r(handle, left))});
    return;
  }
  const int least = std::min(GEOSGeom_getDimensions_r(handle, left), GEOSGeom_getDimensions_r(handle, right(i)));
  GeosGeometry shared = robust(geos_, left, right(i), GEOSIntersection_r);
  if (shared != nullptr) shared = ofDimension(geos_, std::move(shared), least);
  const bool empty = shared != nullptr && GEOSisEmpty_r(handle, shared.get()) != 0;
  if (!empty) pieces.push_back({i, false, {}, std::move(shared)});
}

GeosGeometry Overlay::snap(const GEOSGeometry* left, double tolerance) {
  const GEOSContextHandle_t handle = geos_.handle();
  const Box box = boxOf(geos_, left);
  if (!box.valid()) return geos_.own(nullptr);
  const Box window{box.minX - tolerance, box.minY - tolerance, box.maxX + tolerance, box.maxY + tolerance};
  std::vector<GEOSGeometry*> near;
  for (const uint32_t i : touching(window)) near.push_back(GEOSGeom_clone_r(handle, right(i)));
  if (near.empty()) return geos_.own(GEOSGeom_clone_r(handle, left));
  const GeosGeometry all = geos_.own(
      GEOSGeom_createCollection_r(handle, GEOS_GEOMETRYCOLLECTION, near.data(), static_cast<unsigned>(near.size())));
  if (all == nullptr) return geos_.own(nullptr);
  return repair(geos_, geos_.own(GEOSSnap_r(handle, left, all.get(), tolerance)));
}

}  // namespace graticule
