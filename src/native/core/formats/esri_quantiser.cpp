#include "esri_quantiser.h"

#include <cmath>

#include "../analytics/centroid.h"

namespace graticule {
namespace {

/** Maximum integer that is exact in every reader that only has doubles. */
constexpr double kFarthest = 9007199254740992.0;

bool roundTo(double value, int64_t& number) {
  const double nearest = std::round(value);
  // Also false for NaN.
  if (!(std::fabs(nearest) <= kFarthest)) return false;
  number = static_cast<int64_t>(nearest);
  return true;
}

/** Maximum numbers that are kept from page to page. Additional memory of a large geometry is freed. */
constexpr size_t kKeptNumbers = 1u << 19;

template <typename T>
void letGo(std::vector<T>& numbers) {
  numbers.clear();
  if (numbers.capacity() > kKeptNumbers) numbers.shrink_to_fit();
}

}  // namespace

void EsriQuantiser::begin(const FeatureOptions& options, const Reprojector* reprojector) {
  options_ = options.quantisation;
  degrees_ = options.degrees;
  positions_.begin(options.format, reprojector);
  letGo(corners_);
  letGo(lengths_);
  letGo(numbers_);
}

bool EsriQuantiser::quantise(const Geometry& geometry, bool z) {
  dimension_ = z ? 3 : 2;
  lengths_.clear();
  numbers_.clear();
  switch (geometry.nodes[0].type) {
    case GeometryType::GeometryCollection: return false;
    case GeometryType::Point:
    case GeometryType::MultiPoint: addPoints(geometry); break;
    default:
      for (const Node& node : geometry.nodes) {
        if (!node.simple() || node.sequences == 0) continue;
        if (node.type == GeometryType::Polygon) {
          addPolygon(geometry, node);
        } else {
          addLine(geometry.sequences[node.firstSequence]);
        }
      }
  }
  return !numbers_.empty();
}

bool EsriQuantiser::quantiseCentroid(const Geometry& geometry) {
  dimension_ = 2;
  lengths_.clear();
  numbers_.clear();
  double xy[2];
  if (!centroidOf(geometry, xy[0], xy[1], degrees_)) return false;
  if (!load({reinterpret_cast<const uint8_t*>(xy), 1, sizeof xy, false}) || !snap(1)) return false;
  lengths_.push_back(1);
  numbers_ = corners_;
  return true;
}

bool EsriQuantiser::load(const Sequence& s) { return s.count > 0 && positions_.load(s); }

/** The first `n` positions of the sequence that was loaded, counted from the origin. */
bool EsriQuantiser::snap(size_t n) {
  corners_.resize(n * dimension_);
  const double ySign = options_.upperLeft ? -1 : 1;
  int64_t* corner = corners_.data();
  for (size_t i = 0; i < n; ++i, corner += dimension_) {
    if (!roundTo((positions_.x(i) - options_.x) / options_.scale, corner[0])) return false;
    if (!roundTo((positions_.y(i) - options_.y) / options_.scale * ySign, corner[1])) return false;
    if (dimension_ == 3 && !roundTo(positions_.height(i) / options_.zScale, corner[2])) return false;
  }
  return true;
}

bool EsriQuantiser::isSame(size_t a, size_t b) const {
  const int64_t* p = &corners_[a * dimension_];
  const int64_t* q = &corners_[b * dimension_];
  return p[0] == q[0] && p[1] == q[1];
}

/** Keeps the first of positions that follow each other in the same place. */
void EsriQuantiser::dropRepeats(bool closed) {
  size_t kept = 1;
  const size_t n = corners();
  for (size_t i = 1; i < n; ++i) {
    if (isSame(i, kept - 1)) continue;
    for (size_t d = 0; d < dimension_; ++d) corners_[kept * dimension_ + d] = corners_[i * dimension_ + d];
    ++kept;
  }
  while (closed && kept > 1 && isSame(0, kept - 1)) --kept;
  corners_.resize(kept * dimension_);
}

/** Twice the signed area of the corners; positive: counterclockwise where y grows to the north. */
double EsriQuantiser::doubleArea() const {
  const int64_t* first = corners_.data();
  double sum = 0;
  for (size_t i = 1; i + 1 < corners(); ++i) {
    const int64_t* p = first + i * dimension_;
    const int64_t* q = p + dimension_;
    sum += static_cast<double>(p[0] - first[0]) * static_cast<double>(q[1] - first[1]) -
           static_cast<double>(q[0] - first[0]) * static_cast<double>(p[1] - first[1]);
  }
  return options_.upperLeft ? -sum : sum;
}

void EsriQuantiser::put(size_t corner) {
  for (size_t d = 0; d < dimension_; ++d) {
    const int64_t number = corners_[corner * dimension_ + d];
    numbers_.push_back(number - previous_[d]);
    previous_[d] = number;
  }
}

void EsriQuantiser::addPoints(const Geometry& geometry) {
  std::fill(previous_, previous_ + 3, 0);
  uint32_t count = 0;
  for (const Node& node : geometry.nodes) {
    if (!node.simple() || node.sequences == 0) continue;
    if (!load(geometry.sequences[node.firstSequence]) || !snap(1)) continue;
    if (options_.view && count > 0 && corners_[0] == previous_[0] && corners_[1] == previous_[1]) continue;
    put(0);
    ++count;
  }
  if (count > 0) lengths_.push_back(count);
}

void EsriQuantiser::addLine(const Sequence& s) {
  if (s.count < 2 || !load(s) || !snap(s.count)) return;
  if (options_.view) dropRepeats(false);
  const size_t n = corners();
  if (n < 2) return;
  std::fill(previous_, previous_ + 3, 0);
  for (size_t i = 0; i < n; ++i) put(i);
  lengths_.push_back(static_cast<uint32_t>(n));
}

void EsriQuantiser::addPolygon(const Geometry& geometry, const Node& node) {
  for (uint32_t i = 0; i < node.sequences; ++i) {
    // Without its exterior ring no part of a polygon remains. A vanished hole is omitted.
    if (!addRing(geometry.sequences[node.firstSequence + i], i == 0) && i == 0) return;
  }
}

bool EsriQuantiser::addRing(const Sequence& s, bool exterior) {
  if (s.count < 3 || !load(s) || !snap(positions_.corners())) return false;
  if (options_.view) dropRepeats(true);
  const size_t n = corners();
  if (n < 3) return false;
  const double area = doubleArea();
  if (options_.view && area == 0) return false;
  const bool isReversed = exterior ? area > 0 : area < 0;
  std::fill(previous_, previous_ + 3, 0);
  for (size_t i = 0; i <= n; ++i) {
    const size_t corner = i % n;
    put(isReversed && corner != 0 ? n - corner : corner);
  }
  lengths_.push_back(static_cast<uint32_t>(n + 1));
  return true;
}

}  // namespace graticule
