// Spatially even samples of the points of a tile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace graticule {

/**
 * Order of the points of a tile in which each prefix is spread evenly. Level n divides the tile into 4^n cells, up to
 * 512 x 512. The point with the greatest hash represents a cell. Points are sorted by their coarsest level. Cells are
 * the same in all tiles of a zoom level, so neighbouring tiles thin points alike.
 *
 * Points can arrive in any order, because more points never return a dropped point to the sample.
 */
class EvenSample {
 public:
  /** Cell of lines and polygons. */
  static constexpr uint32_t kNone = UINT32_MAX;

  /** Point that takes part in a ranking, and the importance that it gets. */
  struct Entry {
    uint32_t cell;
    uint32_t hash;
    /** Orders points of equal hashes, which are at one position. */
    uint32_t tie;
    uint64_t importance;
  };

  /** Starts over: all points are admitted. */
  void begin(uint32_t extent);

  /** Returns the finest cell of a position in grid units. The clip buffer has cells. */
  uint32_t cellOf(int32_t x, int32_t y) const;

  /** False if the point is not in the sample that limit() set. An admitted point can displace other points. */
  bool admits(uint32_t cell, uint32_t hash);

  /** Sets the importance of the points, by their level and then by their hash. It is below that of any line. */
  void rank(std::vector<Entry>& entries);

  /** Restricts later points to a sample whose least important feature, point or not, is `least`. */
  void limit(uint64_t least, const std::vector<Entry>& kept);

 private:
  /** Cells along a side at the finest level, and in the clip buffer beyond each side. */
  static constexpr int kBits = 9;
  static constexpr int32_t kSide = 1 << kBits;
  static constexpr int32_t kMargin = 64;
  static constexpr int32_t kAll = kSide + 2 * kMargin;
  /** Number of levels. The points without a level come after them. */
  static constexpr int kLevels = kBits + 1;
  /** First level of cells that are complete in the clip buffer: a 64th of a side, as the buffer. */
  static constexpr int kMarginLevel = 6;

  static int firstLevel(uint32_t cell);
  static size_t cellsAt(int level);
  static size_t indexOf(uint32_t cell, int level);
  static bool leads(std::vector<uint32_t>& greatest, uint32_t cell, int level, uint32_t hash);

  double cellsPerUnit_ = 0;
  bool limited_ = false;
  /** Level of the least important point of the sample, and its hash. -1: no point is in the sample. */
  int level_ = kLevels;
  uint32_t leastHash_ = 0;
  /** Greatest hash by cell, at `level_` and at the level before it. 0: the cell has no point. */
  std::vector<uint32_t> fine_;
  std::vector<uint32_t> coarse_;
  /** Cells that have a point, by level. */
  std::array<std::vector<bool>, kLevels> taken_;
  std::vector<uint32_t> order_;
};

}  // namespace graticule
