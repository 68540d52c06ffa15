#include "geodesic.h"

#include <geodesic.h>

#include <algorithm>
#include <cmath>

#include "crs.h"
#include "pj_holder.h"
#include "reprojector.h"

namespace graticule {
namespace {

/** Children per node of the tree, and arcs per leaf. */
constexpr size_t kFanout = 8;

constexpr double kDegreesPerRadian = 57.295779513082320877;

Vector3 operator+(const Vector3& a, const Vector3& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
Vector3 operator-(const Vector3& a, const Vector3& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
Vector3 operator*(const Vector3& a, double k) { return {a.x * k, a.y * k, a.z * k}; }
double dot(const Vector3& a, const Vector3& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
Vector3 cross(const Vector3& a, const Vector3& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
double square(const Vector3& a) { return dot(a, a); }
Vector3 unit(const Vector3& a) { return a * (1 / std::sqrt(square(a))); }

Vector3 onSphere(double longitude, double latitude) {
  const double c = std::cos(latitude);
  return {c * std::cos(longitude), c * std::sin(longitude), std::sin(latitude)};
}

/** More than the sides of arcs of one great circle, such as a meridian, come out as by rounding. */
constexpr double kRounding = 1e-15;

/** Whether two arcs cross inside both; arcs of a few centimetres may seem not to. */
bool arcsCross(const Vector3& a, const Vector3& b, const Vector3& c, const Vector3& d) {
  const Vector3 ab = cross(a, b);
  const double acb = -dot(ab, c);
  const double bda = dot(ab, d);
  if (acb * bda <= 0 || std::fabs(acb) < kRounding || std::fabs(bda) < kRounding) return false;
  const Vector3 cd = cross(c, d);
  const double cbd = -dot(cd, b);
  const double dac = dot(cd, a);
  return acb * cbd > 0 && acb * dac > 0;
}

/** The point of an arc nearest to `p`. */
Vector3 nearestOnArc(const Vector3& p, const Vector3& from, const Vector3& to) {
  const Vector3 n = cross(from, to);
  const double nn = square(n);
  if (nn > 0) {
    const Vector3 foot = p - n * (dot(p, n) / nn);
    if (dot(cross(n, from), foot) >= 0 && dot(cross(to, n), foot) >= 0 && square(foot) > 0) return unit(foot);
  }
  return square(p - from) <= square(p - to) ? from : to;
}

}  // namespace

bool measureOf(PJ_CONTEXT* context, const std::string& text, CrsMeasure& measure, std::string& error) {
  const PjHolder crs(createCrs(context, text, error));
  if (crs.pj == nullptr) return false;
  const PjHolder horizontal(horizontalOf(context, crs.pj));
  const PjHolder cs(horizontal.pj == nullptr ? nullptr : proj_crs_get_coordinate_system(context, horizontal.pj));
  if (cs.pj == nullptr) {
    error = "the coordinate reference system has no horizontal part";
    return false;
  }
  const PJ_TYPE type = proj_get_type(horizontal.pj);
  measure.geographic = type == PJ_TYPE_GEOGRAPHIC_2D_CRS || type == PJ_TYPE_GEOGRAPHIC_3D_CRS;
  proj_cs_get_axis_info(context, cs.pj, 0, nullptr, nullptr, nullptr, &measure.unit, nullptr, nullptr, nullptr);
  const PjHolder ellipsoid(proj_get_ellipsoid(context, horizontal.pj));
  double inverse = 0;
  if (ellipsoid.pj != nullptr && proj_ellipsoid_get_parameters(context, ellipsoid.pj, &measure.semiMajorMetre, nullptr,
                                                               nullptr, &inverse) != 0) {
    measure.flattening = inverse == 0 ? 0 : 1 / inverse;
  }
  return true;
}

SphereGeometry::SphereGeometry(const Geometry& geometry, double radiansPerUnit) : radiansPerUnit_(radiansPerUnit) {
  for (const Node& node : geometry.nodes) {
    if (!node.simple() || node.sequences == 0) continue;
    const auto begin = static_cast<uint32_t>(arcs_.size());
    const bool polygon = node.type == GeometryType::Polygon;
    for (uint32_t i = 0; i < node.sequences; ++i) addSequence(geometry.sequences[node.firstSequence + i], polygon);
    if (arcs_.size() == begin) continue;
    starts_.push_back(begin);
    if (polygon) closePolygon(begin);
  }
  buildTree();
}

void SphereGeometry::addSequence(const Sequence& s, bool closed) {
  const size_t begin = arcs_.size();
  Vector3 last{};
  for (size_t i = 0; i < s.count; ++i) {
    if (!std::isfinite(s.x(i)) || !std::isfinite(s.y(i))) continue;
    const Vector3 next = onSphere(s.x(i) * radiansPerUnit_, s.y(i) * radiansPerUnit_);
    // The arc of the first position is a point until the second one comes.
    const bool second = arcs_.size() == begin + 1 && square(arcs_[begin].to - arcs_[begin].from) == 0;
    if (second) {
      arcs_[begin].to = next;
    } else {
      arcs_.push_back({arcs_.size() == begin ? next : last, next});
    }
    last = next;
  }
  if (closed && arcs_.size() > begin && square(last - arcs_[begin].from) > 0) {
    arcs_.push_back({last, arcs_[begin].from});
  }
}

void SphereGeometry::closePolygon(uint32_t begin) {
  const auto end = static_cast<uint32_t>(arcs_.size());
  Vector3 sum{0, 0, 0};
  for (uint32_t i = begin; i < end; ++i) sum = sum + arcs_[i].from;
  const Vector3 centre = square(sum) > 0 ? unit(sum) : arcs_[begin].from;
  double cosine = 1;
  for (uint32_t i = begin; i < end; ++i) cosine = std::min(cosine, dot(centre, arcs_[i].from));
  // A direction next to the cap, towards an axis that is not near its centre.
  const Vector3 axis = std::fabs(centre.z) < 0.9 ? Vector3{0.1, 0.2, 1} : Vector3{1, 0.2, 0.1};
  const Vector3 side = unit(cross(centre, axis));
  const double radius = std::acos(std::clamp(cosine, -1.0, 1.0));
  const double away = std::min(radius * 1.1 + 1e-3, 3.1);
  polygons_.push_back({begin, end, centre, cosine, unit(centre * std::cos(away) + side * std::sin(away))});
}

void SphereGeometry::buildTree() {
  const auto group = [](size_t n) { return (n + kFanout - 1) / kFanout; };
  std::vector<Bounds> leaves(group(arcs_.size()), Bounds{{2, 2, 2}, {-2, -2, -2}});
  const auto add = [](Bounds& b, const Vector3& low, const Vector3& high) {
    b.low = {std::min(b.low.x, low.x), std::min(b.low.y, low.y), std::min(b.low.z, low.z)};
    b.high = {std::max(b.high.x, high.x), std::max(b.high.y, high.y), std::max(b.high.z, high.z)};
  };
  for (size_t i = 0; i < arcs_.size(); ++i) {
    const Arc& arc = arcs_[i];
    // Maximum distance of an arc from its chord.
    const double chord = square(arc.to - arc.from);
    const double bulge = 1 - std::sqrt(std::max(0.0, 1 - chord / 4));
    const Vector3 margin{bulge, bulge, bulge};
    add(leaves[i / kFanout], arc.from - margin, arc.from + margin);
    add(leaves[i / kFanout], arc.to - margin, arc.to + margin);
  }
  levels_.push_back(std::move(leaves));
  while (levels_.back().size() > 1) {
    const std::vector<Bounds>& below = levels_.back();
    std::vector<Bounds> level(group(below.size()), Bounds{{2, 2, 2}, {-2, -2, -2}});
    for (size_t i = 0; i < below.size(); ++i) add(level[i / kFanout], below[i].low, below[i].high);
    levels_.push_back(std::move(level));
  }
}

bool SphereGeometry::holds(const Vector3& point) const {
  for (const Polygon& polygon : polygons_) {
    if (dot(polygon.centre, point) < polygon.cosine) continue;
    bool inside = false;
    for (uint32_t i = polygon.begin; i < polygon.end; ++i) {
      inside ^= arcsCross(point, polygon.outside, arcs_[i].from, arcs_[i].to);
    }
    if (inside) return true;
  }
  return false;
}

/** Walks two trees in parallel and skips pairs of boxes farther apart than the nearest points so far. */
class NearestArcs {
 public:
  NearestArcs(const SphereGeometry& a, const SphereGeometry& b) : a_(a), b_(b) {
    visit(a.levels_.size() - 1, 0, b.levels_.size() - 1, 0);
    if (square_ > 0 && (anyInside(a, b) || anyInside(b, a))) square_ = 0;
  }

  bool meet() const { return square_ == 0; }
  const Vector3& onA() const { return onA_; }
  const Vector3& onB() const { return onB_; }

 private:
  using Bounds = SphereGeometry::Bounds;
  using Arc = SphereGeometry::Arc;

  struct Child {
    double distance;
    size_t index;
  };

  static bool anyInside(const SphereGeometry& inner, const SphereGeometry& outer) {
    for (const uint32_t start : inner.starts_) {
      if (outer.holds(inner.arcs_[start].from)) return true;
    }
    return false;
  }

  static double gap(double lowA, double highA, double lowB, double highB) {
    return std::max({0.0, lowA - highB, lowB - highA});
  }
  static double least(const Bounds& a, const Bounds& b) {
    return square(Vector3{gap(a.low.x, a.high.x, b.low.x, b.high.x), gap(a.low.y, a.high.y, b.low.y, b.high.y),
                          gap(a.low.z, a.high.z, b.low.z, b.high.z)});
  }

  /** Opens the higher of the two nodes, nearest children first. */
  void visit(size_t levelA, size_t i, size_t levelB, size_t j) {
    if (levelA == 0 && levelB == 0) return compareLeaves(i, j);
    const bool openA = levelA >= levelB;
    const std::vector<Bounds>& below = openA ? a_.levels_[levelA - 1] : b_.levels_[levelB - 1];
    const Bounds& other = openA ? b_.levels_[levelB][j] : a_.levels_[levelA][i];
    const size_t begin = (openA ? i : j) * kFanout;
    const size_t end = std::min(begin + kFanout, below.size());
    Child order[kFanout];
    size_t n = 0;
    for (size_t k = begin; k < end; ++k) {
      const Child child{least(below[k], other), k};
      size_t place = n++;
      for (; place > 0 && child.distance < order[place - 1].distance; --place) order[place] = order[place - 1];
      order[place] = child;
    }
    for (size_t k = 0; k < n; ++k) {
      if (order[k].distance >= square_) return;
      if (openA) {
        visit(levelA - 1, order[k].index, levelB, j);
      } else {
        visit(levelA, i, levelB - 1, order[k].index);
      }
    }
  }

  void compareLeaves(size_t i, size_t j) {
    const size_t endA = std::min((i + 1) * kFanout, a_.arcs_.size());
    const size_t endB = std::min((j + 1) * kFanout, b_.arcs_.size());
    for (size_t m = i * kFanout; m < endA; ++m) {
      for (size_t n = j * kFanout; n < endB; ++n) compare(a_.arcs_[m], b_.arcs_[n]);
    }
  }

  void compare(const Arc& a, const Arc& b) {
    if (arcsCross(a.from, a.to, b.from, b.to)) {
      square_ = 0;
      return;
    }
    take(a.from, nearestOnArc(a.from, b.from, b.to));
    take(a.to, nearestOnArc(a.to, b.from, b.to));
    take(nearestOnArc(b.from, a.from, a.to), b.from);
    take(nearestOnArc(b.to, a.from, a.to), b.to);
  }

  void take(const Vector3& onA, const Vector3& onB) {
    const double distance = square(onA - onB);
    if (distance >= square_) return;
    square_ = distance;
    onA_ = onA;
    onB_ = onB;
  }

  const SphereGeometry& a_;
  const SphereGeometry& b_;
  double square_ = 8;
  Vector3 onA_{1, 0, 0};
  Vector3 onB_{1, 0, 0};
};

std::optional<double> geodesicDistance(const SphereGeometry& a, const SphereGeometry& b, const CrsMeasure& measure) {
  if (a.empty() || b.empty()) return std::nullopt;
  const NearestArcs nearest(a, b);
  if (nearest.meet()) return 0;
  geod_geodesic ellipsoid;
  geod_init(&ellipsoid, measure.semiMajorMetre, measure.flattening);
  const auto latitude = [](const Vector3& v) { return std::atan2(v.z, std::hypot(v.x, v.y)) * kDegreesPerRadian; };
  const auto longitude = [](const Vector3& v) { return std::atan2(v.y, v.x) * kDegreesPerRadian; };
  double metres = 0;
  geod_inverse(&ellipsoid, latitude(nearest.onA()), longitude(nearest.onA()), latitude(nearest.onB()),
               longitude(nearest.onB()), &metres, nullptr, nullptr);
  return metres;
}

}  // namespace graticule
