// Numbers of points in the cells of a tile.
#pragma once

#include <cstdint>
#include <vector>

#include "../geometry/geometry.h"

namespace graticule {

/**
 * Counts the points of a tile in a grid of square cells. Each point of the world is in one cell of one tile, and a cell
 * has the points of four cells of the next zoom level.
 */
class TileCells {
 public:
  /** Maximum number of cells along a side. */
  static constexpr uint32_t kMaxSide = 256;

  /** Starts over. `side`: cells along a side, 0 for none. `bbox`: extent of the tile in its CRS. */
  void begin(uint32_t side, uint32_t extent, const Box& bbox);

  bool enabled() const { return side_ != 0; }

  /** Counts a position in grid units. */
  void add(double x, double y);

  /** Calls `cell` with column, row and count of each cell that has points. */
  template <typename Cell>
  void each(Cell&& cell) const {
    for (uint32_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i] != 0) cell(i % side_, i / side_, counts_[i]);
    }
  }

 private:
  uint32_t side_ = 0;
  double extent_ = 0;
  /** Whether the tile is the last one to the east, which has the positions on its border. */
  bool isLast_ = false;
  std::vector<uint32_t> counts_;
};

}  // namespace graticule
