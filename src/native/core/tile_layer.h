// One layer of a vector tile: features in, protobuf out (Vector Tile Specification 2.1).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bytes.h"
#include "geometry.h"
#include "reprojector.h"
#include "tile_geometry.h"
#include "tile_values.h"

namespace graticule {

/** What a layer is made of. */
struct TileLayerOptions {
  std::string name;
  std::vector<TileValues::Column> columns;
  /** CRS of the data and of the tile: anything PROJ reads. */
  std::string from = "EPSG:3857";
  std::string to = "EPSG:3857";
  /** Extent of the tile in the CRS `to`, x,y ordered. */
  Box bbox;
  /** Grid units per tile side. */
  uint32_t extent = 4096;
  /** Clip buffer, grid units. */
  uint32_t buffer = 64;
  /** Douglas-Peucker tolerance, grid units; 0: off. */
  double simplify = 0;
};

/**
 * Builds one layer. Reusable: begin() starts over and keeps the memory. Per feature: addGeometry(), then, if
 * that is true, tag() for each attribute and endFeature().
 */
class TileLayerEncoder {
 public:
  void begin(const TileLayerOptions& options, std::shared_ptr<const Reprojector> reprojector);

  /** False when the blob is null, unreadable or leaves nothing in the tile: the feature is skipped. */
  bool addGeometry(const uint8_t* blob, size_t size);
  void tag(size_t column, const Value& value) { values_.tag(column, value, tags_); }
  /** Null: the feature has no id. */
  void endFeature(const uint64_t* id);

  uint32_t features() const { return features_; }
  /** Bytes the layer takes so far, about. */
  size_t size() const { return features_ == 0 ? 0 : layer_.size(); }

  /** The tile of this one layer; tiles of several layers are such tiles end to end. Empty without features. */
  const uint8_t* finish(size_t& size);

  /** Lets go of the reprojector and of memory beyond what a common tile takes. */
  void release();

 private:
  struct Part {
    TileGeometryType type;
    size_t end;
  };

  TileLayerOptions options_;
  std::shared_ptr<const Reprojector> reprojector_;
  TileGrid grid_;
  TileGeometryEncoder encoder_;
  TileValues values_;
  Geometry geometry_;
  ByteBuffer commands_;
  ByteBuffer tags_;
  ByteBuffer layer_;
  Part parts_[3];
  int partCount_ = 0;
  uint32_t features_ = 0;
};

/** How many features the layers of a tile hold; -1 when the bytes are no vector tile. */
int64_t countTileFeatures(const uint8_t* tile, size_t size);

}  // namespace graticule
