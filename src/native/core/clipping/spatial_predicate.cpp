#include "spatial_predicate.h"

#include "../geometry/box_tree.h"

namespace graticule {
namespace {

using Plain = char (*)(GEOSContextHandle_t, const GEOSGeometry*, const GEOSGeometry*);
using Prepared = char (*)(GEOSContextHandle_t, const GEOSPreparedGeometry*, const GEOSGeometry*);

struct Functions {
  Plain plain;
  /** With the first, or the second, operand prepared; null: there is none. */
  Prepared first;
  Prepared second;
};

/** In the order of Predicate. */
constexpr Functions kFunctions[] = {
    {GEOSIntersects_r, GEOSPreparedIntersects_r, GEOSPreparedIntersects_r},
    {GEOSEquals_r, nullptr, nullptr},
    {GEOSDisjoint_r, GEOSPreparedDisjoint_r, GEOSPreparedDisjoint_r},
    {GEOSTouches_r, GEOSPreparedTouches_r, GEOSPreparedTouches_r},
    {GEOSWithin_r, GEOSPreparedWithin_r, GEOSPreparedContains_r},
    {GEOSOverlaps_r, GEOSPreparedOverlaps_r, GEOSPreparedOverlaps_r},
    {GEOSCrosses_r, GEOSPreparedCrosses_r, GEOSPreparedCrosses_r},
    {GEOSContains_r, GEOSPreparedContains_r, GEOSPreparedWithin_r},
};

/** True for geometry collections. A prepared line of GEOS 3.11 ignores the points of a geometry collection. */
bool isCollection(SpatialOperand& operand) {
  return GEOSGeomTypeId_r(operand.handle(), operand.geos()) == GEOS_GEOMETRYCOLLECTION;
}

char call(const Functions& functions, SpatialOperand& a, SpatialOperand& b) {
  constexpr char kFailed = 2;
  if (a.geos() == nullptr || b.geos() == nullptr) return kFailed;
  if (isCollection(a) || isCollection(b)) return functions.plain(a.handle(), a.geos(), b.geos());
  if (a.lasting && functions.first != nullptr) {
    return a.prepared() == nullptr ? kFailed : functions.first(a.handle(), a.prepared(), b.geos());
  }
  if (b.lasting && functions.second != nullptr) {
    return b.prepared() == nullptr ? kFailed : functions.second(b.handle(), b.prepared(), a.geos());
  }
  return functions.plain(a.handle(), a.geos(), b.geos());
}

}  // namespace

ReadStatus SpatialOperand::read(const uint8_t* blob, size_t size) {
  BlobHeader header;
  if (const ReadStatus s = readBlob(blob, size, header, geometry_); s != ReadStatus::Ok) return s;
  empty_ = header.empty || geometry_.empty();
  // Some programs write envelopes with NaN.
  if (!empty_) envelope_ = header.hasEnvelope && header.envelope.valid() ? header.envelope : envelopeOf(geometry_);
  return ReadStatus::Ok;
}

bool SpatialOperand::keepFinite() {
  if (pruned_) return somewhere_;
  pruned_ = true;
  const bool finite = keepFiniteParts(geometry_);
  empty_ = geometry_.empty();
  somewhere_ = finite || !empty_;
  return somewhere_;
}

ReadStatus SpatialOperand::readCopy(const uint8_t* blob, size_t size) {
  copy_.reset(new uint8_t[size]);
  std::memcpy(copy_.get(), blob, size);
  return read(copy_.get(), size);
}

const GEOSGeometry* SpatialOperand::geos() {
  if (made_ == nullptr) made_ = geos_->read(geometry_);
  return made_.get();
}

const GEOSPreparedGeometry* SpatialOperand::prepared() {
  if (prepared_ == nullptr) prepared_ = GeosPrepared(GEOSPrepare_r(handle(), made_.get()), GeosDeleter{handle()});
  return prepared_.get();
}

const SphereGeometry& SpatialOperand::sphere(double radiansPerUnit) {
  keepFinite();
  if (sphere_ == nullptr || sphere_->radiansPerUnit() != radiansPerUnit) {
    sphere_ = std::make_unique<SphereGeometry>(geometry_, radiansPerUnit);
  }
  return *sphere_;
}

std::optional<bool> evaluate(Predicate predicate, SpatialOperand& a, SpatialOperand& b) {
  if (a.empty() || b.empty()) {
    return predicate == Predicate::Disjoint || (predicate == Predicate::Equals && a.empty() && b.empty());
  }
  if (!meets(a.envelope(), b.envelope()) && predicate != Predicate::Disjoint) return false;
  if (!a.keepFinite() || !b.keepFinite()) return std::nullopt;
  if (!meets(a.envelope(), b.envelope())) return true;
  if (predicate == Predicate::Intersects || predicate == Predicate::Disjoint) {
    const std::optional<bool> met = smallIntersects(a.handle(), a.placed(), b.placed());
    if (met) return *met == (predicate == Predicate::Intersects);
  }
  const char answer = call(kFunctions[static_cast<size_t>(predicate)], a, b);
  if (answer > 1) return std::nullopt;
  return answer == 1;
}

namespace {

/**
 * Whether the operand can be a prepared geometry. A prepared line of GEOS measures the distance to the rings of an area
 * even if the line is inside the area.
 */
bool mayPrepare(SpatialOperand& operand, SpatialOperand& other) {
  if (!operand.lasting) return false;
  return GEOSGeom_getDimensions_r(operand.handle(), operand.geos()) != 1 ||
         GEOSGeom_getDimensions_r(other.handle(), other.geos()) != 2;
}

}  // namespace

std::optional<double> planarDistance(SpatialOperand& a, SpatialOperand& b) {
  if (!a.keepFinite() || !b.keepFinite()) return std::nullopt;
  if (a.empty() || b.empty()) return std::nullopt;
  if (const std::optional<double> small = smallDistance(a.handle(), a.placed(), b.placed())) return small;
  if (a.geos() == nullptr || b.geos() == nullptr) return std::nullopt;
  double distance = 0;
  const int done = mayPrepare(a, b)   ? GEOSPreparedDistance_r(a.handle(), a.prepared(), b.geos(), &distance)
                   : mayPrepare(b, a) ? GEOSPreparedDistance_r(b.handle(), b.prepared(), a.geos(), &distance)
                                      : GEOSDistance_r(a.handle(), a.geos(), b.geos(), &distance);
  if (done != 1) return std::nullopt;
  return distance;
}

}  // namespace graticule
