// Number and region of the features of a scene in each cell of a quadtree level.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "../geometry/geometry.h"
#include "../values/bytes.h"

namespace graticule {

/**
 * Cells of a level of the quadtree of longitude and latitude (WorldCRS84Quad): level 0 has two cells of 180 degrees, and
 * each level has cells of half the size. Columns count from the west, rows from the north.
 */
class SceneCells {
 public:
  static constexpr uint32_t kMaxLevel = 24;
  /** Doubles of a cell in the result. */
  static constexpr size_t kCellNumbers = 9;

  void begin(uint32_t level);
  /** Selects the cell of a feature's first position. */
  void beginFeature(double longitude, double latitude);
  /** Extends the region of the selected cell. Heights are metres above the ellipsoid. */
  void extend(const Box& box, double low, double high);
  void countFeature();
  size_t size() const { return cells_.size(); }

  /** Appends column, row, features, west, south, east, north, lowest and highest height of each cell, in no order. */
  void finish(ByteBuffer& out) const;

 private:
  struct Cell {
    uint64_t features = 0;
    Box box;
    double low = 0;
    double high = 0;
  };

  uint32_t level_ = 0;
  uint64_t selected_ = 0;
  std::unordered_map<uint64_t, Cell> cells_;
};

}  // namespace graticule
