// Conversion of a Mapbox vector tile (MVT) to a MapLibre Tile (MLT).
#pragma once

#include <cstdint>

#include "../values/bytes.h"
#include "failures.h"
#include "geometry_column.h"
#include "mvt_layer.h"
#include "property_columns.h"

namespace graticule::mlt {

/** Converts Mapbox vector tiles to MapLibre Tiles. Reuse one object for many tiles: it keeps its buffers. */
class Encoder {
 public:
  /**
   * Appends the converted tile to `out`, layer by layer. Layers without a feature and features without geometry are
   * omitted. Throws `Broken` for bytes that are not a vector tile, and `TooLarge`. After a throw, `out` is unspecified,
   * and the encoder can convert other tiles.
   */
  void encode(const uint8_t* tile, size_t size, ByteBuffer& out);

 private:
  void encodeLayer(Budget& budget, ByteBuffer& out);

  MvtLayer layer_;
  GeometryColumn geometry_;
  IdColumn ids_;
  PropertyColumns properties_;
  /** Name, extent and number of columns of the layer. */
  ByteBuffer layerHeader_;
  /** Declarations and streams of the id and geometry columns. */
  ByteBuffer columnHeads_;
  ByteBuffer columnStreams_;
  /** Declarations and streams of the property columns. */
  ByteBuffer propertyHeads_;
  ByteBuffer propertyStreams_;
};

}  // namespace graticule::mlt
