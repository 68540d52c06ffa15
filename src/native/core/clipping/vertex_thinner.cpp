#include "vertex_thinner.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace graticule {
namespace {

/** Positions of a run. Longer sequences are simplified in runs, which limits the time for each position. */
constexpr size_t kRun = 4096;
constexpr size_t kKeptMemory = 4u << 20;
constexpr size_t kOriginal = SIZE_MAX;

}  // namespace

void VertexThinner::begin(double tolerance, const Reprojector* reprojector) {
  squaredTolerance_ = tolerance > 0 ? tolerance * tolerance : 0;
  reprojector_ = reprojector != nullptr && reprojector->identity() ? nullptr : reprojector;
}

const Geometry& VertexThinner::thin(const Geometry& geometry) {
  if (!(squaredTolerance_ > 0)) return geometry;
  result_.nodes = geometry.nodes;
  result_.sequences = geometry.sequences;
  bytes_.clear();
  offsets_.assign(geometry.sequences.size(), kOriginal);
  for (const Node& node : geometry.nodes) {
    if (node.type != GeometryType::LineString && node.type != GeometryType::Polygon) continue;
    for (size_t i = node.firstSequence; i < size_t{node.firstSequence} + node.sequences; ++i) {
      const Sequence& s = geometry.sequences[i];
      // Sequences that cannot be projected are left to the writer, which omits them.
      if (s.count < 3 || !load(s)) continue;
      offsets_[i] = bytes_.size();
      result_.sequences[i] = thinSequence(s, node.type == GeometryType::Polygon);
    }
  }
  for (size_t i = 0; i < offsets_.size(); ++i) {
    if (offsets_[i] != kOriginal) result_.sequences[i].data = bytes_.data() + offsets_[i];
  }
  return result_;
}

bool VertexThinner::load(const Sequence& s) {
  const size_t n = s.count;
  if (xy_.size() < 2 * n) xy_.resize(2 * n);
  for (size_t i = 0; i < n; ++i) std::memcpy(xy_.data() + 2 * i, s.data + i * s.stride, 16);
  if (reprojector_ != nullptr) reprojector_->transform(xy_.data(), s.count);
  return std::all_of(xy_.data(), xy_.data() + 2 * n, [](double ordinate) { return std::isfinite(ordinate); });
}

/** Copies the remaining positions of the loaded sequence. */
Sequence VertexThinner::thinSequence(const Sequence& s, bool isRing) {
  const size_t n = s.count;
  keep_.assign(n, 0);
  keep_[0] = keep_[n - 1] = 1;
  // A ring ends where it starts, so its halves need a common end.
  const size_t middle = isRing ? farthestFromFirst(n) : n - 1;
  keep_[middle] = 1;
  for (size_t first = 0; first < n - 1;) {
    const size_t end = first < middle ? middle : n - 1;
    const size_t last = std::min(end, first + kRun);
    keep_[last] = 1;
    mark(first, last);
    first = last;
  }
  uint32_t left = 0;
  for (size_t i = 0; i < n; ++i) {
    if (keep_[i] == 0) continue;
    bytes_.insert(bytes_.end(), s.data + i * s.stride, s.data + (i + 1) * s.stride);
    ++left;
  }
  const bool isClosed = xy_[0] == xy_[2 * n - 2] && xy_[1] == xy_[2 * n - 1];
  const uint32_t corners = isRing && isClosed ? left - 1 : left;
  return {nullptr, isRing && corners < 3 ? 0 : left, s.stride, s.hasZ};
}

size_t VertexThinner::farthestFromFirst(size_t n) const {
  size_t farthest = n - 1;
  double most = -1;
  for (size_t i = 1; i < n; ++i) {
    const double squared = squaredDistance(i, 0, 0);
    if (squared <= most) continue;
    most = squared;
    farthest = i;
  }
  return farthest;
}

/** Marks the positions to keep between two kept positions. */
void VertexThinner::mark(size_t first, size_t last) {
  stack_.clear();
  stack_.push_back({first, last});
  while (!stack_.empty()) {
    const Span span = stack_.back();
    stack_.pop_back();
    double most = squaredTolerance_;
    size_t farthest = span.first;
    for (size_t i = span.first + 1; i < span.last; ++i) {
      const double squared = squaredDistance(i, span.first, span.last);
      if (!(squared > most)) continue;
      most = squared;
      farthest = i;
    }
    if (farthest == span.first) continue;
    keep_[farthest] = 1;
    stack_.push_back({span.first, farthest});
    stack_.push_back({farthest, span.last});
  }
}

/** Squared distance of a position from the segment between two other positions. */
double VertexThinner::squaredDistance(size_t position, size_t a, size_t b) const {
  const double* p = &xy_[2 * position];
  const double* from = &xy_[2 * a];
  const double dx = xy_[2 * b] - from[0];
  const double dy = xy_[2 * b + 1] - from[1];
  const double length = dx * dx + dy * dy;
  const double along = length > 0 ? ((p[0] - from[0]) * dx + (p[1] - from[1]) * dy) / length : 0;
  const double share = std::min(1.0, std::max(0.0, along));
  const double x = p[0] - from[0] - share * dx;
  const double y = p[1] - from[1] - share * dy;
  return x * x + y * y;
}

void VertexThinner::release() {
  begin(0, nullptr);
  result_.clear();
  if (bytes_.capacity() + xy_.capacity() * sizeof(double) <= kKeptMemory) return;
  bytes_ = {};
  xy_ = {};
  keep_ = {};
}

}  // namespace graticule
