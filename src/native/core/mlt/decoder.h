// From a MapLibre Tile to a vector tile.
#pragma once

#include <cstdint>

#include "../values/bytes.h"
#include "../tiles/tile_values.h"
#include "table.h"

namespace graticule::mlt {

class Decoder {
 public:
  /** Appends the layers of a tile as layers of a vector tile (2.1). Throws `Broken` and `TooLarge`. */
  void decode(const uint8_t* tile, size_t size, ByteBuffer& out);

 private:
  void writeLayer(const Table& table, ByteBuffer& out);

  TileValues values_;
  ByteBuffer layer_;
  ByteBuffer tags_;
  ByteBuffer commands_;
};

}  // namespace graticule::mlt
