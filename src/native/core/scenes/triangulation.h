// Triangles of a polygon in the plane, by ear clipping in integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace graticule {

/**
 * Triangulates one polygon at a time. Positions are rounded to a grid of about 2^30 units along the longer side of the
 * polygon (at the finest, `kFinestUnit`), so that every comparison is exact. Holes can touch the exterior ring and one
 * another. The triangles use every position that differs from its neighbours, so that they meet walls without cracks.
 */
class Triangulator {
 public:
  /** Grid unit for small polygons: 10 micrometres if the positions are in metres. */
  static constexpr double kFinestUnit = 1e-5;

  /**
   * `uv` contains x,y pairs of all rings, exterior first, without the repeated last position. `ends` contains the
   * number of positions up to the end of each ring. The orientation of the rings does not matter. Fills `triangles`
   * with triples of indices of positions, counter-clockwise. Returns the number of ears that were clipped although
   * another ring was in them: 0 for a valid polygon.
   */
  size_t triangulate(const std::vector<double>& uv, const std::vector<uint32_t>& ends,
                     std::vector<uint32_t>& triangles);

 private:
  /** A vertex in a circular list of the loop. Vertices at both ends of a bridge occur twice. */
  struct Vertex {
    int64_t x;
    int64_t y;
    uint32_t index;
    uint32_t previous;
    uint32_t next;
    bool removed;
  };

  static constexpr uint32_t kNone = UINT32_MAX;

  const Vertex& at(uint32_t i) const { return vertices_[i]; }
  /** Twice the area of a triangle; positive if it is counter-clockwise. */
  static int64_t turn(const Vertex& a, const Vertex& b, const Vertex& c) {
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
  }
  static bool same(const Vertex& a, const Vertex& b) { return a.x == b.x && a.y == b.y; }

  uint32_t addRing(const std::vector<double>& uv, size_t begin, size_t end, bool exterior);
  void unlink(uint32_t i);
  bool isInSector(uint32_t corner, const Vertex& to) const;
  bool isVisible(uint32_t from, uint32_t to, uint32_t loop) const;
  uint32_t findBridge(uint32_t hole, uint32_t loop);
  uint32_t joinHole(uint32_t hole, uint32_t loop);

  size_t clipEars(uint32_t start, std::vector<uint32_t>& triangles);
  bool isBlocked(uint32_t a, uint32_t b, uint32_t c) const;
  bool blocks(uint32_t other, uint32_t a, uint32_t b, uint32_t c) const;
  void fillGrid(uint32_t start, size_t count);

  double originX_ = 0;
  double originY_ = 0;
  double scale_ = 1;
  std::vector<Vertex> vertices_;
  std::vector<uint32_t> holes_;
  std::vector<uint32_t> candidates_;

  /** Vertices that are not convex, in cells of a grid; a loop of few vertices has one cell. */
  std::vector<uint32_t> cellStarts_;
  std::vector<uint32_t> cellVertices_;
  int64_t cellSize_ = 1;
  int64_t gridX_ = 0;
  int64_t gridY_ = 0;
  uint32_t columns_ = 1;
  uint32_t rows_ = 1;
};

}  // namespace graticule
