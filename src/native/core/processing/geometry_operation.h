// Process operations on one geometry at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "../analytics/projected_geometry.h"
#include "../geometry/geos.h"
#include "../geometry/reprojector.h"

namespace graticule {

/** An operation by its name, and its parameters; lengths are in units of the CRS, unless they are on the ground. */
struct GeometryOperation {
  std::string name;
  /** Distance of a buffer, tolerance of a simplification, longest segment, or size of a grid cell. */
  double distance = 0;
  /** Whether the distance of a buffer or of positions is in metres over the ground, in every CRS. */
  bool ground = false;
  /**
   * Option of a concave hull: longest edge as a share between the shortest and the longest edge of the triangulation,
   * 0 to 1.
   */
  double ratio = 0.3;
  bool holes = false;
  /** Segments per quarter circle. */
  uint32_t segments = 8;
  uint32_t iterations = 1;
  /** GEOS's numbers of end caps and joins. */
  uint32_t cap = GEOSBUF_CAP_ROUND;
  uint32_t join = GEOSBUF_JOIN_ROUND;
  double mitreLimit = 5;
  bool singleSided = false;
  /** Parts of polygons that collapse are kept as lines and points. */
  bool keepCollapsed = false;
  /**
   * Whether an invalid geometry fails with its reason. Otherwise it is repaired if the operation needs a valid one.
   */
  bool strict = false;
};

/** Reads such an object; false, and a sentence in `error`, for a wrong value or an operation that there is not. */
bool parseGeometryOperation(std::string_view json, GeometryOperation& operation, std::string& error);

/** Does one operation to many geometries of one CRS. */
class GeometryProcessor {
 public:
  /** Results are in the CRS `target`. Null, and why in `error`, for a CRS that there is not. */
  static std::unique_ptr<GeometryProcessor> make(Geos& geos, ReprojectorCache& reprojectors, GeometryOperation operation,
                                                 const std::string& crs, const std::string& target, std::string& error);

  /** Result for a blob: the same blob, no geometry, another blob, or a failure with a reason. */
  enum class Outcome : uint8_t { Same, Nothing, Blob, Failure };

  /**
   * Runs the operation on a blob, null for none, and sets `out` or `reason`. `scratch` contains the geometry during
   * that.
   */
  Outcome processBlob(const uint8_t* blob, size_t size, int32_t srsId, Geometry& scratch, ByteBuffer& out, std::string& reason);

 private:
  GeometryProcessor(Geos& geos, ReprojectorCache& reprojectors, GeometryOperation operation)
      : geos_(geos), reprojectors_(reprojectors), operation_(std::move(operation)) {}

  /**
   * Appends the result as a GeoPackage blob; no bytes for an empty result. Returns false, and the reason in `reason`,
   * if it fails.
   */
  bool process(const Geometry& geometry, int32_t srsId, ByteBuffer& out, std::string& reason);

  GeosGeometry apply(const GEOSGeometry* g);
  /** Whether the operation would add vertices without a bound. */
  bool tooLarge(const GEOSGeometry* g) const;
  GeosGeometry bufferOnGround(const Geometry& geometry);
  /** Null where a position has no image, or there would be too many of them. */
  GeosGeometry densifyOnGround(const Geometry& geometry);
  /** A geometry through another CRS; null when a position has no image there. */
  GeosGeometry project(const GEOSGeometry* geometry, const Reprojector& reprojector);

  Geos& geos_;
  ReprojectorCache& reprojectors_;
  GeometryOperation operation_;
  std::shared_ptr<const Reprojector> target_;
  /** For buffers and more positions on the ground. */
  std::shared_ptr<const Reprojector> toLonLat_;
  std::shared_ptr<const Reprojector> fromLonLat_;
  ByteBuffer wkb_;
  Geometry piece_;
  ProjectedGeometry projected_;
};

/**
 * Appends a geometry as GeoPackage blob (OGC 12-128r18, 2.1.3); no bytes for null and empty geometries. Returns false
 * if it cannot be written.
 */
bool writeGeoPackageBlob(Geos& geos, const GEOSGeometry* geometry, int32_t srsId, ByteBuffer& out);

/** Returns the geometry, repaired by GEOS if it is invalid. Areas remain areas. Null for null. */
GeosGeometry repair(Geos& geos, GeosGeometry geometry);

}  // namespace graticule
