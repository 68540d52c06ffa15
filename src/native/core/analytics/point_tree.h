// Tree of boxes of points, for sums over the points within a distance.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace graticule {

/**
 * A k-d tree (Bentley, 1975) of points with a value each. Points within a distance are summed box by box if a box is
 * completely within it. The time for a point therefore depends on the boxes on the rim: about the square root of the
 * number of points in a plane, for any distance.
 */
class PointTree {
 public:
  /** Copies `n` finite points of 2 or 3 coordinates. Throws std::bad_alloc. */
  PointTree(const double* points, size_t n, int dimensions, const double* values);

  size_t size() const { return entries_.size(); }

  /**
   * Sums up the neighbours of the points from `first` up to `last` in the order of the tree, in which neighbours are
   * adjacent. The results are the number of points within `radius`, including the point itself, and the sum of their
   * values. Both are written at the point's index in its array.
   */
  void sumNeighbours(double radius, size_t first, size_t last, double* counts, double* sums) const;

 private:
  /** A third coordinate is 0 in a plane. */
  using Position = std::array<double, 3>;

  struct Entry {
    Position position;
    double value;
    uint32_t point;
  };

  /** The box around some entries. The first child follows it. */
  struct Node {
    Position low;
    Position high;
    double sum;
    uint32_t begin;
    uint32_t end;
    /** 0 where there are none. */
    uint32_t secondChild;
  };

  struct Total {
    double count = 0;
    double sum = 0;
  };

  double build(size_t begin, size_t end);
  Node boxAround(size_t begin, size_t end) const;
  void add(size_t index, const Position& position, double square, Total& total) const;

  std::vector<Entry> entries_;
  std::vector<Node> nodes_;
};

}  // namespace graticule
