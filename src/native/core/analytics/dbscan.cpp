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
constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

template <int D>
class Grid {
 public:
  using Cell = std::array<int64_t, D>;

  Grid(const double* points, size_t n, double side) : order_(n) {
    struct Binned {
      Cell cell;
      uint32_t point;
    };
    Cell least;
    least.fill(std::numeric_limits<int64_t>::max());
    std::vector<Binned> binned(n);
    for (size_t i = 0; i < n; ++i) {
      for (int d = 0; d < D; ++d) binned[i].cell[d] = static_cast<int64_t>(std::floor(points[i * D + d] / side));
      binned[i].point = static_cast<uint32_t>(i);
    }
    std::sort(binned.begin(), binned.end(), [](const Binned& a, const Binned& b) {
      return a.cell < b.cell || (a.cell == b.cell && a.point < b.point);
    });
    for (auto& axis : coordinates_) axis.resize(n);
    for (size_t i = 0; i < n; ++i) {
      order_[i] = binned[i].point;
      for (int d = 0; d < D; ++d) coordinates_[d][i] = points[size_t{order_[i]} * D + d];
      if (i != 0 && binned[i].cell == cells_.back()) continue;
      cells_.push_back(binned[i].cell);
      begins_.push_back(static_cast<uint32_t>(i));
    }
    begins_.push_back(static_cast<uint32_t>(n));
    buildTable();
  }

  size_t cells() const { return cells_.size(); }
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

  /** How many of the places from `begin` to `end` lie within the distance of a place. */
  uint32_t countWithin(size_t place, size_t begin, size_t end, double square) const {
    uint32_t count = 0;
    for (size_t i = begin; i < end; ++i) count += squareDistance(place, i) <= square;
    return count;
  }

  /** Calls `visit` with each cell that is not empty, up to two cells away in every direction, the cell included. */
  template <typename Visit>
  void neighbours(size_t cell, Visit&& visit) const {
    Cell at;
    const Cell& centre = cells_[cell];
    constexpr int kOffsets = D == 2 ? 25 : 125;
    for (int offset = 0; offset < kOffsets; ++offset) {
      int rest = offset;
      for (int d = 0; d < D; ++d, rest /= 5) at[d] = centre[d] + rest % 5 - 2;
      const uint32_t found = find(at);
      if (found != kNone) visit(found);
    }
  }

 private:
  static size_t hash(const Cell& cell) {
    uint64_t h = 0;
    for (const int64_t c : cell) h = (h ^ static_cast<uint64_t>(c)) * 0x9E3779B97F4A7C15u, h ^= h >> 29;
    return h;
  }

  void buildTable() {
    size_t size = 16;
    while (size < 2 * cells_.size()) size *= 2;
    table_.assign(size, kNone);
    for (size_t i = 0; i < cells_.size(); ++i) {
      size_t slot = hash(cells_[i]) & (size - 1);
      while (table_[slot] != kNone) slot = (slot + 1) & (size - 1);
      table_[slot] = static_cast<uint32_t>(i);
    }
  }

  uint32_t find(const Cell& cell) const {
    const size_t mask = table_.size() - 1;
    for (size_t slot = hash(cell) & mask; table_[slot] != kNone; slot = (slot + 1) & mask) {
      if (cells_[table_[slot]] == cell) return table_[slot];
    }
    return kNone;
  }

  std::vector<uint32_t> order_;
  std::array<std::vector<double>, D> coordinates_;
  std::vector<Cell> cells_;
  std::vector<uint32_t> begins_;
  std::vector<uint32_t> table_;
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

template <int D>
class Dbscan {
 public:
  Dbscan(const double* points, size_t n, double eps, uint32_t minPoints)
      : grid_(points, n, eps / std::sqrt(double{D})), square_(eps * eps), minPoints_(minPoints), forest_(grid_.cells()) {}

  void label(int32_t* labels) {
    coreEnds_.resize(grid_.cells());
    for (size_t cell = 0; cell < grid_.cells(); ++cell) findCores(cell);
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
    grid_.neighbours(cell, [&](uint32_t other) {
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
    grid_.neighbours(cell, [&](uint32_t other) {
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
    for (size_t cell = 0; cell < grid_.cells(); ++cell) {
      for (uint32_t i = grid_.begin(cell); i < coreEnds_[cell]; ++i) roots[i] = forest_.root(static_cast<uint32_t>(cell));
      if (coreEnds_[cell] == grid_.end(cell)) continue;
      near_.clear();
      grid_.neighbours(cell, [&](uint32_t other) {
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

  Grid<D> grid_;
  double square_;
  uint32_t minPoints_;
  Forest forest_;
  /** One past the last core point of each cell. */
  std::vector<uint32_t> coreEnds_;
  std::vector<uint32_t> near_;
};

}  // namespace

void dbscan(const double* points, size_t n, int dimensions, double eps, uint32_t minPoints, int32_t* labels) {
  if (n == 0) return;
  eps = std::max(eps, kLeastEps);
  if (dimensions == 2) {
    Dbscan<2>(points, n, eps, minPoints).label(labels);
  } else {
    Dbscan<3>(points, n, eps, minPoints).label(labels);
  }
}

}  // namespace graticule
