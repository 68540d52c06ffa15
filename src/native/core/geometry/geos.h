// Small owning types for GEOS. Only one thread at a time can use a context and the objects that were created in it.
#pragma once

#include <geos_c.h>

#include <memory>
#include <string>
#include <vector>

#include "geometry.h"

namespace graticule {

struct GeosDeleter {
  GEOSContextHandle_t handle = nullptr;
  void operator()(GEOSGeometry* geometry) const { GEOSGeom_destroy_r(handle, geometry); }
  void operator()(const GEOSPreparedGeometry* geometry) const { GEOSPreparedGeom_destroy_r(handle, geometry); }
};
using GeosGeometry = std::unique_ptr<GEOSGeometry, GeosDeleter>;
using GeosPrepared = std::unique_ptr<const GEOSPreparedGeometry, GeosDeleter>;

/** GEOS context. It must outlive the objects that were created in it. */
class Geos {
 public:
  /** Throws std::bad_alloc. */
  Geos();
  ~Geos() { GEOS_finish_r(handle_); }
  Geos(const Geos&) = delete;
  Geos& operator=(const Geos&) = delete;

  GEOSContextHandle_t handle() const { return handle_; }
  GeosGeometry own(GEOSGeometry* geometry) const { return GeosGeometry(geometry, GeosDeleter{handle_}); }

  /**
   * Returns a GEOS geometry, with Z. Null for geometries that GEOS cannot represent, such as rings that are not
   * closed.
   */
  GeosGeometry read(const Geometry& geometry);

  /** Appends a GEOS geometry as little-endian ISO WKB; false when it cannot be written. */
  bool write(const GEOSGeometry* geometry, ByteBuffer& wkb);

  /** GEOS message of the latest failure. */
  const std::string& error() const { return error_; }
  void forgetError() { error_.clear(); }

 private:
  GEOSGeometry* readNode(const Geometry& geometry, size_t& node);
  GEOSGeometry* readSimple(const Geometry& geometry, const Node& node);
  GEOSGeometry* readPolygon(const Geometry& geometry, const Node& node);
  GEOSCoordSequence* coordinates(const Sequence& sequence);

  GEOSContextHandle_t handle_;
  std::string error_;
  std::vector<double> scratch_;
};

/** The box as an area. */
GeosGeometry rectangleOf(Geos& geos, const Box& box);

/** Why a geometry is not valid (OGC 06-103r4, 6.1) and where. */
struct Invalidity {
  std::string reason;
  /** NaN where GEOS names no place. */
  double x;
  double y;
};

/** True for a valid geometry. */
bool validate(Geos& geos, const Geometry& geometry, Invalidity& why);

}  // namespace graticule
