// Process operations on all geometries of a collection together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "../geometry/geos.h"

namespace graticule {

struct CollectionOperation {
  /** `concave-hull`, `convex-hull`, `delaunay`, `line-merge`, `polygonize` or `voronoi`. */
  std::string name;
  /** Distance below which points count as one point. */
  double tolerance = 0;
  /** Options of a concave hull: see GeometryOperation. */
  double ratio = 0.3;
  bool holes = false;
};

/** Reads such an object; false, and a sentence in `error`, for a wrong value or an operation that there is not. */
bool parseCollectionOperation(std::string_view json, CollectionOperation& operation, std::string& error);

/**
 * Runs the operation on geometries, of which it takes ownership, and appends the parts of the result. False if GEOS
 * fails: see Geos::error().
 */
bool processCollection(Geos& geos, const CollectionOperation& operation, std::vector<GEOSGeometry*>& geometries,
                       std::vector<GeosGeometry>& parts);

/** Appends the parts of a geometry, including nested parts. */
void appendParts(Geos& geos, const GEOSGeometry* geometry, std::vector<GeosGeometry>& parts);

}  // namespace graticule
