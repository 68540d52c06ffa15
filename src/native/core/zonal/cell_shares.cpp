#include "cell_shares.h"

#include <algorithm>
#include <cmath>

namespace graticule {

namespace {

/** Maximum column and row, far below the exact range of a double. */
constexpr double kFarthest = 1e12;

}  // namespace

bool CellShares::cover(const Geometry& geometry) {
  place(geometry);
  if (!crop()) return false;
  stride_ = static_cast<size_t>(columns_) + 2;
  steps_.assign(stride_ * rows_, 0);
  for (const Ring& ring : rings_) {
    const double direction = directionOf(ring);
    for (size_t i = ring.begin; i + 1 < ring.end; ++i) {
      if (rule_ == ShareRule::Area) {
        addEdge(positions_[i], positions_[i + 1], direction);
      } else {
        addCentres(positions_[i], positions_[i + 1], direction);
      }
    }
  }
  return true;
}

/** The rings in columns and rows. */
void CellShares::place(const Geometry& geometry) {
  positions_.clear();
  rings_.clear();
  for (const Node& node : geometry.nodes) {
    if (node.type != GeometryType::Polygon) continue;
    for (uint32_t i = 0; i < node.sequences; ++i) {
      const Sequence& sequence = geometry.sequences[node.firstSequence + i];
      const size_t begin = positions_.size();
      for (uint32_t k = 0; k < sequence.count; ++k) {
        const double x = sequence.x(k);
        const double y = sequence.y(k);
        const Position position{transform_[0] + transform_[1] * x + transform_[2] * y,
                                transform_[3] + transform_[4] * x + transform_[5] * y};
        // Also false for NaN: such a position is outside every raster.
        if (!(std::fabs(position.x) < kFarthest && std::fabs(position.y) < kFarthest)) continue;
        positions_.push_back(position);
      }
      rings_.push_back({begin, positions_.size(), i == 0});
    }
  }
}

/** The cells that the box of the rings meets; false when there are none. */
bool CellShares::crop() {
  Box box;
  for (const Position& position : positions_) box.add(position.x, position.y);
  if (!box.valid()) return false;
  const double left = std::max(0.0, std::floor(box.minX));
  const double top = std::max(0.0, std::floor(box.minY));
  const double right = std::min<double>(width_, std::ceil(box.maxX));
  const double bottom = std::min<double>(height_, std::ceil(box.maxY));
  if (left >= right || top >= bottom) return false;
  firstColumn_ = static_cast<uint32_t>(left);
  firstRow_ = static_cast<uint32_t>(top);
  columns_ = static_cast<uint32_t>(right - left);
  rows_ = static_cast<uint32_t>(bottom - top);
  for (Position& position : positions_) {
    position.x -= left;
    position.y -= top;
  }
  return true;
}

/** Rings may run either way: 1 or -1, so that exteriors add and holes take away. */
double CellShares::directionOf(const Ring& ring) const {
  if (ring.end == ring.begin) return 1;
  const Position origin = positions_[ring.begin];
  double area = 0;
  for (size_t i = ring.begin; i + 1 < ring.end; ++i) {
    const Position& a = positions_[i];
    const Position& b = positions_[i + 1];
    area += (a.x - origin.x) * (b.y - origin.y) - (b.x - origin.x) * (a.y - origin.y);
  }
  // Downwards edges of a ring with a positive area are those on its right side.
  return (area > 0) == ring.exterior ? -1 : 1;
}

void CellShares::addEdge(Position from, Position to, double direction) {
  if (from.y == to.y) return;
  if (from.y > to.y) {
    std::swap(from, to);
    direction = -direction;
  }
  const double slope = (to.x - from.x) / (to.y - from.y);
  const double begin = std::max(from.y, 0.0);
  const double end = std::min(to.y, static_cast<double>(rows_));
  if (begin >= end) return;
  const auto [least, most] = std::minmax(from.x, to.x);
  // For an almost level edge, rounding would move a position far beyond it.
  const auto xAt = [&, low = least, high = most](double at) { return std::clamp(from.x + (at - from.y) * slope, low, high); };
  double y = begin;
  double x = y == from.y ? from.x : xAt(y);
  for (auto row = static_cast<uint32_t>(y); y < end; ++row) {
    const double nextY = std::min(end, row + 1.0);
    const double nextX = nextY == to.y ? to.x : xAt(nextY);
    addInRow(steps_.data() + row * stride_, x, nextX, (nextY - y) * direction);
    x = nextX;
    y = nextY;
  }
}

/**
 * Adds a part of an edge within one row. A part left of all cells covers all of them; a part right of them covers
 * none.
 */
void CellShares::addInRow(double* row, double x0, double x1, double height) {
  const double right = columns_;
  if (x0 > x1) std::swap(x0, x1);
  if (x0 >= right) return;
  if (x1 <= 0) {
    row[0] += height;
    return;
  }
  const double perColumn = x1 > x0 ? height / (x1 - x0) : 0;
  if (x0 < 0) {
    const double outside = -x0 * perColumn;
    row[0] += outside;
    height -= outside;
    x0 = 0;
  }
  if (x1 > right) {
    height -= (x1 - right) * perColumn;
    x1 = right;
  }
  addInCells(row, x0, x1, height);
}

/** From left to right, within the cells. */
void CellShares::addInCells(double* row, double x0, double x1, double height) {
  auto column = static_cast<uint32_t>(x0);
  if (x1 <= column + 1.0) {
    const double left = (x0 + x1) / 2 - column;
    row[column] += height * (1 - left);
    row[column + 1] += height * left;
    return;
  }
  const double perColumn = height / (x1 - x0);
  for (double x = x0; x < x1; ++column) {
    const double next = std::min(x1, column + 1.0);
    const double part = (next - x) * perColumn;
    const double left = (x + next) / 2 - column;
    row[column] += part * (1 - left);
    row[column + 1] += part * left;
    x = next;
  }
}

/** Adds cell centres by GDAL's rule for polygons: a centre on an edge belongs to the cell on the right of it. */
void CellShares::addCentres(Position from, Position to, double direction) {
  if (from.y > to.y) {
    std::swap(from, to);
    direction = -direction;
  }
  const double begin = std::max(0.0, std::ceil(from.y - 0.5));
  const double end = std::min(static_cast<double>(rows_), std::ceil(to.y - 0.5));
  if (begin >= end) return;
  const double slope = (to.x - from.x) / (to.y - from.y);
  for (auto row = static_cast<uint32_t>(begin); row < end; ++row) {
    const double x = from.x + (row + 0.5 - from.y) * slope;
    const double column = std::clamp(std::floor(x + 0.5), 0.0, static_cast<double>(columns_));
    steps_[row * stride_ + static_cast<size_t>(column)] += direction;
  }
}

}  // namespace graticule
