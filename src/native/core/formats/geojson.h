// GeoJSON features (RFC 7946) as UTF-8 text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../values/bytes.h"
#include "feature_options.h"
#include "feature_page.h"
#include "../geometry/geometry.h"
#include "../geometry/reprojector.h"
#include "../values/value.h"
#include "../clipping/vertex_thinner.h"

namespace graticule {

/**
 * Writes geometries. Exterior rings run counterclockwise in x,y, holes clockwise (RFC 7946, 3.1.6). Rings are closed,
 * Z is kept, and M is not. Parts with positions that are not finite, or cannot be projected to the target CRS, are
 * omitted.
 */
class GeoJsonGeometryWriter {
 public:
  void begin(const CoordinateFormat& format, const Reprojector* reprojector);
  /** Appends the geometry object. `null` if no part remains. */
  void write(const Geometry& geometry, ByteBuffer& out);
  /** Whether parts of the last written geometry were omitted. */
  bool leftOut() const { return leftOut_; }

 private:
  bool writeNode(const Geometry& geometry, size_t& node, ByteBuffer& out);
  bool writeMembers(const Geometry& geometry, size_t& node, bool collection, ByteBuffer& out);
  bool writeCoordinates(const Geometry& geometry, const Node& node, ByteBuffer& out);
  bool writePolygon(const Geometry& geometry, const Node& node, ByteBuffer& out);
  bool writeRing(const Sequence& sequence, bool exterior, ByteBuffer& out);
  /** Copies a sequence into `xy_`, reprojected. False if a position is not finite. */
  bool load(const Sequence& sequence);
  void writePosition(const Sequence& sequence, size_t i, ByteBuffer& out) const;

  CoordinateFormat format_;
  const Reprojector* reprojector_ = nullptr;
  std::vector<double> xy_;
  bool leftOut_ = false;
};

/** Writes features, joined by commas. Reusable: `begin()` starts over and keeps the memory. */
class GeoJsonFeatureWriter : public FeaturePage {
 public:
  void begin(const FeatureOptions& options, std::shared_ptr<const Reprojector> reprojector);

  /**
   * Starts a feature. The id is an integer or text, otherwise it is omitted. An invalid blob becomes a null geometry.
   */
  void beginFeature(const Value& id, const uint8_t* blob, size_t size);
  /** The next property, in the order of the fields. */
  void property(size_t field, const Value& value);
  void endFeature() { out_.appendLiteral("}}"); }

  /** Releases the reprojector, and memory beyond the needs of an average page. */
  void release();

 private:
  /** An integer or text. */
  void appendId(const Value& id, bool isMember);
  void writeGeometry(const uint8_t* blob, size_t size);
  void writeLoss(bool unreadable);

  /** Prepared `"name":` strings, escaped once and not once per row. */
  std::vector<std::string> keys_;
  /** The same for the property that repeats the id; empty if none does. */
  std::string idKey_;
  GeoJsonGeometryWriter geometryWriter_;
  VertexThinner thinner_;
  bool loss_ = false;
};

}  // namespace graticule
