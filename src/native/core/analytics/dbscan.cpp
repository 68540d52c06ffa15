#include "dbscan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace graticule {
namespace {

constexpr double kLeastEps = 1e-6;
/** Minimum distance as a share of the extent, so that keys of three axes fit into 128 bits. */
constexpr double kLeastShare = 0x1p-39;
constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

/** Sorts keys of `bits` bits, and their `order`, by their digits, lowest first. */
template <typename Key>
void radixSort(std::vector<Key>& keys, std::vector<uint32_t>& order, int bits) {
  constexpr int kDigit = 11;
  constexpr uint32_t kMask = (1u << kDigit) - 1;
  std::vector<Key> otherKeys(keys.size());
  std::vector<uint32_t> otherOrder(order.size());
  for (int shift = 0; shift < bits; shift += kDigit) {
    uint32_t places[kMask + 2] = {};
    for (const Key key : keys) ++places[(static_cast<uint32_t>(key >> shift) & kMask) + 1];
    for (uint32_t i = 0; i <= kMask; ++i) places[i + 1] += places[i];
    for (size_t i = 0; i < keys.size(); ++i) {
      const uint32_t place = places[static_cast<uint32_t>(keys[i] >> shift) & kMask]++;
      otherKeys[place] = keys[i];
      otherOrder[place] = order[i];
    }
    keys.swap(otherKeys);
    order.swap(otherOrder);
  }
}

/** Cells per axis, and the bits of their numbers. Two empty cells on either side keep neighbours in range. */
template <int D>
struct Layout {
  double side;
  std::array<double, D> least;
  std::array<int, D> bits;

  Layout(const double* points, size_t n, double eps) {
    std::array<double, D> most;
    least.fill(std::numeric_limits<double>::infinity());
    most.fill(-std::numeric_limits<double>::infinity());
    for (size_t i = 0; i < n * D; ++i) {
      least[i % D] = std::min(least[i % D], points[i]);
      most[i % D] = std::max(most[i % D], points[i]);
    }
    side = eps / std::sqrt(double{D});
    for (int d = 0; d < D; ++d) {
      const double cells = (most[d] - least[d]) / side + 5;
      bits[d] = static_cast<int>(std::ceil(std::log2(cells + 1)));
    }
  }

  int totalBits() const { return std::accumulate(bits.begin(), bits.end(), 0); }
};

/** Points in the order of their cells, whose keys are their numbers on each axis, one after the other. */
template <int D, typename Key>
class Grid {
 public:
  Grid(const double* points, size_t n, const Layout<D>& layout) : order_(n) {
    std::vector<Key> keys(n);
    for (size_t i = 0; i < n; ++i) {
      Key key = 0;
      for (int d = 0; d < D; ++d) {
        const double number = (points[i * D + d] - layout.least[d]) / layout.side;
        key = key << layout.bits[d] | static_cast<Key>(static_cast<uint64_t>(number) + 2);
      }
      keys[i] = key;
    }
    std::iota(order_.begin(), order_.end(), 0);
    radixSort(keys, order_, layout.totalBits());
    for (auto& axis : coordinates_) axis.resize(n);
    for (size_t i = 0; i < n; ++i) {
      for (int d = 0; d < D; ++d) coordinates_[d][i] = points[size_t{order_[i]} * D + d];
      if (i != 0 && keys[i] == keys_.back()) continue;
      keys_.push_back(keys[i]);
      begins_.push_back(static_cast<uint32_t>(i));
    }
    begins_.push_back(static_cast<uint32_t>(n));
    layLines(layout);
  }

  size_t cells() const { return keys_.size(); }
  uint32_t begin(size_t cell) const { return begins_[cell]; }
  uint32_t end(size_t cell) const { return begins_[cell + 1]; }
  /** The point at a place in the order of the cells. */
  uint32_t point(size_t place) const { return order_[place]; }
  void swap(size_t a, size_t b) {
    std::swap(order_[a], order_[b]);
    for (auto& axis : coordinates_) std::swap(axis[a], axis[b]);
  }

  double squareDistance(size_t a, size_t b) const {
    double sum = 0;
    for (int d = 0; d < D; ++d) {
      const double delta = coordinates_[d][a] - coordinates_[d][b];
      sum += delta * delta;
    }
    return sum;
  }

