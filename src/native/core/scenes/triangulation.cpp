#include "triangulation.h"

#include <algorithm>
#include <cmath>

namespace graticule {
namespace {

/** Grid units along the longer side: products of two differences stay below 2^62. */
constexpr double kGridSide = 1u << 30;
/** Loops of fewer vertices are searched completely. */
constexpr size_t kMinGridVertices = 64;
/** Average number of vertices in a cell. */
constexpr size_t kVerticesPerCell = 2;

/** Returns whether `p` is between `a` and `b`, if the three are on one line. */
template <typename Vertex>
bool isBetween(const Vertex& a, const Vertex& p, const Vertex& b) {
  return std::min(a.x, b.x) <= p.x && p.x <= std::max(a.x, b.x) && std::min(a.y, b.y) <= p.y &&
         p.y <= std::max(a.y, b.y);
}

}  // namespace

/** Links the distinct positions of a ring: exterior counter-clockwise, holes clockwise. kNone for fewer than three. */
uint32_t Triangulator::addRing(const std::vector<double>& uv, size_t begin, size_t end, bool exterior) {
  const auto first = static_cast<uint32_t>(vertices_.size());
  double area = 0;
  for (size_t i = begin; i < end; ++i) {
    const auto x = static_cast<int64_t>(std::llround((uv[2 * i] - originX_) * scale_));
    const auto y = static_cast<int64_t>(std::llround((uv[2 * i + 1] - originY_) * scale_));
    if (vertices_.size() > first && vertices_.back().x == x && vertices_.back().y == y) continue;
    vertices_.push_back({x, y, static_cast<uint32_t>(i), 0, 0, false});
  }
  while (vertices_.size() > first + 1 && same(vertices_.back(), vertices_[first])) vertices_.pop_back();
  const auto last = static_cast<uint32_t>(vertices_.size());
  if (last - first < 3) {
    vertices_.resize(first);
    return kNone;
  }
  const Vertex& origin = vertices_[first];
  for (uint32_t i = first + 1; i + 1 < last; ++i) {
    area += static_cast<double>(turn(origin, vertices_[i], vertices_[i + 1]));
  }
  const bool forward = (area > 0) == exterior;
  for (uint32_t i = first; i < last; ++i) {
    const uint32_t before = i == first ? last - 1 : i - 1;
    const uint32_t after = i + 1 == last ? first : i + 1;
    vertices_[i].previous = forward ? before : after;
    vertices_[i].next = forward ? after : before;
  }
  return first;
}

void Triangulator::unlink(uint32_t i) {
  Vertex& vertex = vertices_[i];
  vertices_[vertex.previous].next = vertex.next;
  vertices_[vertex.next].previous = vertex.previous;
  vertex.removed = true;
}

/** Returns whether the direction to a position is inside of the polygon, or along an edge, at a corner. */
bool Triangulator::isInSector(uint32_t corner, const Vertex& to) const {
  const Vertex& v = at(corner);
  const Vertex& a = at(v.previous);
  const Vertex& c = at(v.next);
  const int64_t angle = turn(a, v, c);
  const bool leftOfNext = turn(v, c, to) >= 0;
  const bool leftOfPrevious = turn(a, v, to) >= 0;
  if (angle > 0) return leftOfNext && leftOfPrevious;
  if (angle < 0) return leftOfNext || leftOfPrevious;
  const bool turnsBack = (a.x - v.x) * (c.x - v.x) + (a.y - v.y) * (c.y - v.y) > 0;
  return turnsBack || leftOfNext;
}

/** Returns whether a line inside of the polygon leads from a vertex of a hole to a vertex of the loop. */
bool Triangulator::isVisible(uint32_t from, uint32_t to, uint32_t loop) const {
  const Vertex& m = at(from);
  const Vertex& v = at(to);
  if (same(m, v)) return isInSector(to, at(m.next)) && isInSector(to, at(m.previous));
  if (!isInSector(to, m)) return false;
  uint32_t i = loop;
  do {
    const Vertex& a = at(i);
    const Vertex& b = at(a.next);
    i = a.next;
    const int64_t sideA = turn(m, v, a);
    if (sideA == 0 && !same(a, v) && !same(a, m) && isBetween(m, a, v)) return false;
    const int64_t sideM = turn(a, b, m);
    // The hole touches the edge: the line must start on the edge's inner side.
    if (sideM == 0 && isBetween(a, m, b) && turn(a, b, v) < 0) return false;
    const int64_t sideB = turn(m, v, b);
    if ((sideA > 0 && sideB < 0) || (sideA < 0 && sideB > 0)) {
      const int64_t sideV = turn(a, b, v);
      if ((sideM > 0 && sideV < 0) || (sideM < 0 && sideV > 0)) return false;
    }
  } while (i != loop);
  return true;
}

/**
 * Returns the nearest vertex of the loop that is visible from a hole's first vertex in the order of x and y. Holes that
 * are not joined yet come later in this order, so they cannot be in between.
 */
uint32_t Triangulator::findBridge(uint32_t hole, uint32_t loop) {
  const Vertex& m = at(hole);
  candidates_.clear();
  uint32_t i = loop;
  do {
    const Vertex& v = at(i);
    if (v.x < m.x || (v.x == m.x && v.y <= m.y)) candidates_.push_back(i);
    i = v.next;
  } while (i != loop);
  const auto distance = [&](uint32_t c) {
    const auto dx = static_cast<double>(at(c).x - m.x);
    const auto dy = static_cast<double>(at(c).y - m.y);
    return dx * dx + dy * dy;
  };
  const auto farther = [&](uint32_t a, uint32_t b) { return distance(a) > distance(b); };
  std::make_heap(candidates_.begin(), candidates_.end(), farther);
  while (!candidates_.empty()) {
    std::pop_heap(candidates_.begin(), candidates_.end(), farther);
    const uint32_t candidate = candidates_.back();
    candidates_.pop_back();
    if (isVisible(hole, candidate, loop)) return candidate;
  }
  return kNone;
}

/** Connects a hole to the loop by a bridge there and back. Returns a vertex of the loop; kNone without a bridge. */
uint32_t Triangulator::joinHole(uint32_t hole, uint32_t loop) {
  const uint32_t bridge = findBridge(hole, loop);
  if (bridge == kNone) return kNone;
  const bool touches = same(at(bridge), at(hole));
  const uint32_t after = at(bridge).next;
  const uint32_t last = at(hole).previous;
  const auto addCopy = [&](uint32_t of) {
    const Vertex copy = at(of);
    vertices_.push_back(copy);
    return static_cast<uint32_t>(vertices_.size() - 1);
  };
  const auto link = [&](uint32_t from, uint32_t to) {
    vertices_[from].next = to;
    vertices_[to].previous = from;
  };
  const uint32_t bridgeCopy = addCopy(bridge);
  if (touches) {
    // One position is the bridge: the hole's own vertex disappears.
    const uint32_t second = at(hole).next;
    vertices_[hole].removed = true;
    link(bridge, second);
    link(last, bridgeCopy);
  } else {
    const uint32_t holeCopy = addCopy(hole);
    link(bridge, hole);
    link(last, holeCopy);
    link(holeCopy, bridgeCopy);
  }
  link(bridgeCopy, after);
  return bridge;
}

/** Puts the vertices that are not convex into a grid. Vertices never become less convex, so it remains complete. */
void Triangulator::fillGrid(uint32_t start, size_t count) {
  int64_t maxX = INT64_MIN;
  int64_t maxY = INT64_MIN;
  gridX_ = gridY_ = INT64_MAX;
  uint32_t i = start;
  do {
    const Vertex& v = at(i);
    gridX_ = std::min(gridX_, v.x);
    gridY_ = std::min(gridY_, v.y);
    maxX = std::max(maxX, v.x);
    maxY = std::max(maxY, v.y);
    i = v.next;
  } while (i != start);
  columns_ = rows_ = 1;
  const int64_t side = std::max(maxX - gridX_, maxY - gridY_) + 1;
  cellSize_ = side;
  if (count >= kMinGridVertices) {
    const double cells = std::max<double>(1, static_cast<double>(count) / kVerticesPerCell);
    const double area = static_cast<double>(maxX - gridX_ + 1) * static_cast<double>(maxY - gridY_ + 1);
    const double least = static_cast<double>(side) / static_cast<double>(count);
    cellSize_ = static_cast<int64_t>(std::max({1.0, least, std::sqrt(area / cells)}));
    columns_ = static_cast<uint32_t>((maxX - gridX_) / cellSize_ + 1);
    rows_ = static_cast<uint32_t>((maxY - gridY_) / cellSize_ + 1);
  }
  const auto cellOf = [&](const Vertex& v) {
    return static_cast<size_t>((v.y - gridY_) / cellSize_) * columns_ + static_cast<size_t>((v.x - gridX_) / cellSize_);
  };
  cellStarts_.assign(static_cast<size_t>(columns_) * rows_ + 1, 0);
  const auto eachObstacle = [&](auto&& visit) {
    uint32_t j = start;
    do {
      const Vertex& v = at(j);
      if (turn(at(v.previous), v, at(v.next)) <= 0) visit(j, cellOf(v));
      j = v.next;
    } while (j != start);
  };
  size_t obstacles = 0;
  eachObstacle([&](uint32_t, size_t cell) {
    ++cellStarts_[cell + 1];
    ++obstacles;
  });
  for (size_t c = 1; c < cellStarts_.size(); ++c) cellStarts_[c] += cellStarts_[c - 1];
  cellVertices_.resize(obstacles);
  std::vector<uint32_t> ends(cellStarts_.begin(), cellStarts_.end() - 1);
  eachObstacle([&](uint32_t j, size_t cell) { cellVertices_[ends[cell]++] = j; });
}

/** Returns whether another vertex, or the edges at it, are inside of the triangle of an ear. */
bool Triangulator::blocks(uint32_t other, uint32_t a, uint32_t b, uint32_t c) const {
  const Vertex& p = at(other);
  if (p.removed || other == a || other == b || other == c) return false;
  const Vertex& va = at(a);
  const Vertex& vb = at(b);
  const Vertex& vc = at(c);
  if (turn(va, vb, p) < 0 || turn(vb, vc, p) < 0 || turn(vc, va, p) < 0) return false;
  if (turn(at(p.previous), p, at(p.next)) > 0) return false;
  // A vertex at a corner blocks if its edges lead into the triangle, or enclose it from outside.
  const auto leadsInto = [&](const Vertex& before, const Vertex& corner, const Vertex& after) {
    const auto isInside = [&](const Vertex& to) { return turn(before, corner, to) > 0 && turn(corner, after, to) > 0; };
    const auto isAlong = [&](const Vertex& to, const Vertex& ray) {
      const int64_t dot = (to.x - corner.x) * (ray.x - corner.x) + (to.y - corner.y) * (ray.y - corner.y);
      return turn(corner, ray, to) == 0 && dot > 0;
    };
    const Vertex& previous = at(p.previous);
    const Vertex& next = at(p.next);
    return isInside(previous) || isInside(next) || (isAlong(previous, after) && isAlong(next, before));
  };
  if (same(p, va)) return leadsInto(vc, va, vb);
  if (same(p, vb)) return leadsInto(va, vb, vc);
  if (same(p, vc)) return leadsInto(vb, vc, va);
  return true;
}

bool Triangulator::isBlocked(uint32_t a, uint32_t b, uint32_t c) const {
  const Vertex& va = at(a);
  const Vertex& vb = at(b);
  const Vertex& vc = at(c);
  const auto cellOf = [&](int64_t v, int64_t origin, uint32_t cells) {
    return static_cast<uint32_t>(std::clamp<int64_t>((v - origin) / cellSize_, 0, cells - 1));
  };
  const uint32_t left = cellOf(std::min({va.x, vb.x, vc.x}), gridX_, columns_);
  const uint32_t right = cellOf(std::max({va.x, vb.x, vc.x}), gridX_, columns_);
  const uint32_t bottom = cellOf(std::min({va.y, vb.y, vc.y}), gridY_, rows_);
  const uint32_t top = cellOf(std::max({va.y, vb.y, vc.y}), gridY_, rows_);
  for (uint32_t row = bottom; row <= top; ++row) {
    const size_t base = static_cast<size_t>(row) * columns_;
    const uint32_t end = cellStarts_[base + right + 1];
    for (uint32_t k = cellStarts_[base + left]; k < end; ++k) {
      if (blocks(cellVertices_[k], a, b, c)) return true;
    }
  }
  return false;
}

/**
 * Clips ears until two vertices remain. If all ears are blocked, it removes a vertex on the line between its neighbours.
 * If there is no such vertex, the rings cross, and it clips a blocked ear.
 */
size_t Triangulator::clipEars(uint32_t start, std::vector<uint32_t>& triangles) {
  size_t forced = 0;
  uint32_t i = start;
  uint32_t stop = start;
  const auto clip = [&](uint32_t ear, bool keeps) {
    const Vertex& b = at(ear);
    if (keeps) {
      triangles.push_back(at(b.previous).index);
      triangles.push_back(b.index);
      triangles.push_back(at(b.next).index);
    }
    const uint32_t next = b.next;
    unlink(ear);
    return next;
  };
  while (at(i).next != at(i).previous) {
    const uint32_t a = at(i).previous;
    const uint32_t c = at(i).next;
    if (turn(at(a), at(i), at(c)) > 0 && !isBlocked(a, i, c)) {
      // Skipping a vertex avoids thin triangles.
      i = stop = at(clip(i, true)).next;
      continue;
    }
    i = c;
    if (i != stop) continue;
    uint32_t flat = kNone;
    uint32_t convex = kNone;
    do {
      const int64_t angle = turn(at(at(i).previous), at(i), at(at(i).next));
      if (angle == 0 && flat == kNone) flat = i;
      if (angle > 0 && convex == kNone) convex = i;
      i = at(i).next;
    } while (i != stop && flat == kNone);
    if (flat == kNone && convex == kNone) return forced + 1;
    const bool isForced = flat == kNone;
    forced += isForced;
    i = stop = clip(isForced ? convex : flat, isForced);
  }
  return forced;
}

size_t Triangulator::triangulate(const std::vector<double>& uv, const std::vector<uint32_t>& ends,
                                 std::vector<uint32_t>& triangles) {
  triangles.clear();
  vertices_.clear();
  holes_.clear();
  if (uv.empty() || ends.empty()) return 0;
  double minX = uv[0];
  double maxX = uv[0];
  double minY = uv[1];
  double maxY = uv[1];
  for (size_t i = 2; i + 1 < uv.size(); i += 2) {
    minX = std::min(minX, uv[i]);
    maxX = std::max(maxX, uv[i]);
    minY = std::min(minY, uv[i + 1]);
    maxY = std::max(maxY, uv[i + 1]);
  }
  const double side = std::max(maxX - minX, maxY - minY);
  if (!(side > 0) || !std::isfinite(side)) return 0;
  originX_ = minX;
  originY_ = minY;
  scale_ = std::min(1 / kFinestUnit, kGridSide / side);

  uint32_t loop = addRing(uv, 0, ends[0], true);
  if (loop == kNone) return 0;
  for (size_t r = 1; r < ends.size(); ++r) {
    uint32_t hole = addRing(uv, ends[r - 1], ends[r], false);
    if (hole == kNone) continue;
    const uint32_t first = hole;
    for (uint32_t i = at(first).next; i != first; i = at(i).next) {
      if (at(i).x < at(hole).x || (at(i).x == at(hole).x && at(i).y < at(hole).y)) hole = i;
    }
    holes_.push_back(hole);
  }
  std::sort(holes_.begin(), holes_.end(), [&](uint32_t a, uint32_t b) {
    return at(a).x != at(b).x ? at(a).x < at(b).x : at(a).y < at(b).y;
  });
  size_t forced = 0;
  for (const uint32_t hole : holes_) {
    const uint32_t joined = joinHole(hole, loop);
    if (joined == kNone) {
      ++forced;
    } else {
      loop = joined;
    }
  }
  size_t count = 0;
  uint32_t i = loop;
  do {
    ++count;
    i = at(i).next;
  } while (i != loop);
  fillGrid(loop, count);
  triangles.reserve(3 * count);
  return forced + clipEars(loop, triangles);
}

}  // namespace graticule
