// Buffers of geometries by metres on the ground.
#pragma once

#include <memory>

#include "../geometry/geos.h"
#include "../geometry/reprojector.h"
#include "lonlat_polygon.h"
#include "projected_geometry.h"

namespace graticule {

/**
 * Collects buffers of geometries in longitude and latitude (WGS 84). Each is computed in a transverse Mercator plane
 * whose meridian is at most 3 degrees away. Wider geometries are cut into zones of 6 degrees, and the buffers of the
 * parts are united, which results in the same buffer. The error of lengths in that plane is less than 0.2 %. Arcs
 * have 8 segments per quarter circle.
 */
class GroundBuffers {
 public:
  GroundBuffers(Geos& geos, ReprojectorCache& reprojectors, double metres)
      : geos_(geos), reprojectors_(reprojectors), metres_(metres) {}

  /** Adds the buffer of a geometry. Geometries that cannot be buffered are skipped. */
  void add(const Geometry& lonLat);

  /** Returns the union of the added buffers, in longitude and latitude, and starts over. Null if it is empty. */
  GeosGeometry unite();

 private:
  void addZone(const GEOSGeometry* lonLat, int zone);
  void addPolygons(const GEOSGeometry* planar, const Reprojector& toLonLat);
  void addPolygon(const GEOSGeometry* polygon, const Reprojector& toLonLat);
  bool readRing(const GEOSGeometry* ring, const Reprojector& toLonLat, std::vector<double>& positions);

  Geos& geos_;
  ReprojectorCache& reprojectors_;
  double metres_;
  std::vector<GeosGeometry> parts_;
  ByteBuffer wkb_;
  Geometry piece_;
  ProjectedGeometry projected_;
};

}  // namespace graticule
