// A geometry as a flat index over the bytes it was read from: no coordinate is copied.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "../values/bytes.h"

namespace graticule {

/** Type codes of WKB (OGC 06-103r4, table 7). */
enum class GeometryType : uint8_t {
  Point = 1,
  LineString = 2,
  Polygon = 3,
  MultiPoint = 4,
  MultiLineString = 5,
  MultiPolygon = 6,
  GeometryCollection = 7,
};

/** Properties of a stored geometry that the flat form loses: bits of `Geometry::lost`. */
enum GeometryLoss : uint8_t {
  kLostArcs = 1,
  /** Faces belonged to a surface: a polyhedral surface, a TIN, a triangle. */
  kLostSurface = 2,
  /** M values. Sequences have them, but the formats in which clients edit features do not. */
  kLostMeasures = 4,
};

/** A run of `count` positions: native-endian doubles, x first, `stride` bytes from one position to the next. */
struct Sequence {
  const uint8_t* data;
  uint32_t count;
  uint8_t stride;
  bool hasZ;

  double x(size_t i) const { return loadNative<double>(data + i * stride); }
  double y(size_t i) const { return loadNative<double>(data + i * stride + 8); }
  double z(size_t i) const { return loadNative<double>(data + i * stride + 16); }
};

/** Geometry in preorder. A simple geometry has sequences; other geometries are followed by `members` child nodes. */
struct Node {
  GeometryType type;
  uint32_t members;
  uint32_t firstSequence;
  uint32_t sequences;

  bool simple() const { return type <= GeometryType::Polygon; }
};

/**
 * Geometry of simple features. Arcs are chains of lines, and surfaces become multi polygons. Valid as long as the
 * blob from which it was read. Empty points have no sequence; the rings of a polygon are its sequences, exterior
 * first.
 */
struct Geometry {
  std::vector<Node> nodes;
  std::vector<Sequence> sequences;
  /** Coordinates that the blob does not contain in native form: from big-endian input, from text. Otherwise null. */
  std::unique_ptr<uint8_t[]> swapped;
  /** Coordinates of linearised curves, one block for each sequence. */
  std::vector<std::unique_ptr<double[]>> linearised;
  /** Bits of GeometryLoss. */
  uint8_t lost = 0;

  void clear() {
    nodes.clear();
    sequences.clear();
    swapped.reset();
    linearised.clear();
    lost = 0;
  }
  bool empty() const {
    for (const Sequence& s : sequences) {
      if (s.count != 0) return false;
    }
    return true;
  }
};

/** An axis-aligned box, x,y ordered. Starts inverted: add() makes it valid. */
struct Box {
  double minX = std::numeric_limits<double>::infinity();
  double minY = std::numeric_limits<double>::infinity();
  double maxX = -std::numeric_limits<double>::infinity();
  double maxY = -std::numeric_limits<double>::infinity();

  void add(double x, double y) {
    if (x < minX) minX = x;
    if (x > maxX) maxX = x;
    if (y < minY) minY = y;
    if (y > maxY) maxY = y;
  }
  bool valid() const { return minX <= maxX && minY <= maxY; }
};

/**
 * Removes simple geometries with a position that is NaN or infinite, empty geometries, and collections without
 * remaining parts. GEOS fails for the former, and version 3.11 crashes for empty points in collections. A geometry
 * without remaining parts becomes an empty one. False if a position was not finite.
 */
bool keepFiniteParts(Geometry& geometry);

/** The box of all positions that are numbers; invalid for an empty geometry. */
Box envelopeOf(const Geometry& geometry);

}  // namespace graticule
