#include "geos.h"

#include <limits>
#include <new>

namespace graticule {
namespace {

constexpr int kCollectionTypes[] = {GEOS_MULTIPOINT, GEOS_MULTILINESTRING, GEOS_MULTIPOLYGON, GEOS_GEOMETRYCOLLECTION};

/** Geometries that will be transferred to a parent geometry. */
class Members {
 public:
  explicit Members(GEOSContextHandle_t handle) : handle_(handle) {}
  ~Members() {
    for (GEOSGeometry* g : list_) GEOSGeom_destroy_r(handle_, g);
  }
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;

  bool add(GEOSGeometry* g) {
    if (g == nullptr) return false;
    list_.push_back(g);
    return true;
  }
  void reserve(size_t n) { list_.reserve(n); }
  GEOSGeometry** data() { return list_.data(); }
  unsigned size() const { return static_cast<unsigned>(list_.size()); }
  /** GEOS owns them from now on, even when the call that takes them fails. */
  void release() { list_.clear(); }

 private:
  GEOSContextHandle_t handle_;
  std::vector<GEOSGeometry*> list_;
};

}  // namespace

Geos::Geos() : handle_(GEOS_init_r()) {
  if (handle_ == nullptr) throw std::bad_alloc();
  const auto remember = [](const char* message, void* self) { static_cast<Geos*>(self)->error_ = message; };
  GEOSContext_setErrorMessageHandler_r(handle_, remember, this);
}

GeosGeometry Geos::read(const Geometry& geometry) {
  size_t node = 0;
  return own(readNode(geometry, node));
}

GEOSGeometry* Geos::readNode(const Geometry& geometry, size_t& node) {
  const Node& first = geometry.nodes[node++];
  if (first.simple()) return readSimple(geometry, first);
  Members members(handle_);
  members.reserve(first.members);
  for (uint32_t i = 0; i < first.members; ++i) {
    // GEOS 3.11 crashes on empty points of prepared collections.
    const Node& member = geometry.nodes[node];
    if (member.type == GeometryType::Point && member.sequences == 0) {
      ++node;
      continue;
    }
    if (!members.add(readNode(geometry, node))) return nullptr;
  }
  const int type = kCollectionTypes[static_cast<int>(first.type) - static_cast<int>(GeometryType::MultiPoint)];
  GEOSGeometry* made = GEOSGeom_createCollection_r(handle_, type, members.data(), members.size());
  members.release();
  return made;
}

GEOSGeometry* Geos::readSimple(const Geometry& geometry, const Node& node) {
  if (node.type == GeometryType::Polygon) return readPolygon(geometry, node);
  const bool point = node.type == GeometryType::Point;
  if (node.sequences == 0) return point ? GEOSGeom_createEmptyPoint_r(handle_) : GEOSGeom_createEmptyLineString_r(handle_);
  GEOSCoordSequence* sequence = coordinates(geometry.sequences[node.firstSequence]);
  if (sequence == nullptr) return nullptr;
  return point ? GEOSGeom_createPoint_r(handle_, sequence) : GEOSGeom_createLineString_r(handle_, sequence);
}

GEOSGeometry* Geos::readPolygon(const Geometry& geometry, const Node& node) {
  if (node.sequences == 0 || geometry.sequences[node.firstSequence].count == 0) {
    return GEOSGeom_createEmptyPolygon_r(handle_);
  }
  Members rings(handle_);
  rings.reserve(node.sequences);
  for (uint32_t i = 0; i < node.sequences; ++i) {
    GEOSCoordSequence* sequence = coordinates(geometry.sequences[node.firstSequence + i]);
    if (sequence == nullptr || !rings.add(GEOSGeom_createLinearRing_r(handle_, sequence))) return nullptr;
  }
  GEOSGeometry* made = GEOSGeom_createPolygon_r(handle_, rings.data()[0], rings.data() + 1, rings.size() - 1);
  rings.release();
  return made;
}

GEOSCoordSequence* Geos::coordinates(const Sequence& s) {
  const size_t n = s.hasZ ? 3 : 2;
  scratch_.resize(n * s.count + 1);
  for (size_t i = 0; i < s.count; ++i) std::memcpy(scratch_.data() + n * i, s.data + i * s.stride, 8 * n);
  return GEOSCoordSeq_copyFromBuffer_r(handle_, scratch_.data(), s.count, s.hasZ, 0);
}

bool Geos::write(const GEOSGeometry* geometry, ByteBuffer& wkb) {
  GEOSWKBWriter* writer = GEOSWKBWriter_create_r(handle_);
  if (writer == nullptr) throw std::bad_alloc();
  GEOSWKBWriter_setByteOrder_r(handle_, writer, GEOS_WKB_NDR);
  GEOSWKBWriter_setFlavor_r(handle_, writer, GEOS_WKB_ISO);
  GEOSWKBWriter_setOutputDimension_r(handle_, writer, GEOSHasZ_r(handle_, geometry) == 1 ? 3 : 2);
  size_t size = 0;
  unsigned char* bytes = GEOSWKBWriter_write_r(handle_, writer, geometry, &size);
  GEOSWKBWriter_destroy_r(handle_, writer);
  if (bytes == nullptr) return false;
  wkb.append(bytes, size);
  GEOSFree_r(handle_, bytes);
  return true;
}

GeosGeometry rectangleOf(Geos& geos, const Box& b) {
  return geos.own(GEOSGeom_createRectangle_r(geos.handle(), b.minX, b.minY, b.maxX, b.maxY));
}

bool validate(Geos& geos, const Geometry& geometry, Invalidity& why) {
  why = {{}, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
  const GeosGeometry g = geos.read(geometry);
  if (g == nullptr) {
    why.reason = geos.error();
    return false;
  }
  char* reason = nullptr;
  GEOSGeometry* place = nullptr;
  const char answer = GEOSisValidDetail_r(geos.handle(), g.get(), 0, &reason, &place);
  if (answer == 1) return true;
  why.reason = reason == nullptr ? geos.error() : reason;
  GEOSFree_r(geos.handle(), reason);
  if (place == nullptr) return false;
  const GeosGeometry owned = geos.own(place);
  GEOSGeomGetX_r(geos.handle(), place, &why.x);
  GEOSGeomGetY_r(geos.handle(), place, &why.y);
  return false;
}

}  // namespace graticule
