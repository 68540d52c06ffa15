// Distances over the ground between geometries in longitude and latitude.
#pragma once

#include <proj.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "geometry.h"

namespace graticule {

struct Vector3 {
  double x;
  double y;
  double z;
};

/** Conversion of a CRS's coordinates to metres. */
struct CrsMeasure {
  bool geographic = false;
  /** Metres per unit of the plane; radians per unit of a geographic CRS. */
  double unit = 1;
  double semiMajorMetre = 6378137;
  double flattening = 1 / 298.257223563;
};

/** False, and a sentence in `error`, when the text names no CRS. */
bool measureOf(PJ_CONTEXT* context, const std::string& crs, CrsMeasure& measure, std::string& error);

/**
 * Geometry on the unit sphere. Edges are arcs of great circles in a tree of boxes. Latitudes are used without
 * conversion, so the ellipsoid becomes the sphere; only lengths are measured on the ellipsoid.
 */
class SphereGeometry {
 public:
  SphereGeometry(const Geometry& geometry, double radiansPerUnit);

  double radiansPerUnit() const { return radiansPerUnit_; }
  bool empty() const { return arcs_.empty(); }

 private:
  friend class NearestArcs;

  /** A point has the same vector twice. */
  struct Arc {
    Vector3 from;
    Vector3 to;
  };
  struct Bounds {
    Vector3 low;
    Vector3 high;
  };
  struct Polygon {
    uint32_t begin;
    uint32_t end;
    /** Cap that contains the polygon: its centre, the cosine of its radius, and a point outside the polygon. */
    Vector3 centre;
    double cosine;
    Vector3 outside;
  };

  void addSequence(const Sequence& sequence, bool closed);
  void closePolygon(uint32_t begin);
  void buildTree();
  bool holds(const Vector3& point) const;

  double radiansPerUnit_;
  std::vector<Arc> arcs_;
  std::vector<Polygon> polygons_;
  /** First arc of each simple geometry. It is completely inside or outside a polygon that it does not meet. */
  std::vector<uint32_t> starts_;
  /** Level by level from the leaves up, `kFanout` to one; the last is the root. */
  std::vector<std::vector<Bounds>> levels_;
};

/**
 * Returns the minimum distance in metres, like ST_Distance of PostGIS geographies. The nearest points are found among
 * great circles on the sphere, and the geodesic between them is measured on the ellipsoid. 0 if the geometries meet
 * or one contains the other; empty for empty geometries. A polygon is the side of its ring that is smaller than a
 * hemisphere.
 */
std::optional<double> geodesicDistance(const SphereGeometry& a, const SphereGeometry& b, const CrsMeasure& measure);

}  // namespace graticule
