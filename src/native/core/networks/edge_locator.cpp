#include "edge_locator.h"

#include <algorithm>
#include <cmath>

namespace graticule::networks {
namespace {

constexpr double kRadiansPerDegree = 3.14159265358979323846 / 180;
/** Metres of one degree of a meridian, on average. */
constexpr double kMetresPerDegree = 6371008.7714 * kRadiansPerDegree;
/** Beyond this latitude, a degree of longitude counts as much as here. */
constexpr double kMostLatitude = 89.9;

struct Scale {
  double x;
  double y;

  double distance(const NetworkPoint& a, const NetworkPoint& b) const { return std::hypot((a.x - b.x) * x, (a.y - b.y) * y); }
};

Scale scaleAt(const NetworkView& network, double latitude) {
  if (!network.isGeographic) return {1, 1};
  const double bounded = std::min(std::fabs(latitude), kMostLatitude);
  return {kMetresPerDegree * std::cos(bounded * kRadiansPerDegree), kMetresPerDegree};
}

/** Share of a segment at which it is nearest to a point. */
double projectOnto(const Scale& scale, const NetworkPoint& a, const NetworkPoint& b, const NetworkPoint& point) {
  const double dx = (b.x - a.x) * scale.x;
  const double dy = (b.y - a.y) * scale.y;
  const double square = dx * dx + dy * dy;
  if (!(square > 0)) return 0;
  const double part = ((point.x - a.x) * scale.x * dx + (point.y - a.y) * scale.y * dy) / square;
  return std::min(1.0, std::max(0.0, part));
}

NetworkPoint between(const NetworkPoint& a, const NetworkPoint& b, double part) {
  return {a.x + (b.x - a.x) * part, a.y + (b.y - a.y) * part};
}

/** Lengths of the segments of an edge, in a plane at the latitude of its start. */
class Measure {
 public:
  Measure(const NetworkView& network, uint32_t edge)
      : points_(network.points.data + network.pointFirst[edge]),
        count_(network.pointFirst[edge + 1] - network.pointFirst[edge]),
        scale_(scaleAt(network, points_[0].y)) {
    for (uint32_t i = 1; i < count_; ++i) total_ += scale_.distance(points_[i - 1], points_[i]);
  }

  double total() const { return total_; }
  double segment(uint32_t i) const { return scale_.distance(points_[i], points_[i + 1]); }

  /** The segment of a share, and the part of this segment. */
  std::pair<uint32_t, double> find(double share) const {
    double left = std::min(1.0, std::max(0.0, share)) * total_;
    for (uint32_t i = 0; i + 2 < count_; ++i) {
      const double length = segment(i);
      if (left < length) return {i, left / length};
      left -= length;
    }
    const double length = segment(count_ - 2);
    return {count_ - 2, length > 0 ? std::min(1.0, left / length) : 0};
  }

 private:
  const NetworkPoint* points_;
  uint32_t count_;
  Scale scale_;
  double total_ = 0;
};

}  // namespace

struct EdgeLocator::Nearest {
  double distance;
  uint32_t edge = kNone;
  uint32_t segment = 0;
  double part = 0;
  NetworkPoint point = {0, 0};
};

EdgeLocator::EdgeLocator(const NetworkView& network) : network_(network) {
  for (uint32_t e = 0; e < network.edges; ++e) {
    Box box;
    for (uint32_t i = network.pointFirst[e]; i < network.pointFirst[e + 1]; ++i) box.add(network.points[i].x, network.points[i].y);
    tree_.add(box, e);
  }
  tree_.build();
}

void EdgeLocator::search(const NetworkPoint& point, Span<uint8_t> isUsable, Nearest& nearest) const {
  const Scale scale = scaleAt(network_, point.y);
  // The tree measures in units of the coordinates, of which the smaller scale gives the longest reach.
  const double unit = std::min(scale.x, scale.y);
  Box at;
  at.add(point.x, point.y);
  tree_.nearest(at, nearest.distance / unit, [&](uint32_t edge) {
    if (isUsable.size != 0 && isUsable[edge] == 0) return nearest.distance / unit;
    for (uint32_t i = network_.pointFirst[edge]; i + 1 < network_.pointFirst[edge + 1]; ++i) {
      const NetworkPoint& a = network_.points[i];
      const NetworkPoint& b = network_.points[i + 1];
      const double part = projectOnto(scale, a, b, point);
      const NetworkPoint there = between(a, b, part);
      const double distance = scale.distance(there, point);
      if (!(distance <= nearest.distance)) continue;
      if (distance == nearest.distance && nearest.edge <= edge) continue;
      nearest = {distance, edge, i - network_.pointFirst[edge], part, there};
    }
    return nearest.distance / unit;
  });
}

double EdgeLocator::shareAt(uint32_t edge, uint32_t segment, double part) const {
  const uint32_t segments = network_.pointFirst[edge + 1] - network_.pointFirst[edge] - 1;
  if (segment == 0 && part == 0) return 0;
  if (segment + 1 == segments && part == 1) return 1;
  const Measure measure(network_, edge);
  if (!(measure.total() > 0)) return 0;
  double before = 0;
  for (uint32_t i = 0; i < segment; ++i) before += measure.segment(i);
  return std::min(1.0, (before + measure.segment(segment) * part) / measure.total());
}

std::optional<LocatedPosition> EdgeLocator::find(const NetworkPoint& point, double reach, Span<uint8_t> isUsable) const {
  Nearest nearest{reach};
  search(point, isUsable, nearest);
  if (network_.isGeographic) {
    // Edges on the other side of the antimeridian.
    search({point.x - 360, point.y}, isUsable, nearest);
    search({point.x + 360, point.y}, isUsable, nearest);
  }
  if (nearest.edge == kNone) return std::nullopt;
  return LocatedPosition{{nearest.edge, shareAt(nearest.edge, nearest.segment, nearest.part)}, nearest.point, nearest.distance};
}

NetworkPoint locate(const NetworkView& network, const EdgePosition& at) {
  const auto [segment, part] = Measure(network, at.edge).find(at.share);
  const NetworkPoint* points = network.points.data + network.pointFirst[at.edge];
  return between(points[segment], points[segment + 1], part);
}

void appendGeometry(const NetworkView& network, uint32_t edge, double from, double to, std::vector<NetworkPoint>& points) {
  const auto add = [&](const NetworkPoint& point) {
    if (points.empty() || points.back().x != point.x || points.back().y != point.y) points.push_back(point);
  };
  const NetworkPoint* all = network.points.data + network.pointFirst[edge];
  const Measure measure(network, edge);
  const auto [firstSegment, firstPart] = measure.find(from);
  const auto [lastSegment, lastPart] = measure.find(to);
  add(between(all[firstSegment], all[firstSegment + 1], firstPart));
  for (uint32_t i = firstSegment + 1; i <= lastSegment && from <= to; ++i) add(all[i]);
  for (uint32_t i = firstSegment; i > lastSegment && from > to; --i) add(all[i]);
  add(between(all[lastSegment], all[lastSegment + 1], lastPart));
}

}  // namespace graticule::networks
