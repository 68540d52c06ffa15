#include "box_tree.h"

#include "hilbert.h"

namespace graticule {
namespace {

void unite(Box& all, const Box& box) {
  all.add(box.minX, box.minY);
  all.add(box.maxX, box.maxY);
}

}  // namespace

void BoxTree::add(const Box& box, uint32_t item) {
  if (!box.valid()) return;
  entries_.push_back({box, item});
  unite(extent_, box);
}

void BoxTree::build() {
  count_ = entries_.size();
  std::vector<std::pair<uint32_t, uint32_t>> order;
  order.reserve(count_);
  for (const Leaf& leaf : entries_) {
    const double x = leaf.box.minX / 2 + leaf.box.maxX / 2;
    const double y = leaf.box.minY / 2 + leaf.box.maxY / 2;
    const uint32_t key = hilbertIndex(hilbertCell(x, extent_.minX, extent_.maxX), hilbertCell(y, extent_.minY, extent_.maxY));
    order.emplace_back(key, static_cast<uint32_t>(order.size()));
  }
  std::sort(order.begin(), order.end());
  std::vector<Leaf> sorted;
  sorted.reserve(count_);
  for (const auto& [key, i] : order) sorted.push_back(entries_[i]);
  entries_ = std::move(sorted);
  levels_.assign(1, {});
  for (size_t width = count_; width > 1 || levels_.size() == 1;) {
    std::vector<Box> level((width + kFanOut - 1) / kFanOut);
    for (size_t i = 0; i < width; ++i) unite(level[i / kFanOut], levels_.size() == 1 ? entries_[i].box : levels_.back()[i]);
    width = level.size();
    levels_.push_back(std::move(level));
    if (count_ == 0) break;
  }
}

}  // namespace graticule
