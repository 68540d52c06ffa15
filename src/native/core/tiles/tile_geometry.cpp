#include "tile_geometry.h"

#include <cmath>
#include <cstdlib>

#include "../clipping/grid_ring.h"
#include "../values/varint.h"

namespace graticule {
namespace {

constexpr uint32_t kMoveTo = 1;
constexpr uint32_t kLineTo = 2;
constexpr uint32_t kClosePath = 15;

constexpr uint32_t command(uint32_t id, uint32_t count) { return count << 3 | id; }

/**
 * Grid coordinates beyond it count as invalid, because clipping against them would be rounding noise. The complete
 * world at zoom level 30 is 4e12 units wide.
 */
constexpr double kMaxCoordinate = 1e15;

/** A command integer carries 29 bits of count. */
constexpr size_t kMaxCount = (1u << 29) - 1;

/**
 * Moves positions that were clamped to the border of Web Mercator's square beyond every clip buffer. The edge that
 * closes Antarctica would otherwise be visible at the border of the tile.
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
  innerGrid_ = grid;
  innerGrid_.low += 1;
  innerGrid_.high -= 1;
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

bool TileGeometryEncoder::place(const Geometry& geometry, double& x, double& y) {
  for (const Node& node : geometry.nodes) {
    if (node.type != GeometryType::Point || node.sequences == 0) continue;
    const Sequence s = project(geometry.sequences[node.firstSequence]);
    x = grid_.gridX(s.x(0));
    y = grid_.gridY(s.y(0));
    return true;
  }
  return false;
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

size_t TileGeometryEncoder::quantiseRing(const Sequence& sequence, Rounding rounding, bool& onBorder) {
  onBorder = false;
  if (sequence.count < 3) return 0;
  const Sequence s = project(sequence);
  // One position more than the ring has: the simplifier closes it.
  ensure(ring_, size_t{s.count} * 2 + 2);
  if (quantiseInside(s, innerGrid_, ring_.data())) return dropRepeatedOfRing(ring_.data(), s.count);
  onBorder = true;
  if (!toFloating(s)) return 0;
  clipRing(floating_, scratch_, grid_.low, grid_.high);
  const size_t n = floating_.size() / 2;
  ensure(ring_, n * 2 + 2);
  for (size_t i = 0; i < n * 2; ++i) ring_[i] = roundToGrid(floating_[i]);
  const int32_t low = roundToGrid(grid_.low);
  const int32_t high = roundToGrid(grid_.high);
  if (rounding == Rounding::OffBorder) {
    for (size_t i = 0; i < n * 2; ++i) {
      ring_[i] += (ring_[i] == low && floating_[i] > grid_.low) - (ring_[i] == high && floating_[i] < grid_.high);
    }
  }
  return dropBorderRuns(ring_.data(), dropRepeatedOfRing(ring_.data(), n), low, high);
}

void TileGeometryEncoder::encodePolygon(const Geometry& geometry, const Node& node, ByteBuffer& out) {
  if (node.sequences == 0) return;
  const Sequence* rings = geometry.sequences.data() + node.firstSequence;
  bool onBorder = false;
  size_t n = quantiseRing(rings[0], Rounding::Nearest, onBorder);
  if (onBorder) {
    encodeClipped(rings, node.sequences, n, out);
    return;
  }
  if (!writeExterior(n, out)) return;
  for (uint32_t i = 1; i < node.sequences; ++i) {
    n = quantiseRing(rings[i], Rounding::Nearest, onBorder);
    if (!writeHole(n, out)) return;
  }
}

bool TileGeometryEncoder::linkPolygon(const Sequence* rings, size_t count, size_t n, Rounding rounding) {
  polygon_.begin(roundToGrid(grid_.low), roundToGrid(grid_.high));
  if (n < 3) return true;
  polygon_.add(ring_.data(), n);
  for (size_t i = 1; i < count; ++i) {
    bool onBorder = false;
    n = quantiseRing(rings[i], rounding, onBorder);
    if (n >= 3) polygon_.add(ring_.data(), n);
  }
  return polygon_.finish();
}

void TileGeometryEncoder::encodeClipped(const Sequence* rings, size_t count, size_t n, ByteBuffer& out) {
  if (!linkPolygon(rings, count, n, Rounding::Nearest)) {
    // Rounding moved positions next to the border onto it in a wrong order.
    bool onBorder = false;
    n = quantiseRing(rings[0], Rounding::OffBorder, onBorder);
    linkPolygon(rings, count, n, Rounding::OffBorder);
  }
  bool shown = false;
  for (const ClippedPolygon::Ring& ring : polygon_.rings()) {
    if (!ring.exterior && !shown) continue;
    ensure(ring_, ring.count * 2 + 2);
    std::memcpy(ring_.data(), polygon_.positions(ring), ring.count * 2 * sizeof ring_[0]);
    shown = ring.exterior ? writeExterior(ring.count, out) : writeHole(ring.count, out);
  }
}

size_t TileGeometryEncoder::thinRing(size_t n) {
  if (tolerance_ > 0) n = dropRepeatedOfRing(ring_.data(), simplifier_.ring(ring_.data(), n, tolerance_));
  n = dropSpikes(ring_.data(), n);
  return n < 3 || n > kMaxCount ? 0 : n;
}

bool TileGeometryEncoder::writeExterior(size_t n, ByteBuffer& out) {
  n = thinRing(n);
  const int64_t area = n == 0 ? 0 : doubleArea(ring_.data(), n);
  if (area == 0) return false;
  polygonStart_ = {out.size(), cursorX_, cursorY_, std::llabs(area)};
  measure_ += static_cast<double>(polygonStart_.doubleArea) / 2;
  writeRing(n, area < 0, out);
  return true;
}

bool TileGeometryEncoder::writeHole(size_t n, ByteBuffer& out) {
  n = thinRing(n);
  const int64_t area = n == 0 ? 0 : doubleArea(ring_.data(), n);
  if (area == 0) return true;
  if (std::llabs(area) >= polygonStart_.doubleArea) {
    // The tile is inside the hole: both rings have become the clip box.
    out.truncate(polygonStart_.size);
    cursorX_ = polygonStart_.x;
    cursorY_ = polygonStart_.y;
    measure_ -= static_cast<double>(polygonStart_.doubleArea) / 2;
    return false;
  }
  writeRing(n, area > 0, out);
  return true;
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
