// Geometries of a MapLibre Tile layer, converted from the command integers of a vector tile (Vector Tile Specification
// 2.1, 4.3; MapLibre Tile Specification, "Geometry Column").
#pragma once

#include <cstdint>
#include <vector>

#include "../values/bytes.h"
#include "mvt_layer.h"
#include "vertex_dictionary.h"

namespace graticule::mlt {

/**
 * Adds features one by one and writes the column. Positions are the positions of the vector tile: their differences
 * are copied unchanged, except the first of each feature.
 */
class GeometryColumn {
 public:
  void begin();

  /**
   * Adds a feature. Returns false, and is unchanged, if no complete geometry of the feature exists; the feature must
   * then be omitted.
   */
  bool add(const MvtFeature& feature);

  uint32_t features() const { return static_cast<uint32_t>(types_.size()); }

  void write(ByteBuffer& out) const;

 private:
  /** Types of the specification. */
  enum Type : uint32_t { Point = 0, LineString = 1, Polygon = 2, MultiPoint = 3, MultiLineString = 4, MultiPolygon = 5 };

  /** Positions of one line or ring. */
  struct Part {
    uint32_t positions = 0;
    Position first;
    /** Twice the area between its positions and the origin; the edge that closes a ring is not in it. */
    uint64_t area = 0;
    Position last;

    /** 1 for exterior rings of version 2, -1 for interior ones, 0 without an area. */
    int winding() const;
  };

  bool readParts(const MvtFeature& feature);
  /** Copies `count` positions; null when there are not so many. */
  const uint8_t* copyPositions(const uint8_t* p, const uint8_t* end, uint64_t count, Part& part);
  /** Writes positions, each as the difference from the one before. */
  void writeDifferences(size_t begin, size_t end);
  void takePoints();
  void takeLines();
  void takeRings();

  std::vector<uint32_t> types_;
  /** Lengths by the levels of the specification: of multi geometries, of polygons, and of lines and rings. */
  std::vector<uint32_t> geometries_;
  std::vector<uint32_t> parts_;
  std::vector<uint32_t> rings_;
  /** Without polygons, lengths of lines are of the level of parts. */
  bool hasPolygons_ = false;
  /** Differences between positions as varints, and the positions themselves. */
  ByteBuffer vertices_;
  std::vector<Position> positions_;
  /** The latest position of all, and the cursor of the feature in work. */
  Position last_;
  Position cursor_;
  std::vector<Part> feature_;
  mutable VertexDictionary dictionary_;
};

}  // namespace graticule::mlt
