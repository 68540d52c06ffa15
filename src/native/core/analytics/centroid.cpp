#include "centroid.h"

#include <cmath>

namespace graticule {
namespace {

struct Sum {
  double x = 0;
  double y = 0;
  double weight = 0;

  void add(double px, double py, double w) {
    x += px * w;
    y += py * w;
    weight += w;
  }
};

/** Sums relative to an origin near the geometry, so that large coordinates lose no digits. */
class Centroid {
 public:
  Centroid(double originX, double originY) : originX_(originX), originY_(originY) {}

  /** `shift` is added to each x. */
  void add(const Sequence& s, GeometryType type, bool exterior, double shift) {
    double areaX = 0;
    double areaY = 0;
    double area = 0;
    for (size_t i = 0; i < s.count; ++i) {
      const double bx = s.x(i) + shift - originX_;
      const double by = s.y(i) - originY_;
      points_.add(bx, by, 1);
      if (i == 0 || type == GeometryType::Point) continue;
      const double ax = s.x(i - 1) + shift - originX_;
      const double ay = s.y(i - 1) - originY_;
      lines_.add((ax + bx) / 2, (ay + by) / 2, std::hypot(bx - ax, by - ay));
      const double cross = ax * by - bx * ay;
      area += cross;
      areaX += (ax + bx) * cross;
      areaY += (ay + by) * cross;
    }
    if (type != GeometryType::Polygon) return;
    const double sign = (area < 0) == exterior ? -1 : 1;
    areas_.x += sign * areaX / 6;
    areas_.y += sign * areaY / 6;
    areas_.weight += sign * area / 2;
  }

  bool answer(double& x, double& y) const {
    for (const Sum* sum : {&areas_, &lines_, &points_}) {
      if (!(std::fabs(sum->weight) > 0) || !std::isfinite(sum->x / sum->weight)) continue;
      x = originX_ + sum->x / sum->weight;
      y = originY_ + sum->y / sum->weight;
      return std::isfinite(x) && std::isfinite(y);
    }
    return false;
  }

 private:
  double originX_;
  double originY_;
  Sum areas_;
  Sum lines_;
  Sum points_;
};

constexpr double kHalfTurn = 180;

Box envelopeOf(const Geometry& geometry, const Node& node) {
  Box box;
  for (uint32_t i = 0; i < node.sequences; ++i) {
    const Sequence& s = geometry.sequences[node.firstSequence + i];
    for (size_t k = 0; k < s.count; ++k) box.add(s.x(k), s.y(k));
  }
  return box;
}

/** Whether parts end at both sides of 180 degrees, and no part reaches around the Earth by the other way. */
bool isCutAtHalfTurn(const Geometry& geometry, const Box& all) {
  if (all.minX != -kHalfTurn || all.maxX != kHalfTurn) return false;
  for (const Node& node : geometry.nodes) {
    if (!node.simple()) continue;
    const Box box = envelopeOf(geometry, node);
    if (box.valid() && box.maxX - box.minX > kHalfTurn) return false;
  }
  return true;
}

}  // namespace

bool centroidOf(const Geometry& geometry, double& x, double& y, bool degrees) {
  const Box box = envelopeOf(geometry);
  if (!box.valid()) return false;
  const bool isCut = degrees && isCutAtHalfTurn(geometry, box);
  GeometryType highest = GeometryType::Point;
  for (const Node& node : geometry.nodes) {
    const bool filled = node.sequences != 0 && geometry.sequences[node.firstSequence].count != 0;
    if (node.simple() && filled && node.type > highest) highest = node.type;
  }
  Centroid centroid(isCut ? kHalfTurn : (box.minX + box.maxX) / 2, (box.minY + box.maxY) / 2);
  for (const Node& node : geometry.nodes) {
    if (node.type != highest) continue;
    const bool isWest = isCut && envelopeOf(geometry, node).minX < 0;
    for (uint32_t i = 0; i < node.sequences; ++i) {
      centroid.add(geometry.sequences[node.firstSequence + i], node.type, i == 0, isWest ? 2 * kHalfTurn : 0);
    }
  }
  if (!centroid.answer(x, y)) return false;
  if (isCut && x > kHalfTurn) x -= 2 * kHalfTurn;
  return true;
}

}  // namespace graticule
