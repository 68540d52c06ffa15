// What processes do to all geometries of a collection at once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "../geometry/geos.h"

namespace graticule {

struct CollectionOperation {
  /** `concave-hull`, `convex-hull`, `delaunay`, `line-merge`, `polygonize` or `voronoi`. */
  std::string name;
  /** Points that are nearer to each other are taken for one. */
  double tolerance = 0;
  /** Of a concave hull: see GeometryOperation. */
  double ratio = 0.3;
  bool holes = false;
};

/** Reads such an object; false, and a sentence in `error`, for a wrong value or an operation that there is not. */
bool parseCollectionOperation(std::string_view json, CollectionOperation& operation, std::string& error);

/** Does it to geometries, which are taken over; the parts of the result. False when GEOS fails: see Geos::error(). */
bool processCollection(Geos& geos, const CollectionOperation& operation, std::vector<GEOSGeometry*>& geometries,
                       std::vector<GeosGeometry>& parts);

/** Appends the parts of a geometry, those of parts too. */
void appendParts(Geos& geos, const GEOSGeometry* geometry, std::vector<GeosGeometry>& parts);

}  // namespace graticule
