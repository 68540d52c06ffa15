#include "scene_cells.h"

#include <algorithm>
#include <cmath>

namespace graticule {

void SceneCells::begin(uint32_t level) {
  level_ = level;
  cells_.clear();
}

void SceneCells::beginFeature(double longitude, double latitude) {
  const double size = 180.0 / static_cast<double>(1u << level_);
  const double columns = 2.0 * static_cast<double>(1u << level_);
  const auto index = [](double position, double count) {
    return static_cast<uint64_t>(std::clamp(std::floor(position), 0.0, count - 1));
  };
  // Rows include their southern side, as columns include their western one.
  const uint64_t fromSouth = index((latitude + 90) / size, columns / 2);
  const uint64_t row = static_cast<uint64_t>(columns / 2) - 1 - fromSouth;
  selected_ = index((longitude + 180) / size, columns) << 32 | row;
}

void SceneCells::extend(const Box& box, double low, double high) {
  Cell& cell = cells_[selected_];
  const bool isFirst = !cell.box.valid();
  cell.box.add(box.minX, box.minY);
  cell.box.add(box.maxX, box.maxY);
  cell.low = isFirst ? low : std::min(cell.low, low);
  cell.high = isFirst ? high : std::max(cell.high, high);
}

void SceneCells::countFeature() { ++cells_[selected_].features; }

void SceneCells::finish(ByteBuffer& out) const {
  for (const auto& [key, cell] : cells_) {
    const double numbers[kCellNumbers] = {static_cast<double>(key >> 32),
                                          static_cast<double>(key & UINT32_MAX),
                                          static_cast<double>(cell.features),
                                          cell.box.minX,
                                          cell.box.minY,
                                          cell.box.maxX,
                                          cell.box.maxY,
                                          cell.low,
                                          cell.high};
    out.append(numbers, sizeof numbers);
  }
}

}  // namespace graticule
