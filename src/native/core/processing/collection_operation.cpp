#include "collection_operation.h"

#include "../formats/json.h"

namespace graticule {
namespace {

constexpr const char* kNames[] = {"concave-hull", "convex-hull", "delaunay", "line-merge", "polygonize", "voronoi"};

bool readMember(JsonReader& reader, const std::string& key, CollectionOperation& operation) {
  if (key == "name") return reader.readString(operation.name);
  if (key == "tolerance") return reader.readNumber(operation.tolerance);
  if (key == "ratio") return reader.readNumber(operation.ratio);
  if (key == "holes") return reader.readBoolean(operation.holes);
  return false;
}

GEOSGeometry* polygonize(GEOSContextHandle_t handle, const GEOSGeometry* all) {
  // Lines that cross each other bound polygons only once they are cut where they cross.
  GEOSGeometry* nodes = GEOSUnaryUnion_r(handle, all);
  if (nodes == nullptr) return nullptr;
  const GEOSGeometry* lines[] = {nodes};
  GEOSGeometry* polygons = GEOSPolygonize_r(handle, lines, 1);
  GEOSGeom_destroy_r(handle, nodes);
  return polygons;
}

GEOSGeometry* apply(GEOSContextHandle_t handle, const CollectionOperation& o, const GEOSGeometry* all) {
  if (o.name == "concave-hull") return GEOSConcaveHull_r(handle, all, o.ratio, o.holes);
  if (o.name == "convex-hull") return GEOSConvexHull_r(handle, all);
  if (o.name == "delaunay") return GEOSDelaunayTriangulation_r(handle, all, o.tolerance, 0);
  if (o.name == "line-merge") return GEOSLineMerge_r(handle, all);
  if (o.name == "polygonize") return polygonize(handle, all);
  return GEOSVoronoiDiagram_r(handle, all, nullptr, o.tolerance, 0);
}

}  // namespace

bool parseCollectionOperation(std::string_view json, CollectionOperation& operation, std::string& error) {
  operation = {};
  JsonReader reader(json.data(), json.size());
  if (!reader.readObject([&](const std::string& key) { return readMember(reader, key, operation); }) || !reader.atEnd()) {
    error = "the operation has a wrong value";
    return false;
  }
  for (const char* name : kNames) {
    if (operation.name == name) return true;
  }
  error = "there is no operation '" + operation.name + "'";
  return false;
}

void appendParts(Geos& geos, const GEOSGeometry* geometry, std::vector<GeosGeometry>& parts) {
  const int n = GEOSGetNumGeometries_r(geos.handle(), geometry);
  const bool simple = GEOSGeomTypeId_r(geos.handle(), geometry) <= GEOS_POLYGON;
  if (GEOSisEmpty_r(geos.handle(), geometry) != 0) return;
  if (simple) return parts.push_back(geos.own(GEOSGeom_clone_r(geos.handle(), geometry)));
  for (int i = 0; i < n; ++i) appendParts(geos, GEOSGetGeometryN_r(geos.handle(), geometry, i), parts);
}

bool processCollection(Geos& geos, const CollectionOperation& operation, std::vector<GEOSGeometry*>& geometries,
                       std::vector<GeosGeometry>& parts) {
  const GeosGeometry all = geos.own(GEOSGeom_createCollection_r(
      geos.handle(), GEOS_GEOMETRYCOLLECTION, geometries.data(), static_cast<unsigned>(geometries.size())));
  geometries.clear();
  if (all == nullptr) return false;
  const GeosGeometry result = geos.own(apply(geos.handle(), operation, all.get()));
  if (result == nullptr) return false;
  appendParts(geos, result.get(), parts);
  return true;
}

}  // namespace graticule
