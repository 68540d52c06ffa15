// From a geometry to the command integers of a vector tile feature (Vector Tile Specification 2.1, 4.3).
#pragma once

#include <cstdint>
#include <vector>

#include "bytes.h"
#include "clip.h"
#include "geometry.h"
#include "grid.h"
#include "reprojector.h"
#include "simplify.h"

namespace graticule {

/** GeomType of the specification. */
enum class TileGeometryType : uint8_t { Point = 1, LineString = 2, Polygon = 3 };

/**
 * Encodes one geometry at a time: reproject, quantise, clip, simplify, wind, delta. Every buffer is kept from
 * feature to feature.
 */
class TileGeometryEncoder {
 public:
  /** The reprojector must outlive the encoder's use; null when the data is in the CRS of the tile. */
  void begin(const TileGrid& grid, double tolerance, const Reprojector* reprojector);

  /** False when no position of an envelope of the data can fall into the tile. */
  bool mayTouch(const Box& envelope) const;

  /**
   * Encodes all members of one type; a collection may hold several. The packed command integers are appended
   * to `out`. False, and `out` as it was, when nothing of them is left in the tile.
   */
  bool encode(const Geometry& geometry, TileGeometryType type, ByteBuffer& out);

  /** What the latest encode() shows: area of exterior rings or length of lines, in grid units; 0 for points. */
  double measure() const { return measure_; }

 private:
  void encodePoints(const Geometry& geometry, ByteBuffer& out);
  void encodeLine(const Sequence& sequence, ByteBuffer& out);
  void encodePolygon(const Geometry& geometry, const Node& node, ByteBuffer& out);

  /**
   * The sequence in the CRS of the tile, perhaps without positions that clipping would drop. Its bytes are valid until
   * the next call.
   */
  Sequence project(const Sequence& sequence);
  /**
   * Fills `floating_` with what clipping needs of the sequence, in grid units; false when it is outside or holds a
   * non-number.
   */
  bool toFloating(const Sequence& sequence);
  /** Fills `ring_` with a clipped, cleaned ring; returns its vertices, the first not repeated; 0: vanished. */
  size_t prepareRing(const Sequence& sequence);
  void writeLine(size_t n, ByteBuffer& out);
  void writeRing(size_t n, bool reversed, ByteBuffer& out);
  uint8_t* writeDelta(uint8_t* p, const int32_t* xy);

  TileGrid grid_;
  double tolerance_ = 0;
  const Reprojector* reprojector_ = nullptr;
  /** The clip box in the CRS of the tile, and of the data where `hasOriginBox_` says so. */
  Box clipBox_;
  Box originBox_;
  bool hasOriginBox_ = false;

  Simplifier simplifier_;
  Coordinates projected_;
  Coordinates near_;
  Coordinates floating_;
  Coordinates scratch_;
  std::vector<uint32_t> partEnds_;
  /** Grid positions of the sequence in work. */
  std::vector<int32_t> ring_;
  int32_t cursorX_ = 0;
  int32_t cursorY_ = 0;
  double measure_ = 0;
};

}  // namespace graticule
