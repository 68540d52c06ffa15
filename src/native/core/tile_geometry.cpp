#include "tile_geometry.h"

#include <cmath>
#include <cstdlib>

#include "varint.h"

namespace graticule {
namespace {

constexpr uint32_t kMoveTo = 1;
constexpr uint32_t kLineTo = 2;
constexpr uint32_t kClosePath = 15;

constexpr uint32_t command(uint32_t id, uint32_t count) { return count << 3 | id; }

/**
 * Grid coordinates beyond it are taken for no numbers: clipping against them would be rounding noise. The whole
 * world at zoom level 30 is 4e12 units wide.
 */
constexpr double kMaxCoordinate = 1e15;

/** A command integer carries 29 bits of count. */
constexpr size_t kMaxCount = (1u << 29) - 1;

/** Drops positions equal to the one before; returns how many are left. */
size_t dropRepeated(int32_t* xy, size_t n) {
  if (n == 0) return 0;
  int32_t lastX = xy[0];
  int32_t lastY = xy[1];
  size_t kept = 1;
  for (size_t i = 1; i < n; ++i) {
    const int32_t x = xy[2 * i];
    const int32_t y = xy[2 * i + 1];
    xy[2 * kept] = x;
    xy[2 * kept + 1] = y;
    kept += (x != lastX) | (y != lastY);
    lastX = x;
    lastY = y;
  }
  return kept;
}

size_t dropRepeatedOfRing(int32_t* xy, size_t n) {
  n = dropRepeated(xy, n);
  while (n > 1 && xy[0] == xy[2 * n - 2] && xy[1] == xy[2 * n - 1]) --n;
  return n;
}

/** True when three positions lie on one border line, so that the middle one adds nothing but a spike. */
bool alongBorder(const int32_t* a, const int32_t* b, const int32_t* c, int32_t low, int32_t high) {
  for (int axis = 0; axis < 2; ++axis) {
    if (b[axis] == a[axis] && b[axis] == c[axis] && (b[axis] == low || b[axis] == high)) return true;
  }
  return false;
}

/** Removes what clipping leaves along the border: edges that run to and fro on one line. */
size_t dropBorderRuns(int32_t* xy, size_t n, int32_t low, int32_t high) {
  size_t kept = 0;
  for (size_t i = 0; i < n; ++i) {
    const int32_t x = xy[2 * i];
    const int32_t y = xy[2 * i + 1];
    const int32_t c[2] = {x, y};
    while (kept >= 2 && alongBorder(xy + 2 * (kept - 2), xy + 2 * (kept - 1), c, low, high)) --kept;
    if (kept >= 1 && xy[2 * kept - 2] == x && xy[2 * kept - 1] == y) continue;
    xy[2 * kept] = x;
    xy[2 * kept + 1] = y;
    ++kept;
  }
  // The seam: the last positions against the first.
  while (kept >= 3) {
    const int32_t* last = xy + 2 * (kept - 1);
    if ((last[0] == xy[0] && last[1] == xy[1]) || alongBorder(last - 2, last, xy, low, high)) {
      --kept;
    } else {
      break;
    }
  }
  return kept;
}

/** True when the ring goes from a to b and back on the same line. */
bool spike(const int32_t* a, const int32_t* b, const int32_t* c) {
  const int64_t abX = int64_t{b[0]} - a[0];
  const int64_t abY = int64_t{b[1]} - a[1];
  const int64_t bcX = int64_t{c[0]} - b[0];
  const int64_t bcY = int64_t{c[1]} - b[1];
  return abX * bcY == abY * bcX && abX * bcX + abY * bcY < 0;
}

bool hasSpike(const int32_t* xy, size_t n) {
  const int32_t* a = xy + 2 * (n - 2);
  const int32_t* b = xy + 2 * (n - 1);
  for (size_t i = 0; i < n; ++i) {
    const int32_t* c = xy + 2 * i;
    if (spike(a, b, c)) return true;
    a = b;
    b = c;
  }
  return false;
}

/**
 * Removes what the grid has made of slivers and narrow arms: edges that run back over themselves, which the specification
 * forbids (4.3.4.4). The ring has no equal neighbours, before and after.
 */
size_t dropSpikes(int32_t* xy, size_t n) {
  if (n < 3 || !hasSpike(xy, n)) return n;
  size_t kept = 0;
  const auto at = [&](size_t i) { return xy + 2 * i; };
  const auto same = [&](size_t i, size_t j) { return at(i)[0] == at(j)[0] && at(i)[1] == at(j)[1]; };
  for (size_t i = 0; i < n; ++i) {
    const int32_t c[2] = {at(i)[0], at(i)[1]};
    while (kept >= 2 && spike(at(kept - 2), at(kept - 1), c)) --kept;
    if (kept >= 1 && at(kept - 1)[0] == c[0] && at(kept - 1)[1] == c[1]) continue;
    at(kept)[0] = c[0];
    at(kept)[1] = c[1];
    ++kept;
  }
  // The seam: the last positions against the first ones.
  size_t first = 0;
  while (kept - first >= 3) {
    if (same(first, kept - 1) || spike(at(kept - 2), at(kept - 1), at(first))) {
      --kept;
    } else if (spike(at(kept - 1), at(first), at(first + 1))) {
      ++first;
    } else {
      break;
    }
  }
  std::memmove(xy, at(first), (kept - first) * 2 * sizeof *xy);
  return kept - first;
}

/** Twice the signed area by the surveyor's formula; positive is clockwise on a y-down screen. */
int64_t doubleArea(const int32_t* xy, size_t n) {
  // Unsigned, so that a hostile ring of millions of positions wraps instead of overflowing.
  uint64_t sum = 0;
  int64_t x = xy[2 * n - 2];
  int64_t y = xy[2 * n - 1];
  for (size_t i = 0; i < n; ++i) {
    const int64_t nextX = xy[2 * i];
    const int64_t nextY = xy[2 * i + 1];
    sum += static_cast<uint64_t>(x * nextY - nextX * y);
    x = nextX;
    y = nextY;
  }
  return static_cast<int64_t>(sum);
}

/**
 * Moves what was clamped to the border of Web Mercator's square world out of every clip buffer: the edge that closes
 * Antarctica would show at the border of the tile.
 */
void pushBeyond(double* xy, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    double& y = xy[2 * i + 1];
    // Clamping is exact to the rounding of a logarithm.
    if (std::fabs(y) >= kMercatorMaxNorthing * (1 - 1e-9)) y *= 4;
  }
}

/** Length of a line, by its longer side step for step: exact to a factor of the square root of two. */
int64_t lengthOf(const int32_t* xy, size_t n) {
  int64_t sum = 0;
  for (size_t i = 2; i < 2 * n; i += 2) {
    const int32_t dx = std::abs(xy[i] - xy[i - 2]);
    const int32_t dy = std::abs(xy[i + 1] - xy[i - 1]);
    sum += dx > dy ? dx : dy;
  }
  return sum;
}

/** Grows only: shrinking and growing again would zero-fill for every feature. */
template <typename T>
void ensure(std::vector<T>& v, size_t size) {
  if (v.size() < size) v.resize(size);
}

bool matches(GeometryType type, TileGeometryType wanted) {
  return static_cast<uint8_t>(type) == static_cast<uint8_t>(wanted);
}

}  // namespace

