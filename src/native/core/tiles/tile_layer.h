// One layer of a vector tile: features in, protobuf out (Vector Tile Specification 2.1).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../values/bytes.h"
#include "../geometry/geometry.h"
#include "../geometry/reprojector.h"
#include "even_sample.h"
#include "tile_cells.h"
#include "tile_geometry.h"
#include "tile_values.h"

namespace graticule {

/** Options of a layer. */
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
  /** The least important features are dropped beyond these; 0: no bound. Bytes before compression, about. */
  uint64_t maxFeatures = 0;
  uint64_t maxBytes = 0;
  /** Cells along a side in which points are counted, in place of the features; 0: the features. */
  uint32_t cells = 0;
  /** Deadline in milliseconds since 1970. 0: none. */
  double deadline = 0;
};

/**
 * Builds one layer. Reusable: `begin()` starts over and keeps the memory. Call addGeometry() per feature and, if it
 * returns true, tag() for each attribute and endFeature(). The budget limits the memory for any input. The importance
 * of a feature is its area or length in the tile. Features of equal importance are ordered by a hash of their first
 * position, so that neighbouring tiles keep the same ones. Points come last, as a spatially even sample.
 */
class TileLayerEncoder {
 public:
  void begin(const TileLayerOptions& options, std::shared_ptr<const Reprojector> reprojector);

  /** Returns false if the blob is null, unreadable, outside the tile or dropped: the feature is skipped. */
  bool addGeometry(const uint8_t* blob, size_t size);
  void tag(size_t column, const Value& value) { values_.tag(column, value, tags_); }
  /** Null: the feature has no id. */
  void endFeature(const uint64_t* id);

  uint32_t features() const { return features_; }
  /** Features that the tile would show without its budget. */
  uint64_t dropped() const { return dropped_; }
  /** Amount of data that was read for the layer: bytes of geometries, and 256 per row. */
  uint64_t work() const { return work_; }
  /** True after the deadline, which is checked from time to time. */
  bool late() const { return late_; }
  /** Approximate bytes of the layer so far. */
  size_t size() const { return features_ == 0 ? 0 : layer_.size(); }

  /** The tile of this one layer; tiles of several layers are such tiles end to end. Empty without features. */
  const uint8_t* finish(size_t& size);

  /** Releases the reprojector, and memory beyond the needs of an average tile. */
  void release();

 private:
  struct Part {
    TileGeometryType type;
    size_t end;
    uint64_t importance;
    /** Cell of a point, otherwise EvenSample::kNone. */
    uint32_t cell;
  };
  /** Feature in `layer_`. */
  struct Written {
    uint64_t importance;
    size_t begin;
    size_t end;
    uint32_t cell;
    /** Hash of the id. It orders features of equal importance, independently of the order of the rows. */
    uint32_t tie;
  };

  bool bounded() const {
    return options_.cells == 0 && (options_.maxFeatures != 0 || options_.maxBytes != 0);
  }
  bool outgrown(uint64_t times) const;
  void encodeParts();
  void writeCells();
  bool mattersEnough(Part& part, size_t begin);
  void thin();
  void rankPoints();
  std::vector<Written> choose() const;
  void rewrite(const std::vector<Written>& kept);
  void watchTime();

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

  /** Start of the features in `layer_`, and the range of each; kept only with a budget. */
  size_t head_ = 0;
  std::vector<Written> written_;
  ByteBuffer rewritten_;
  /** Importance below which features are ignored, and the points that are not. */
  uint64_t threshold_ = 0;
  EvenSample sample_;
  TileCells cells_;
  std::vector<EvenSample::Entry> entries_;
  uint64_t dropped_ = 0;
  uint64_t work_ = 0;
  uint64_t nextLook_ = 0;
  bool late_ = false;
};

/** Returns the number of features in the layers of a tile. -1 if the bytes are not a vector tile. */
int64_t countTileFeatures(const uint8_t* tile, size_t size);

}  // namespace graticule
