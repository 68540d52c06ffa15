#include "small_relation.h"

#include <algorithm>
#include <cmath>

#include "../geometry/orientation.h"

namespace graticule {
namespace {

/** Pairs of segments from which on the indexes of GEOS are quicker. */
constexpr size_t kMostPairs = 8192;
Position at(const Sequence& s, size_t i) { return {s.x(i), s.y(i)}; }

/** Returns the number of positions of a geometry that GEOS can represent. Empty for other geometries. */
std::optional<size_t> positionsOf(const Geometry& geometry) {
  size_t positions = 0;
  for (const Node& node : geometry.nodes) {
    if (!node.simple()) continue;
    for (uint32_t i = 0; i < node.sequences; ++i) {
      const Sequence& s = geometry.sequences[node.firstSequence + i];
      const bool holds = node.type == GeometryType::Point        ? s.count == 1
                         : node.type == GeometryType::LineString ? s.count >= 2
                                                                 : s.count >= 4 && s.x(0) == s.x(s.count - 1) && s.y(0) == s.y(s.count - 1);
      if (!holds) return std::nullopt;
      positions += s.count;
    }
  }
  return positions;
}

bool isFinite(const Geometry& geometry) {
  for (const Sequence& s : geometry.sequences) {
    for (size_t i = 0; i < s.count; ++i) {
      if (!std::isfinite(s.x(i)) || !std::isfinite(s.y(i))) return false;
    }
  }
  return true;
}

bool isComparable(const Placed& a, const Placed& b) {
  const std::optional<size_t> left = positionsOf(a.geometry);
  const std::optional<size_t> right = positionsOf(b.geometry);
  return left && right && *left * *right <= kMostPairs && isFinite(a.geometry) && isFinite(b.geometry);
}

template <typename Visit>
void eachSegment(const Geometry& geometry, Visit&& visit) {
  for (const Sequence& s : geometry.sequences) {
    if (s.count == 1) visit(Segment{at(s, 0), at(s, 0)});
    for (size_t i = 1; i < s.count; ++i) visit(Segment{at(s, i - 1), at(s, i)});
  }
}

bool boundariesMeet(GEOSContextHandle_t handle, const Placed& a, const Placed& b) {
  thread_local std::vector<Segment> near;
  near.clear();
  eachSegment(b.geometry, [&](const Segment& segment) {
    if (meets(segment.box(), a.box)) near.push_back(segment);
  });
  bool found = false;
  eachSegment(a.geometry, [&](const Segment& segment) {
    if (found) return;
    const Box box = segment.box();
    if (!meets(box, b.box)) return;
    found = std::any_of(near.begin(), near.end(),
                        [&](const Segment& other) { return meets(box, other.box()) && meet(handle, segment, other); });
  });
  return found;
}

/** Whether a position that is not on a ring is inside a polygon. */
bool isInside(GEOSContextHandle_t handle, const Position& p, const Geometry& geometry, const Node& polygon) {
  bool inside = false;
  for (uint32_t r = 0; r < polygon.sequences; ++r) {
    const Sequence& ring = geometry.sequences[polygon.firstSequence + r];
    for (size_t i = 1; i < ring.count; ++i) {
      if (passes(handle, p, at(ring, i - 1), at(ring, i))) inside = !inside;
    }
  }
  return inside;
}

/** Whether a part of one geometry is inside an area of the other. Their boundaries do not meet. */
bool hasPartInside(GEOSContextHandle_t handle, const Geometry& parts, const Placed& areas) {
  for (const Node& part : parts.nodes) {
    if (!part.simple() || part.sequences == 0) continue;
    const Position p = at(parts.sequences[part.firstSequence], 0);
    if (p.x < areas.box.minX || p.x > areas.box.maxX || p.y < areas.box.minY || p.y > areas.box.maxY) continue;
    for (const Node& area : areas.geometry.nodes) {
      if (area.type == GeometryType::Polygon && isInside(handle, p, areas.geometry, area)) return true;
    }
  }
  return false;
}

bool intersects(GEOSContextHandle_t handle, const Placed& a, const Placed& b) {
  if (!meets(a.box, b.box)) return false;
  return boundariesMeet(handle, a, b) || hasPartInside(handle, a.geometry, b) || hasPartInside(handle, b.geometry, a);
}

/** The least distance so far, squared, and where it is. */
struct Closest {
  double square;
  Position p;
  Segment segment;
};

double squareTo(const Position& p, const Segment& s) {
  const Position d{s.b.x - s.a.x, s.b.y - s.a.y};
  const Position v{p.x - s.a.x, p.y - s.a.y};
  const double length = d.x * d.x + d.y * d.y;
  const double along = v.x * d.x + v.y * d.y;
  if (!(along > 0)) return v.x * v.x + v.y * v.y;
  if (along >= length) return (p.x - s.b.x) * (p.x - s.b.x) + (p.y - s.b.y) * (p.y - s.b.y);
  const double across = v.x * d.y - v.y * d.x;
  return across / length * across;
}

/** The same number that GEOS comes to. */
double distanceTo(const Position& p, const Segment& s) {
  const Position d{s.b.x - s.a.x, s.b.y - s.a.y};
  const double length = d.x * d.x + d.y * d.y;
  const double along = length > 0 ? ((p.x - s.a.x) * d.x + (p.y - s.a.y) * d.y) / length : 0;
  if (along <= 0) return std::sqrt((p.x - s.a.x) * (p.x - s.a.x) + (p.y - s.a.y) * (p.y - s.a.y));
  if (along >= 1) return std::sqrt((p.x - s.b.x) * (p.x - s.b.x) + (p.y - s.b.y) * (p.y - s.b.y));
  const double across = ((s.a.y - p.y) * d.x - (s.a.x - p.x) * d.y) / length;
  return std::fabs(across) * std::sqrt(length);
}

/** From the positions of one to the segments of the other. */
void measure(const Geometry& from, const Placed& to, Closest& closest) {
  for (const Sequence& s : from.sequences) {
    for (size_t i = 0; i < s.count; ++i) {
      const Position p = at(s, i);
      if (squareOfGap({p.x, p.y, p.x, p.y}, to.box) > closest.square) continue;
      eachSegment(to.geometry, [&](const Segment& segment) {
        const double square = squareTo(p, segment);
        if (square < closest.square) closest = {square, p, segment};
      });
    }
  }
}

}  // namespace

std::optional<bool> smallIntersects(GEOSContextHandle_t handle, const Placed& a, const Placed& b) {
  if (!isComparable(a, b)) return std::nullopt;
  return intersects(handle, a, b);
}

std::optional<double> smallDistance(GEOSContextHandle_t handle, const Placed& a, const Placed& b) {
  if (!isComparable(a, b)) return std::nullopt;
  if (intersects(handle, a, b)) return 0;
  Closest closest{std::numeric_limits<double>::infinity(), {}, {}};
  measure(a.geometry, b, closest);
  measure(b.geometry, a, closest);
  if (!std::isfinite(closest.square)) return std::nullopt;
  return distanceTo(closest.p, closest.segment);
}

}  // namespace graticule