void TileGeometryEncoder::begin(const TileGrid& grid, double tolerance, const Reprojector* reprojector) {
  grid_ = grid;
  tolerance_ = tolerance;
  reprojector_ = reprojector != nullptr && reprojector->identity() ? nullptr : reprojector;
  clipBox_ = grid.clipBox();
  hasOriginBox_ = reprojector_ != nullptr && reprojector_->originBox(clipBox_, originBox_);
}

bool TileGeometryEncoder::mayTouch(const Box& e) const {
  if (reprojector_ != nullptr && !hasOriginBox_) return true;
  const Box& box = reprojector_ == nullptr ? clipBox_ : originBox_;
  return e.maxX >= box.minX && e.minX <= box.maxX && e.maxY >= box.minY && e.minY <= box.maxY;
}

bool TileGeometryEncoder::encode(const Geometry& geometry, TileGeometryType type, ByteBuffer& out) {
  const size_t before = out.size();
  cursorX_ = cursorY_ = 0;
  measure_ = 0;
  if (type == TileGeometryType::Point) {
    encodePoints(geometry, out);
  } else {
    for (const Node& node : geometry.nodes) {
      if (!matches(node.type, type)) continue;
      if (type == TileGeometryType::Polygon) {
        encodePolygon(geometry, node, out);
      } else {
        encodeLine(geometry.sequences[node.firstSequence], out);
      }
    }
  }
  return out.size() > before;
}

