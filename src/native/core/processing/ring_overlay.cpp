#include "ring_overlay.h"

#include "../geometry/wkb_writer.h"

namespace graticule {
namespace {

constexpr size_t kMostPositions = 96;
/** Share of a segment that crossings keep from its ends and from each other. */
constexpr double kApart = 1e-9;
/** Minimum share of its bounding box that a ring must cover to be an area. */
constexpr double kLeastArea = 1e-9;

Segment segmentOf(const Ring& ring, size_t i) { return {ring[i], ring[i + 1 == ring.size() ? 0 : i + 1]}; }

Box boxOf(const Ring& ring) {
  Box box;
  for (const Position& p : ring) box.add(p.x, p.y);
  return box;
}

/** Whether the edge turns back at its end onto itself. */
bool turnsBack(GEOSContextHandle_t handle, const Segment& edge, const Position& next) {
  if (side(handle, edge.a, edge.b, next) != 0) return false;
  return (edge.b.x - edge.a.x) * (next.x - edge.b.x) + (edge.b.y - edge.a.y) * (next.y - edge.b.y) <= 0;
}

/** Twice the area, positive for a counterclockwise ring. */
double areaOf(const Ring& ring) {
  double area = 0;
  for (size_t i = 1; i + 1 < ring.size(); ++i) {
    area += (ring[i].x - ring[0].x) * (ring[i + 1].y - ring[0].y) - (ring[i + 1].x - ring[0].x) * (ring[i].y - ring[0].y);
  }
  return area;
}

/** Whether a ring has an area and does not meet itself. */
bool isSimple(GEOSContextHandle_t handle, const Ring& ring) {
  const size_t n = ring.size();
  if (n < 3) return false;
  const Box box = boxOf(ring);
  if (!(std::fabs(areaOf(ring)) > kLeastArea * (box.maxX - box.minX) * (box.maxY - box.minY))) return false;
  for (size_t i = 0; i < n; ++i) {
    const Segment edge = segmentOf(ring, i);
    if (edge.a == edge.b || turnsBack(handle, edge, segmentOf(ring, (i + 1) % n).b)) return false;
    const Box own = edge.box();
    for (size_t j = i + 2; j < n; ++j) {
      if (i == 0 && j == n - 1) continue;
      const Segment other = segmentOf(ring, j);
      if (meets(own, other.box()) && meet(handle, edge, other)) return false;
    }
  }
  return true;
}

bool areApart(GEOSContextHandle_t handle, const Ring& a, const Ring& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    const Segment edge = segmentOf(a, i);
    for (size_t j = 0; j < b.size(); ++j) {
      const Segment other = segmentOf(b, j);
      if (meets(edge.box(), other.box()) && meet(handle, edge, other)) return false;
    }
  }
  return true;
}

bool isInside(GEOSContextHandle_t handle, const Position& p, const Ring& ring) {
  bool inside = false;
  for (size_t i = 0; i < ring.size(); ++i) {
    const Segment edge = segmentOf(ring, i);
    if (passes(handle, p, edge.a, edge.b)) inside = !inside;
  }
  return inside;
}

/** Crossing of an edge of the first ring and an edge of the second ring. */
struct Crossing {
  Position at;
  /** Edge of the first and of the second ring, and the share of each edge before the crossing. */
  size_t edge[2];
  double along[2];
  /** The crossing that follows on either ring. */
  size_t next[2];
  /** Whether the first ring enters the second one. Otherwise it leaves it. */
  bool enters;
};

/**
 * Returns the intersection of the lines of two crossing segments, computed around the middle of its possible area.
 */
Position intersectionOf(const Segment& p, const Segment& q) {
  const Box a = p.box();
  const Box b = q.box();
  const Position middle{(std::max(a.minX, b.minX) + std::min(a.maxX, b.maxX)) / 2,
                        (std::max(a.minY, b.minY) + std::min(a.maxY, b.maxY)) / 2};
  const Position p0{p.a.x - middle.x, p.a.y - middle.y};
  const Position p1{p.b.x - middle.x, p.b.y - middle.y};
  const Position q0{q.a.x - middle.x, q.a.y - middle.y};
  const Position q1{q.b.x - middle.x, q.b.y - middle.y};
  const double pw = p0.x * p1.y - p1.x * p0.y;
  const double qw = q0.x * q1.y - q1.x * q0.y;
  const double w = (p0.y - p1.y) * (q1.x - q0.x) - (q0.y - q1.y) * (p1.x - p0.x);
  const double x = ((p1.x - p0.x) * qw - (q1.x - q0.x) * pw) / w;
  const double y = ((q0.y - q1.y) * pw - (p0.y - p1.y) * qw) / w;
  return {x + middle.x, y + middle.y};
}

double shareOf(const Segment& s, const Position& at) {
  const double dx = s.b.x - s.a.x;
  const double dy = s.b.y - s.a.y;
  return std::fabs(dx) > std::fabs(dy) ? (at.x - s.a.x) / dx : (at.y - s.a.y) / dy;
}

bool isWithin(double share) { return share > kApart && share < 1 - kApart; }

/** All crossings of two rings; false where they touch, or cross too near to the end of an edge. */
bool findCrossings(GEOSContextHandle_t handle, const Ring& first, const Ring& second, std::vector<Crossing>& crossings) {
  const Box window = boxOf(second);
  for (size_t i = 0; i < first.size(); ++i) {
    const Segment a = segmentOf(first, i);
    const Box box = a.box();
    if (!meets(box, window)) continue;
    for (size_t j = 0; j < second.size(); ++j) {
      const Segment b = segmentOf(second, j);
      if (!meets(box, b.box())) continue;
      const int begin = side(handle, a.a, a.b, b.a);
      const int end = side(handle, a.a, a.b, b.b);
      if (begin == 0 || end == 0) return false;
      if (begin == end) continue;
      const int from = side(handle, b.a, b.b, a.a);
      const int to = side(handle, b.a, b.b, a.b);
      if (from == 0 || to == 0) return false;
      if (from == to) continue;
      const Position at = intersectionOf(a, b);
      const Crossing crossing{at, {i, j}, {shareOf(a, at), shareOf(b, at)}, {0, 0}, to > 0};
      if (!isWithin(crossing.along[0]) || !isWithin(crossing.along[1])) return false;
      crossings.push_back(crossing);
    }
  }
  return true;
}

/** Says which crossing follows on a ring; false where two are too near to each other, or do not enter and leave by turns. */
bool follow(std::vector<Crossing>& crossings, int ring) {
  thread_local std::vector<size_t> order;
  order.resize(crossings.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const Crossing& one = crossings[a];
    const Crossing& other = crossings[b];
    return one.edge[ring] != other.edge[ring] ? one.edge[ring] < other.edge[ring] : one.along[ring] < other.along[ring];
  });
  for (size_t i = 0; i < order.size(); ++i) {
    Crossing& one = crossings[order[i]];
    one.next[ring] = order[i + 1 == order.size() ? 0 : i + 1];
    const Crossing& next = crossings[one.next[ring]];
    if (one.enters == next.enters) return false;
    if (i + 1 < order.size() && one.edge[ring] == next.edge[ring] && next.along[ring] - one.along[ring] <= kApart) return false;
  }
  return true;
}

