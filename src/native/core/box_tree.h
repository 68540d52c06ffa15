// A tree of boxes that is built once and asked often.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <queue>
#include <vector>

#include "geometry.h"

namespace graticule {

/** The least distance between two boxes; 0 where they meet. */
inline double gapBetween(const Box& a, const Box& b) {
  const double dx = std::max({0.0, a.minX - b.maxX, b.minX - a.maxX});
  const double dy = std::max({0.0, a.minY - b.maxY, b.minY - a.maxY});
  return dx == 0 ? dy : dy == 0 ? dx : std::hypot(dx, dy);
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

  /** Calls `visit(item, gap)` for boxes, the nearest first, until it returns false. */
  template <typename Visit>
  void nearest(const Box& to, Visit&& visit) const {
    if (count_ == 0) return;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> open;
    open.push({0, static_cast<uint32_t>(levels_.size() - 1), 0});
    while (!open.empty()) {
      const Entry next = open.top();
      open.pop();
      if (next.level == 0) {
        if (!visit(entries_[next.index].item, next.gap)) return;
        continue;
      }
      const std::vector<Box>* below = next.level > 1 ? &levels_[next.level - 1] : nullptr;
      const size_t first = size_t{next.index} * kFanOut;
      const size_t last = std::min(first + kFanOut, below == nullptr ? count_ : below->size());
      for (size_t i = first; i < last; ++i) {
        const Box& box = below == nullptr ? entries_[i].box : (*below)[i];
        open.push({gapBetween(box, to), next.level - 1, static_cast<uint32_t>(i)});
      }
    }
  }

 private:
  static constexpr size_t kFanOut = 8;

  struct Leaf {
    Box box;
    uint32_t item;
  };
  struct Entry {
    double gap;
    uint32_t level;
    uint32_t index;
    /** Of the same distance leaves come first. */
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
  /** From 1 on: the boxes of the nodes, each over kFanOut of the level below; the last level has one node. */
  std::vector<std::vector<Box>> levels_;
  size_t count_ = 0;
  Box extent_;
};

}  // namespace graticule
