// Features of GeoServices as Protocol Buffers: Esri's FeatureCollection.proto.
#pragma once

#include <cstdint>
#include <memory>
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
 * Writes members `features` of a FeatureResult, one after the other, each with its key. The caller writes the
 * enclosing message. Attributes are in the order of the fields, the id first. Booleans are 0 and 1, instants are
 * milliseconds since 1970, JSON is its text, and null is a value without a member. Reusable: `begin()` starts over and
 * keeps the memory.
 */
class EsriPbfFeatureWriter : public FeaturePage {
 public:
  void begin(const FeatureOptions& options, std::shared_ptr<const Reprojector> reprojector);

  /** Starts a feature. An invalid blob becomes a feature without geometry. */
  void beginFeature(const Value& id, const uint8_t* blob, size_t size);
  /** The next attribute, in the order of the fields. */
  void property(size_t field, const Value& value);
  void endFeature();

  /** Releases the reprojector, and memory beyond the needs of an average page. */
  void release();

 private:
  void putInteger(int64_t value);
  void putDouble(double value);
  void putText(const char* text, size_t size);
  void putGeometry(uint8_t key, bool hasLengths);

  bool hasGeometry_ = true;
  bool hasCentroid_ = false;
  bool z_ = false;
  EsriQuantiser quantiser_;
  VertexThinner thinner_;
  /** The feature has a geometry that can be read. */
  bool isRead_ = false;
  ByteBuffer scratch_;
  ByteBuffer feature_;
};

}  // namespace graticule