  /** Returns the number of positions from `begin` to `end` that are within the distance of a position. */
  uint32_t countWithin(size_t place, size_t begin, size_t end, double square) const {
    uint32_t count = 0;
    for (size_t i = begin; i < end; ++i) count += squareDistance(place, i) <= square;
    return count;
  }

  /** Starts a walk, after which neighbours() must be called for cells in ascending order. */
  void rewind() { cursors_.fill(0); }

  /**
   * Calls `visit` with each cell that is not empty, up to two cells away in every direction, including the cell. With
   * `later`, visits only the cells of the upper half, including the cell's own line.
   */
  template <typename Visit>
  void neighbours(size_t cell, bool later, Visit&& visit) {
    for (size_t line = later ? kLines / 2 : 0; line < kLines; ++line) {
      const Key low = keys_[cell] + lines_[line];
      uint32_t& cursor = cursors_[line];
      while (cursor < keys_.size() && keys_[cursor] < low) ++cursor;
      for (uint32_t i = cursor; i < keys_.size() && keys_[i] - low <= 4; ++i) visit(i);
    }
  }

 private:
  static constexpr size_t kLines = D == 2 ? 5 : 25;

  /**
   * Neighbours are on lines of five cells along the last axis. Stores the offset from a key to the first cell of each
   * line.
   */
  void layLines(const Layout<D>& layout) {
    for (size_t line = 0; line < kLines; ++line) {
      Key offset = static_cast<Key>(-2);
      size_t rest = line;
      int shift = layout.bits[D - 1];
      for (int d = D - 2; d >= 0; --d, rest /= 5) {
        offset += (static_cast<Key>(rest % 5) - 2) << shift;
        shift += layout.bits[d];
      }
      lines_[line] = offset;
    }
  }

  std::vector<uint32_t> order_;
  std::array<std::vector<double>, D> coordinates_;
  std::vector<Key> keys_;
  std::vector<uint32_t> begins_;
  std::array<Key, kLines> lines_;
  std::array<uint32_t, kLines> cursors_{};
};

/** Cells that belong together. */
class Forest {
 public:
  explicit Forest(size_t n) : parents_(n) { std::iota(parents_.begin(), parents_.end(), 0); }

  uint32_t root(uint32_t i) {
    while (parents_[i] != i) i = parents_[i] = parents_[parents_[i]];
    return i;
  }
  void join(uint32_t a, uint32_t b) { parents_[std::max(a, b)] = std::min(a, b); }

 private:
  std::vector<uint32_t> parents_;
};

template <int D, typename Key>
class Dbscan {
 public:
  Dbscan(const double* points, size_t n, const Layout<D>& layout, double eps, uint32_t minPoints)
      : grid_(points, n, layout), square_(eps * eps), minPoints_(minPoints), forest_(grid_.cells()) {}

  void label(int32_t* labels) {
    coreEnds_.resize(grid_.cells());
    grid_.rewind();
    for (size_t cell = 0; cell < grid_.cells(); ++cell) findCores(cell);
    grid_.rewind();
    for (size_t cell = 0; cell < grid_.cells(); ++cell) joinNeighbours(static_cast<uint32_t>(cell));
    std::vector<uint32_t> roots;
    assign(roots);
    number(roots, labels);
  }

 private:
  bool hasCores(size_t cell) const { return coreEnds_[cell] != grid_.begin(cell); }

  /** Moves the core points of a cell to its front. Nothing moves between cells, so counts of later cells stay true. */
  void findCores(size_t cell) {
    const uint32_t begin = grid_.begin(cell);
    const uint32_t end = grid_.end(cell);
    coreEnds_[cell] = end;
    if (end - begin >= minPoints_) return;
    coreEnds_[cell] = begin;
    near_.clear();
    uint64_t population = 0;
    grid_.neighbours(cell, false, [&](uint32_t other) {
      population += grid_.end(other) - grid_.begin(other);
      if (other != cell) near_.push_back(other);
    });
    if (population < minPoints_) return;
    for (uint32_t i = begin; i < end; ++i) {
      // The points of the cell itself are all within reach.
      uint32_t count = end - begin;
      for (size_t k = 0; k < near_.size() && count < minPoints_; ++k) {
        count += grid_.countWithin(i, grid_.begin(near_[k]), grid_.end(near_[k]), square_);
      }
      if (count >= minPoints_) grid_.swap(i, coreEnds_[cell]++);
    }
  }

