// Tree of boxes that is built once and searched often.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "geometry.h"

namespace graticule {

/** The square of the least distance between two boxes; 0 where they meet. */
inline double squareOfGap(const Box& a, const Box& b) {
  const double dx = std::max({0.0, a.minX - b.maxX, b.minX - a.maxX});
  const double dy = std::max({0.0, a.minY - b.maxY, b.minY - a.maxY});
  return dx * dx + dy * dy;
}

inline bool meets(const Box& a, const Box& b) {
  return a.minX <= b.maxX && a.maxX >= b.minX && a.minY <= b.maxY && a.maxY >= b.minY;
}

/** Boxes with numbers, packed along a Hilbert curve: no node has room to spare. */
class BoxTree {
 public:
  /** Boxes that are not valid are in no window. */
  void add(const Box& box, uint32_t item);
  /** After the last box. */
  void build();

  size_t size() const { return count_; }
  const Box& extent() const { return extent_; }

  /** Calls `visit(item)` for each box that meets the window, in no order. */
  template <typename Visit>
  void query(const Box& window, Visit&& visit) const {
    if (count_ != 0) descend(levels_.size() - 1, 0, window, visit);
  }

  /** Calls `visit(item)` for boxes, the nearest first, until none is left within the distance that it returned last. */
  template <typename Visit>
  void nearest(const Box& to, double reach, Visit&& visit) const {
    if (count_ == 0) return;
    thread_local std::vector<Entry> open;
    open.assign(1, {0, static_cast<uint32_t>(levels_.size() - 1), 0});
    double most = squareOf(reach);
    while (!open.empty()) {
      std::pop_heap(open.begin(), open.end(), std::greater<Entry>());
      const Entry next = open.back();
      open.pop_back();
      if (next.gap > most) return;
      if (next.level == 0) {
        most = squareOf(visit(entries_[next.index].item));
        continue;
      }
      const std::vector<Box>* below = next.level > 1 ? &levels_[next.level - 1] : nullptr;
      const size_t first = size_t{next.index} * kFanOut;
      const size_t last = std::min(first + kFanOut, below == nullptr ? count_ : below->size());
      for (size_t i = first; i < last; ++i) {
        const double gap = squareOfGap(below == nullptr ? entries_[i].box : (*below)[i], to);
        if (gap > most) continue;
        open.push_back({gap, next.level - 1, static_cast<uint32_t>(i)});
        std::push_heap(open.begin(), open.end(), std::greater<Entry>());
      }
    }
  }

 private:
  static constexpr size_t kFanOut = 8;

  /**
   * Square with a margin that exceeds rounding, because the gaps of boxes and the distances of their contents are
   * rounded differently.
   */
  static double squareOf(double distance) { return distance * distance * (1 + 1e-12); }

  struct Leaf {
    Box box;
    uint32_t item;
  };
  struct Entry {
    double gap;
    uint32_t level;
    uint32_t index;
    /** At the same distance, leaves come first. */
    bool operator>(const Entry& other) const { return gap > other.gap || (gap == other.gap && level > other.level); }
  };

  template <typename Visit>
  void descend(size_t level, size_t node, const Box& window, Visit& visit) const {
    const size_t first = node * kFanOut;
    if (level == 1) {
      const size_t last = std::min(first + kFanOut, count_);
      for (size_t i = first; i < last; ++i) {
        if (meets(entries_[i].box, window)) visit(entries_[i].item);
      }
      return;
    }
    const std::vector<Box>& below = levels_[level - 1];
    const size_t last = std::min(first + kFanOut, below.size());
    for (size_t i = first; i < last; ++i) {
      if (meets(below[i], window)) descend(level - 1, i, window, visit);
    }
  }

  std::vector<Leaf> entries_;
  /**
   * Index 1 and above: boxes of the nodes, each around kFanOut boxes of the level below. The last level has one node.
   */
  std::vector<std::vector<Box>> levels_;
  size_t count_ = 0;
  Box extent_;
};

}  // namespace graticule
