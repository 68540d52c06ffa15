#include "tile_cells.h"

#include <algorithm>
#include <cmath>

#include "../geometry/reprojector.h"

namespace graticule {
namespace {

constexpr double kMaxLongitude = 180;

bool isNear(double value, double border) { return std::fabs(value - border) <= border * 1e-9; }

}  // namespace

void TileCells::begin(uint32_t side, uint32_t extent, const Box& bbox) {
  side_ = side;
  extent_ = extent;
  isLast_ = isNear(bbox.maxX, kMercatorMaxNorthing) || isNear(bbox.maxX, kMaxLongitude);
  counts_.assign(size_t{side} * side, 0);
}

void TileCells::add(double x, double y) {
  if (!(x >= 0 && y >= 0 && y < extent_ && (isLast_ ? x <= extent_ : x < extent_))) return;
  const auto place = [this](double v) { return std::min(static_cast<uint32_t>(v * side_ / extent_), side_ - 1); };
  ++counts_[size_t{place(y)} * side_ + place(x)];
}

}  // namespace graticule
