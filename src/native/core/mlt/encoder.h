// From a vector tile to a MapLibre Tile.
#pragma once

#include <cstdint>

#include "../values/bytes.h"
#include "failures.h"
#include "geometry_column.h"
#include "mvt_layer.h"
#include "property_columns.h"

namespace graticule::mlt {

/** Keeps its memory from tile to tile. */
class Encoder {
 public:
  /**
   * Appends the tile, layer by layer. Layers without a feature and features without geometry are omitted. Throws
   * `Broken` for bytes that are not a vector tile, and `TooLarge`. The next tile is not affected.
   */
  void encode(const uint8_t* tile, size_t size, ByteBuffer& out);

 private:
  void encodeLayer(Budget& budget, ByteBuffer& out);

  MvtLayer layer_;
  GeometryColumn geometry_;
  IdColumn ids_;
  PropertyColumns properties_;
  ByteBuffer start_;
  ByteBuffer head_;
  ByteBuffer body_;
  ByteBuffer propertyHead_;
  ByteBuffer propertyBody_;
};

}  // namespace graticule::mlt