Sequence TileGeometryEncoder::project(const Sequence& s) {
  if (reprojector_ == nullptr) return s;
  ensure(projected_, size_t{s.count} * 2);
  double* xy = projected_.data();
  uint32_t count = s.count;
  if (hasOriginBox_) {
    count = static_cast<uint32_t>(copyNear(s, originBox_, xy));
  } else {
    for (size_t i = 0; i < s.count; ++i) std::memcpy(xy + 2 * i, s.data + i * s.stride, 16);
  }
  reprojector_->transform(xy, count);
  if (reprojector_->clampsNorthing()) pushBeyond(xy, count);
  return {reinterpret_cast<const uint8_t*>(xy), count, 16, false};
}

bool TileGeometryEncoder::toFloating(const Sequence& s) {
  ensure(near_, size_t{s.count} * 2);
  const size_t count = copyNear(s, clipBox_, near_.data());
  floating_.resize(count * 2);
  const double* in = near_.data();
  double* out = floating_.data();
  Box bounds;
  bool sane = true;
  for (size_t i = 0; i < count; ++i, in += 2, out += 2) {
    const double x = grid_.gridX(in[0]);
    const double y = grid_.gridY(in[1]);
    sane &= std::fabs(x) <= kMaxCoordinate && std::fabs(y) <= kMaxCoordinate;
    bounds.add(x, y);
    out[0] = x;
    out[1] = y;
  }
  return sane && bounds.maxX >= grid_.low && bounds.minX <= grid_.high && bounds.maxY >= grid_.low &&
         bounds.minY <= grid_.high;
}

void TileGeometryEncoder::encodePoints(const Geometry& geometry, ByteBuffer& out) {
  ring_.clear();
  for (const Node& node : geometry.nodes) {
    if (node.type != GeometryType::Point || node.sequences == 0) continue;
    const Sequence s = project(geometry.sequences[node.firstSequence]);
    const double x = grid_.gridX(s.x(0));
    const double y = grid_.gridY(s.y(0));
    if (!(x >= grid_.low && x <= grid_.high && y >= grid_.low && y <= grid_.high)) continue;
    ring_.push_back(roundToGrid(x));
    ring_.push_back(roundToGrid(y));
  }
  const size_t n = ring_.size() / 2;
  if (n == 0 || n > kMaxCount) return;
  uint8_t* p = putVarint32(out.reserve((2 * n + 1) * kMaxVarint32), command(kMoveTo, static_cast<uint32_t>(n)));
  for (size_t i = 0; i < n; ++i) p = writeDelta(p, ring_.data() + 2 * i);
  out.commit(p);
}

void TileGeometryEncoder::encodeLine(const Sequence& sequence, ByteBuffer& out) {
  if (sequence.count < 2) return;
  const Sequence s = project(sequence);
  ensure(ring_, size_t{s.count} * 2);
  if (quantiseInside(s, grid_, ring_.data())) {
    writeLine(s.count, out);
    return;
  }
  if (!toFloating(s)) return;
  clipLine(floating_.data(), floating_.size() / 2, grid_.low, grid_.high, scratch_, partEnds_);
  size_t begin = 0;
  for (const uint32_t end : partEnds_) {
    const size_t n = end - begin;
    ensure(ring_, n * 2);
    for (size_t i = 0; i < n * 2; ++i) ring_[i] = roundToGrid(scratch_[begin * 2 + i]);
    writeLine(n, out);
    begin = end;
  }
}

