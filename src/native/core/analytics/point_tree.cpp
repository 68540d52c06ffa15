#include "point_tree.h"

#include <algorithm>

namespace graticule {
namespace {

/** Points of a box that is not divided. */
constexpr size_t kLeaf = 8;

/**
 * Square of a distance. All squares are rounded alike, step by step. A point is therefore also numerically not nearer
 * than the nearest corner of its box, and not further than the furthest corner.
 */
double squareOf(double x, double y, double z) { return x * x + y * y + z * z; }

double nearestSquare(const std::array<double, 3>& low, const std::array<double, 3>& high, const std::array<double, 3>& from) {
  const auto gap = [&](size_t d) { return std::max({low[d] - from[d], from[d] - high[d], 0.0}); };
  return squareOf(gap(0), gap(1), gap(2));
}

double furthestSquare(const std::array<double, 3>& low, const std::array<double, 3>& high, const std::array<double, 3>& from) {
  const auto reach = [&](size_t d) { return std::max(from[d] - low[d], high[d] - from[d]); };
  return squareOf(reach(0), reach(1), reach(2));
}

}  // namespace

PointTree::PointTree(const double* points, size_t n, int dimensions, const double* values) {
  const auto width = static_cast<size_t>(dimensions);
  entries_.reserve(n);
  for (size_t i = 0; i < n; ++i) {
    Entry entry{{0, 0, 0}, values[i], static_cast<uint32_t>(i)};
    std::copy_n(points + i * width, width, entry.position.begin());
    entries_.push_back(entry);
  }
  nodes_.reserve(4 * n / kLeaf + 1);
  if (n > 0) build(0, n);
}

PointTree::Node PointTree::boxAround(size_t begin, size_t end) const {
  Node node{entries_[begin].position, entries_[begin].position, 0, static_cast<uint32_t>(begin), static_cast<uint32_t>(end), 0};
  for (size_t i = begin; i < end; ++i) {
    for (size_t d = 0; d < 3; ++d) {
      node.low[d] = std::min(node.low[d], entries_[i].position[d]);
      node.high[d] = std::max(node.high[d], entries_[i].position[d]);
    }
  }
  return node;
}

/**
 * Adds the box around some entries, and the boxes into which it is divided at the median of its widest side. Returns
 * the sum of the values.
 */
double PointTree::build(size_t begin, size_t end) {
  const size_t index = nodes_.size();
  nodes_.push_back(boxAround(begin, end));
  double sum = 0;
  if (end - begin <= kLeaf) {
    for (size_t i = begin; i < end; ++i) sum += entries_[i].value;
  } else {
    const Node& node = nodes_[index];
    size_t axis = 0;
    for (size_t d = 1; d < 3; ++d) {
      if (node.high[d] - node.low[d] > node.high[axis] - node.low[axis]) axis = d;
    }
    const size_t middle = begin + (end - begin) / 2;
    const auto at = [&](size_t i) { return entries_.begin() + static_cast<std::ptrdiff_t>(i); };
    std::nth_element(at(begin), at(middle), at(end),
                     [axis](const Entry& a, const Entry& b) { return a.position[axis] < b.position[axis]; });
    sum = build(begin, middle);
    nodes_[index].secondChild = static_cast<uint32_t>(nodes_.size());
    sum += build(middle, end);
  }
  nodes_[index].sum = sum;
  return sum;
}

/** Adds the points of a box that are within a distance. */
void PointTree::add(size_t index, const Position& position, double square, Total& total) const {
  const Node& node = nodes_[index];
  if (nearestSquare(node.low, node.high, position) > square) return;
  if (furthestSquare(node.low, node.high, position) <= square) {
    total.count += node.end - node.begin;
    total.sum += node.sum;
  } else if (node.secondChild != 0) {
    add(index + 1, position, square, total);
    add(node.secondChild, position, square, total);
  } else {
    for (size_t i = node.begin; i < node.end; ++i) {
      const Entry& entry = entries_[i];
      const auto difference = [&](size_t d) { return position[d] - entry.position[d]; };
      if (squareOf(difference(0), difference(1), difference(2)) > square) continue;
      total.count += 1;
      total.sum += entry.value;
    }
  }
}

void PointTree::sumNeighbours(double radius, size_t first, size_t last, double* counts, double* sums) const {
  for (size_t i = first; i < last; ++i) {
    Total total;
    add(0, entries_[i].position, radius * radius, total);
    counts[entries_[i].point] = total.count;
    sums[entries_[i].point] = total.sum;
  }
}

}  // namespace graticule
