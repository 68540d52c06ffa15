// Page that all writers of features fill.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "../geometry/geometry.h"
#include "../geometry/reprojector.h"
#include "../geometry/wkb.h"
#include "../values/bytes.h"
#include "../values/value.h"
#include "feature_options.h"

namespace graticule {

/**
 * Text of a page, types of its fields, and geometry of the current feature. A writer restarts it for each page, which
 * keeps the memory.
 */
class FeaturePage {
 public:
  const ByteBuffer& text() const { return out_; }

 protected:
  ~FeaturePage() = default;

  void beginPage(const FeatureOptions& options, std::shared_ptr<const Reprojector> reprojector) {
    reprojector_ = std::move(reprojector);
    types_.clear();
    for (const FeatureOptions::Field& field : options.fields) types_.push_back(field.type);
    out_.clear();
  }

  enum class GeometryState { None, Unreadable, Read };

  /** Reads the geometry of a feature into `geometry_`. NULL (null pointer) and empty geometries count as missing. */
  GeometryState readGeometry(const uint8_t* blob, size_t size) {
    BlobHeader header;
    if (blob == nullptr) return GeometryState::None;
    if (readBlob(blob, size, header, geometry_) != ReadStatus::Ok) return GeometryState::Unreadable;
    return header.empty ? GeometryState::None : GeometryState::Read;
  }

  /** Releases the reprojector, and memory beyond the needs of an average page. */
  void releasePage() {
    reprojector_.reset();
    geometry_.clear();
    out_.shrink(kKeptMemory);
  }

  /** Memory that an idle writer may keep. */
  static constexpr size_t kKeptMemory = 4u << 20;

  std::vector<FieldType> types_;
  std::shared_ptr<const Reprojector> reprojector_;
  Geometry geometry_;
  ByteBuffer out_;
};

}  // namespace graticule