void TileGeometryEncoder::writeLine(size_t n, ByteBuffer& out) {
  int32_t* xy = ring_.data();
  n = dropRepeated(xy, n);
  // Thinning can bring equal positions together: a closed line, a spike.
  if (tolerance_ > 0) n = dropRepeated(xy, simplifier_.line(xy, n, tolerance_));
  if (n < 2 || n > kMaxCount) return;
  measure_ += static_cast<double>(lengthOf(xy, n));
  uint8_t* p = putVarint32(out.reserve((2 * n + 2) * kMaxVarint32), command(kMoveTo, 1));
  p = writeDelta(p, xy);
  p = putVarint32(p, command(kLineTo, static_cast<uint32_t>(n - 1)));
  for (size_t i = 1; i < n; ++i) p = writeDelta(p, xy + 2 * i);
  out.commit(p);
}

size_t TileGeometryEncoder::prepareRing(const Sequence& sequence) {
  if (sequence.count < 3) return 0;
  const Sequence s = project(sequence);
  // One position more than the ring has: the simplifier closes it.
  ensure(ring_, size_t{s.count} * 2 + 2);
  size_t n = s.count;
  if (quantiseInside(s, grid_, ring_.data())) {
    n = dropRepeatedOfRing(ring_.data(), n);
  } else {
    if (!toFloating(s)) return 0;
    clipRing(floating_, scratch_, grid_.low, grid_.high);
    n = floating_.size() / 2;
    ensure(ring_, n * 2 + 2);
    for (size_t i = 0; i < n * 2; ++i) ring_[i] = roundToGrid(floating_[i]);
    n = dropRepeatedOfRing(ring_.data(), n);
    n = dropBorderRuns(ring_.data(), n, roundToGrid(grid_.low), roundToGrid(grid_.high));
  }
  if (tolerance_ > 0) n = dropRepeatedOfRing(ring_.data(), simplifier_.ring(ring_.data(), n, tolerance_));
  n = dropSpikes(ring_.data(), n);
  return n < 3 || n > kMaxCount ? 0 : n;
}

void TileGeometryEncoder::encodePolygon(const Geometry& geometry, const Node& node, ByteBuffer& out) {
  const size_t before = out.size();
  const int32_t beforeX = cursorX_;
  const int32_t beforeY = cursorY_;
  int64_t exterior = 0;
  for (uint32_t i = 0; i < node.sequences; ++i) {
    const size_t n = prepareRing(geometry.sequences[node.firstSequence + i]);
    const int64_t area = n == 0 ? 0 : doubleArea(ring_.data(), n);
    if (i == 0) {
      if (area == 0) return;
      exterior = std::llabs(area);
      writeRing(n, area < 0, out);
    } else if (area != 0) {
      if (std::llabs(area) >= exterior) {
        // The tile lies inside the hole: both rings have become the clip box.
        out.truncate(before);
        cursorX_ = beforeX;
        cursorY_ = beforeY;
        return;
      }
      writeRing(n, area > 0, out);
    }
  }
  measure_ += static_cast<double>(exterior) / 2;
}

void TileGeometryEncoder::writeRing(size_t n, bool reversed, ByteBuffer& out) {
  const int32_t* xy = ring_.data();
  uint8_t* p = putVarint32(out.reserve((2 * n + 3) * kMaxVarint32), command(kMoveTo, 1));
  p = writeDelta(p, xy);
  p = putVarint32(p, command(kLineTo, static_cast<uint32_t>(n - 1)));
  if (reversed) {
    for (size_t i = n - 1; i > 0; --i) p = writeDelta(p, xy + 2 * i);
  } else {
    for (size_t i = 1; i < n; ++i) p = writeDelta(p, xy + 2 * i);
  }
  p = putVarint32(p, kClosePath);
  out.commit(p);
}

uint8_t* TileGeometryEncoder::writeDelta(uint8_t* p, const int32_t* xy) {
  p = putVarint32(p, zigzag(xy[0] - cursorX_));
  p = putVarint32(p, zigzag(xy[1] - cursorY_));
  cursorX_ = xy[0];
  cursorY_ = xy[1];
  return p;
}

}  // namespace graticule
