#include "even_sample.h"

#include <algorithm>
#include <cmath>

namespace graticule {
namespace {

constexpr int32_t columnOf(uint32_t cell, int32_t margin) { return static_cast<int32_t>(cell >> 16) - margin; }
constexpr int32_t rowOf(uint32_t cell, int32_t margin) { return static_cast<int32_t>(cell & 0xffff) - margin; }

}  // namespace

void EvenSample::begin(uint32_t extent) {
  cellsPerUnit_ = static_cast<double>(kSide) / extent;
  limited_ = false;
  level_ = kLevels;
  leastHash_ = 0;
}

uint32_t EvenSample::cellOf(int32_t x, int32_t y) const {
  const auto place = [this](int32_t v) {
    const auto cell = static_cast<int32_t>(std::floor(v * cellsPerUnit_));
    return static_cast<uint32_t>(std::clamp(cell, -kMargin, kSide + kMargin - 1) + kMargin);
  };
  return place(x) << 16 | place(y);
}

int EvenSample::firstLevel(uint32_t cell) {
  const int32_t x = columnOf(cell, kMargin);
  const int32_t y = rowOf(cell, kMargin);
  return x >= 0 && x < kSide && y >= 0 && y < kSide ? 0 : kMarginLevel;
}

size_t EvenSample::cellsAt(int level) {
  const auto side = static_cast<size_t>(kAll >> (kBits - level)) + 1;
  return side * side;
}

size_t EvenSample::indexOf(uint32_t cell, int level) {
  const int shift = kBits - level;
  // The margin is a multiple of a cell at the levels that have one.
  const int32_t margin = level >= kMarginLevel ? kMargin >> shift : 0;
  const int32_t side = (kAll >> shift) + 1;
  const int32_t column = (columnOf(cell, kMargin) >> shift) + margin;
  const int32_t row = (rowOf(cell, kMargin) >> shift) + margin;
  return static_cast<size_t>(row) * static_cast<size_t>(side) + static_cast<size_t>(column);
}

/** Whether no hash of the cell is greater; then it becomes the greatest. */
bool EvenSample::leads(std::vector<uint32_t>& greatest, uint32_t cell, int level, uint32_t hash) {
  uint32_t& known = greatest[indexOf(cell, level)];
  if (hash < known) return false;
  known = hash;
  return true;
}

bool EvenSample::admits(uint32_t cell, uint32_t hash) {
  if (!limited_) return true;
  if (level_ < 0) return false;
  const int first = firstLevel(cell);
  if (level_ > first && leads(coarse_, cell, level_ - 1, hash)) {
    if (level_ < kLevels) leads(fine_, cell, level_, hash);
    return true;
  }
  if (hash < leastHash_ || level_ < first) return false;
  return level_ == kLevels || leads(fine_, cell, level_, hash);
}

void EvenSample::rank(std::vector<Entry>& entries) {
  order_.resize(entries.size());
  for (size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<uint32_t>(i);
  std::stable_sort(order_.begin(), order_.end(),
                   [&](uint32_t a, uint32_t b) {
                     const Entry& one = entries[a];
                     const Entry& other = entries[b];
                     return one.hash != other.hash ? one.hash > other.hash : one.tie > other.tie;
                   });
  for (int level = 0; level < kLevels; ++level) taken_[static_cast<size_t>(level)].assign(cellsAt(level), false);
  for (const uint32_t i : order_) {
    Entry& entry = entries[i];
    int level = firstLevel(entry.cell);
    // If a cell is free, so are its parts.
    while (level < kLevels && taken_[static_cast<size_t>(level)][indexOf(entry.cell, level)]) ++level;
    entry.importance = static_cast<uint64_t>(kLevels - level) << 32 | entry.hash;
    for (; level < kLevels; ++level) taken_[static_cast<size_t>(level)][indexOf(entry.cell, level)] = true;
  }
}

void EvenSample::limit(uint64_t least, const std::vector<Entry>& kept) {
  limited_ = true;
  const uint64_t upper = least >> 32;
  level_ = upper <= static_cast<uint64_t>(kLevels) ? kLevels - static_cast<int>(upper) : -1;
  leastHash_ = static_cast<uint32_t>(least);
  if (level_ < 0) return;
  if (level_ < kLevels) fine_.assign(cellsAt(level_), 0);
  if (level_ > 0) coarse_.assign(cellsAt(level_ - 1), 0);
  for (const Entry& entry : kept) {
    const int first = firstLevel(entry.cell);
    if (level_ < kLevels && level_ >= first) leads(fine_, entry.cell, level_, entry.hash);
    if (level_ > first) leads(coarse_, entry.cell, level_ - 1, entry.hash);
  }
}

}  // namespace graticule
