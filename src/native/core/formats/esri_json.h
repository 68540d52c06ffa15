// Features of GeoServices JSON as UTF-8 text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../values/bytes.h"
#include "esri_quantiser.h"
#include "feature_options.h"
#include "feature_page.h"
#include "../geometry/geometry.h"
#include "../geometry/reprojector.h"
#include "../values/value.h"
#include "../clipping/vertex_thinner.h"

namespace graticule {

/**
 * Writes geometry objects: points, multipoints, polylines and polygons, in x,y for every CRS. Exterior rings run
 * clockwise, holes counterclockwise; rings are closed. Parts with positions that are not finite, or cannot be
 * projected to the target CRS, are omitted. M is never written; Z is written on request.
 */
class EsriJsonGeometryWriter {
 public:
  void begin(const FeatureOptions& options, const Reprojector* reprojector);
  /** Appends the geometry object. `null` for geometry collections, and if no part remains. */
  void write(const Geometry& geometry, ByteBuffer& out);
  /** Appends the point of the centroid, without a height; `null` where there is none. */
  void writeCentroid(const Geometry& geometry, ByteBuffer& out);

 private:
  void writeNumbers(GeometryType type, ByteBuffer& out);
  bool writeParts(const Geometry& geometry, const char* member, ByteBuffer& out);
  bool writePart(const Geometry& geometry, const Node& node, ByteBuffer& out);
  bool writeLine(const Sequence& sequence, ByteBuffer& out);
  bool writeRings(const Geometry& geometry, const Node& node, ByteBuffer& out);
  bool writeRing(const Sequence& sequence, bool exterior, ByteBuffer& out);
  bool writePoint(const Geometry& geometry, const Node& node, ByteBuffer& out);

  OutputPositions positions_;
  EsriQuantiser quantiser_;
  bool isQuantised_ = false;
  bool degrees_ = false;
  bool wantsZ_ = false;
  bool z_ = false;
};

/**
 * Writes features, joined by commas: attributes, the id first, and the geometry. Booleans are 0 and 1, instants are
 * milliseconds since 1970, JSON is its text. Reusable: `begin()` starts over and keeps the memory.
 */
class EsriJsonFeatureWriter : public FeaturePage {
 public:
  void begin(const FeatureOptions& options, std::shared_ptr<const Reprojector> reprojector);

  /** Starts a feature. An invalid blob becomes a null geometry. */
  void beginFeature(const Value& id, const uint8_t* blob, size_t size);
  /** The next attribute, in the order of the fields. */
  void property(size_t field, const Value& value);
  void endFeature();

  /** Releases the reprojector, and memory beyond the needs of an average page. */
  void release();

 private:
  /** Prepared `"name":` strings, escaped once and not once per row. */
  std::string idKey_;
  std::vector<std::string> keys_;
  bool hasGeometry_ = true;
  bool hasCentroid_ = false;
  EsriJsonGeometryWriter geometryWriter_;
  VertexThinner thinner_;
  /** The feature has a geometry that can be read. */
  bool isRead_ = false;
};

}  // namespace graticule