/** Appends a crossing and the positions of a ring up to the next one, which is returned. */
size_t walk(const std::vector<Crossing>& crossings, size_t from, int ring, const Ring& positions, Ring& out) {
  const Crossing& one = crossings[from];
  const Crossing& next = crossings[one.next[ring]];
  const size_t n = positions.size();
  size_t steps = (next.edge[ring] + n - one.edge[ring]) % n;
  if (steps == 0 && next.along[ring] <= one.along[ring]) steps = n;
  out.push_back(one.at);
  for (size_t i = 1; i <= steps; ++i) out.push_back(positions[(one.edge[ring] + i) % n]);
  return one.next[ring];
}

}  // namespace

std::optional<Shell> shellOf(GEOSContextHandle_t handle, const Geometry& geometry) {
  if (geometry.nodes.size() != 1 || geometry.nodes[0].type != GeometryType::Polygon || geometry.nodes[0].sequences != 1) {
    return std::nullopt;
  }
  const Sequence& s = geometry.sequences[geometry.nodes[0].firstSequence];
  if (s.count < 4 || s.count > kMostPositions || s.hasZ || s.x(0) != s.x(s.count - 1) || s.y(0) != s.y(s.count - 1)) {
    return std::nullopt;
  }
  Ring ring;
  ring.reserve(s.count - 1);
  for (size_t i = 0; i + 1 < s.count; ++i) {
    ring.push_back({s.x(i), s.y(i)});
    if (!std::isfinite(ring[i].x) || !std::isfinite(ring[i].y)) return std::nullopt;
  }
  if (!isSimple(handle, ring)) return std::nullopt;
  const bool reversed = areaOf(ring) < 0;
  if (reversed) std::reverse(ring.begin(), ring.end());
  return Shell{std::move(ring), reversed};
}

Shared sharedBy(GEOSContextHandle_t handle, const Ring& first, const Ring& second, std::vector<Ring>& rings) {
  thread_local std::vector<Crossing> crossings;
  crossings.clear();
  if (!findCrossings(handle, first, second, crossings)) return Shared::Unsure;
  if (crossings.empty()) {
    if (isInside(handle, first[0], second)) return Shared::First;
    return isInside(handle, second[0], first) ? Shared::Second : Shared::Nothing;
  }
  if (!follow(crossings, 0) || !follow(crossings, 1)) return Shared::Unsure;
  const size_t before = rings.size();
  std::vector<bool> done(crossings.size(), false);
  for (size_t start = 0; start < crossings.size(); ++start) {
    if (!crossings[start].enters || done[start]) continue;
    Ring& ring = rings.emplace_back();
    size_t at = start;
    do {
      done[at] = true;
      at = walk(crossings, at, 0, first, ring);
      at = walk(crossings, at, 1, second, ring);
    } while (at != start && !done[at]);
    if (at != start) return Shared::Unsure;
  }
  for (size_t i = before; i < rings.size(); ++i) {
    // Crossings are rounded.
    if (areaOf(rings[i]) <= 0 || !isSimple(handle, rings[i])) return Shared::Unsure;
    for (size_t j = before; j < i; ++j) {
      if (!areApart(handle, rings[j], rings[i])) return Shared::Unsure;
    }
  }
  return Shared::Rings;
}

void writeRings(const std::vector<Ring>& rings, int32_t srsId, ByteBuffer& out) {
  constexpr uint8_t kStride = sizeof(Position);
  std::vector<Ring> closed;
  Geometry geometry;
  if (rings.size() > 1) geometry.nodes.push_back({GeometryType::MultiPolygon, static_cast<uint32_t>(rings.size()), 0, 0});
  for (const Ring& ring : rings) {
    const Ring& positions = closed.emplace_back(ring.rbegin(), ring.rend());
    closed.back().push_back(Position(positions.front()));
    geometry.nodes.push_back({GeometryType::Polygon, 0, static_cast<uint32_t>(geometry.sequences.size()), 1});
    geometry.sequences.push_back(
        {reinterpret_cast<const uint8_t*>(positions.data()), static_cast<uint32_t>(positions.size()), kStride, false});
  }
  writeGeoPackageBlob(geometry, srsId, out);
}

}  // namespace graticule
