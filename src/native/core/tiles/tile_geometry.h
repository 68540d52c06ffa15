// From a geometry to the command integers of a vector tile feature (Vector Tile Specification 2.1, 4.3).
#pragma once

#include <cstdint>
#include <vector>

#include "../values/bytes.h"
#include "../clipping/clip.h"
#include "../clipping/clipped_polygon.h"
#include "../geometry/geometry.h"
#include "../clipping/grid.h"
#include "../geometry/reprojector.h"
#include "../clipping/simplify.h"

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
   * Encodes all members of one type, because a collection can contain several. The packed command integers are
   * appended to `out`. False, with `out` unchanged, if no part of them is in the tile.
   */
  bool encode(const Geometry& geometry, TileGeometryType type, ByteBuffer& out);

  /** Computes the position of the first point in grid units, not rounded. False if the geometry has no point. */
  bool place(const Geometry& geometry, double& x, double& y);

  /**
   * Visible size from the latest encode(): area of exterior rings or length of lines, in grid units; 0 for points.
   */
  double measure() const { return measure_; }

 private:
  /** OffBorder: a position inside of the clip box does not round to its border. */
  enum class Rounding : uint8_t { Nearest, OffBorder };

  void encodePoints(const Geometry& geometry, ByteBuffer& out);
  void encodeLine(const Sequence& sequence, ByteBuffer& out);
  void encodePolygon(const Geometry& geometry, const Node& node, ByteBuffer& out);

  /**
   * Returns the sequence in the tile's CRS. Positions that clipping would drop can be missing. Its bytes are valid
   * until the next call.
   */
  Sequence project(const Sequence& sequence);
  /**
   * Fills `floating_` with the positions that clipping needs, in grid units. False if the sequence is outside or
   * contains a position that is not finite.
   */
  bool toFloating(const Sequence& sequence);
  /**
   * Fills `ring_` with a clipped ring without equal neighbours; returns its positions, the first not repeated. 0: it is
   * outside. A ring that may come to the border of the clip box, by rounding too, is `onBorder`.
   */
  size_t quantiseRing(const Sequence& sequence, Rounding rounding, bool& onBorder);
  /** Fills `polygon_`. `n` positions of the exterior ring are in `ring_`. Returns false if no links were possible. */
  bool linkPolygon(const Sequence* rings, size_t count, size_t n, Rounding rounding);
  /** Encodes a polygon whose exterior ring is on the border; its `n` positions are in `ring_`. */
  void encodeClipped(const Sequence* rings, size_t count, size_t n, ByteBuffer& out);
  /** Simplifies `ring_` and removes spikes. Returns the number of remaining positions, 0 if the ring vanished. */
  size_t thinRing(size_t n);
  /** Both write a ring of `n` positions from `ring_`. False if there is no polygon to which holes can be added. */
  bool writeExterior(size_t n, ByteBuffer& out);
  bool writeHole(size_t n, ByteBuffer& out);
  void writeLine(size_t n, ByteBuffer& out);
  void writeRing(size_t n, bool reversed, ByteBuffer& out);
  uint8_t* writeDelta(uint8_t* p, const int32_t* xy);

  TileGrid grid_;
  /** The same with a clip box whose positions do not round to the border. */
  TileGrid innerGrid_;
  double tolerance_ = 0;
  const Reprojector* reprojector_ = nullptr;
  /** Clip box in the CRS of the tile, and in the CRS of the data if `hasOriginBox_`. */
  Box clipBox_;
  Box originBox_;
  bool hasOriginBox_ = false;

  Simplifier simplifier_;
  ClippedPolygon polygon_;
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
  /** Start of the current polygon in the output, and the size of its exterior ring. */
  struct {
    size_t size;
    int32_t x;
    int32_t y;
    int64_t doubleArea;
  } polygonStart_ = {};
};

}  // namespace graticule