  void joinNeighbours(uint32_t cell) {
    if (!hasCores(cell)) return;
    grid_.neighbours(cell, true, [&](uint32_t other) {
      if (other <= cell || !hasCores(other)) return;
      const uint32_t a = forest_.root(cell);
      const uint32_t b = forest_.root(other);
      if (a != b && coresMeet(cell, other)) forest_.join(a, b);
    });
  }

  bool coresMeet(uint32_t a, uint32_t b) const {
    for (uint32_t i = grid_.begin(a); i < coreEnds_[a]; ++i) {
      for (uint32_t j = grid_.begin(b); j < coreEnds_[b]; ++j) {
        if (grid_.squareDistance(i, j) <= square_) return true;
      }
    }
    return false;
  }

  /** The root cell of every place, kNone for noise. */
  void assign(std::vector<uint32_t>& roots) {
    roots.assign(grid_.end(grid_.cells() - 1), kNone);
    grid_.rewind();
    for (size_t cell = 0; cell < grid_.cells(); ++cell) {
      for (uint32_t i = grid_.begin(cell); i < coreEnds_[cell]; ++i) roots[i] = forest_.root(static_cast<uint32_t>(cell));
      if (coreEnds_[cell] == grid_.end(cell)) continue;
      near_.clear();
      grid_.neighbours(cell, false, [&](uint32_t other) {
        if (hasCores(other)) near_.push_back(other);
      });
      for (uint32_t i = coreEnds_[cell]; i < grid_.end(cell); ++i) roots[i] = nearestCluster(i);
    }
  }

  uint32_t nearestCluster(uint32_t place) {
    double least = square_;
    uint32_t best = kNone;
    for (const uint32_t cell : near_) {
      for (uint32_t j = grid_.begin(cell); j < coreEnds_[cell]; ++j) {
        const double distance = grid_.squareDistance(place, j);
        if (distance > least || (distance == least && best != kNone)) continue;
        least = distance;
        best = cell;
      }
    }
    return best == kNone ? kNone : forest_.root(best);
  }

  void number(const std::vector<uint32_t>& roots, int32_t* labels) {
    for (size_t i = 0; i < roots.size(); ++i) labels[grid_.point(i)] = static_cast<int32_t>(roots[i]);
    std::vector<int32_t> numbers(grid_.cells(), kNoise);
    int32_t next = 0;
    for (size_t i = 0; i < roots.size(); ++i) {
      if (labels[i] == static_cast<int32_t>(kNone)) continue;
      int32_t& assigned = numbers[static_cast<uint32_t>(labels[i])];
      if (assigned == kNoise) assigned = next++;
      labels[i] = assigned;
    }
  }

  Grid<D, Key> grid_;
  double square_;
  uint32_t minPoints_;
  Forest forest_;
  /** One past the last core point of each cell. */
  std::vector<uint32_t> coreEnds_;
  std::vector<uint32_t> near_;
};

template <int D>
void run(const double* points, size_t n, double eps, uint32_t minPoints, int32_t* labels) {
  double extent = 0;
  for (size_t i = 0; i < n * D; ++i) extent = std::max(extent, std::fabs(points[i] - points[i % D]));
  eps = std::max({eps, kLeastEps, extent * kLeastShare});
  const Layout<D> layout(points, n, eps);
  if (layout.totalBits() <= 64) {
    Dbscan<D, uint64_t>(points, n, layout, eps, minPoints).label(labels);
  } else {
    Dbscan<D, unsigned __int128>(points, n, layout, eps, minPoints).label(labels);
  }
}

}  // namespace

void dbscan(const double* points, size_t n, int dimensions, double eps, uint32_t minPoints, int32_t* labels) {
  if (n == 0) return;
  (dimensions == 2 ? run<2> : run<3>)(points, n, eps, minPoints, labels);
}

}  // namespace graticule
