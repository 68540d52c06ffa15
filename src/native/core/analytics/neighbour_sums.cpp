#include "neighbour_sums.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace graticule {
namespace {

/** Cells along each axis; beyond it they are wider than the radius. */
constexpr double kMostCells = 1 << 20;

constexpr double kRounding = 1e-9;

using Place = std::array<int32_t, 3>;

struct Entry {
  Place cell;
  uint32_t point;
};

bool before(const Entry& a, const Place& cell) { return a.cell < cell; }

/** Points in the order of their cells. */
class Grid {
 public:
  Grid(const double* points, size_t n, int dimensions, double radius) : points_(points), dimensions_(dimensions) {
    double widest = 0;
    for (int d = 0; d < dimensions; ++d) {
      double high = -std::numeric_limits<double>::infinity();
      least_[d] = std::numeric_limits<double>::infinity();
      for (size_t i = 0; i < n; ++i) {
        least_[d] = std::min(least_[d], points[i * dimensions + d]);
        high = std::max(high, points[i * dimensions + d]);
      }
      widest = std::max(widest, high - least_[d]);
    }
    // Points that are as far apart as the radius stay in neighbouring cells, however their places are rounded.
    side_ = std::max(radius * (1 + kRounding), widest / kMostCells);
    entries_.reserve(n);
    for (size_t i = 0; i < n; ++i) entries_.push_back({cellOf(i), static_cast<uint32_t>(i)});
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return a.cell < b.cell || (a.cell == b.cell && a.point < b.point);
    });
  }

  /** Visits the points in the cell of a point and in those beside it. */
  template <typename Visit>
  void around(size_t point, Visit&& visit) const {
    const Place cell = cellOf(point);
    const int32_t deep = dimensions_ == 3 ? 1 : 0;
    for (int32_t x = -1; x <= 1; ++x) {
      for (int32_t y = -1; y <= 1; ++y) {
        // Cells that follow each other along the last axis follow each other in the list, too.
        const Place first{cell[0] + x, cell[1] + y, cell[2] - deep};
        const Place last{cell[0] + x, cell[1] + y, cell[2] + deep};
        auto it = std::lower_bound(entries_.begin(), entries_.end(), first, before);
        for (; it != entries_.end() && it->cell <= last; ++it) visit(it->point);
      }
    }
  }

 private:
  Place cellOf(size_t i) const {
    Place cell{0, 0, 0};
    for (int d = 0; d < dimensions_; ++d) {
      const double t = side_ > 0 ? (points_[i * static_cast<size_t>(dimensions_) + static_cast<size_t>(d)] - least_[d]) / side_ : 0;
      cell[static_cast<size_t>(d)] = static_cast<int32_t>(t);
    }
    return cell;
  }

  const double* points_;
  int dimensions_;
  double least_[3] = {0, 0, 0};
  double side_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace

void neighbourSums(const double* points, size_t n, int dimensions, const double* values, double radius, double* counts,
                   double* sums) {
  const Grid grid(points, n, dimensions, radius);
  const auto width = static_cast<size_t>(dimensions);
  for (size_t i = 0; i < n; ++i) {
    counts[i] = sums[i] = 0;
    grid.around(i, [&](uint32_t j) {
      double square = 0;
      for (size_t d = 0; d < width; ++d) {
        const double difference = points[i * width + d] - points[j * width + d];
        square += difference * difference;
      }
      if (square > radius * radius) return;
      counts[i] += 1;
      sums[i] += values[j];
    });
  }
}

}  // namespace graticule
