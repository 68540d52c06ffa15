#include "geometry_column.h"

#include "../values/varint.h"
#include "streams.h"

namespace graticule::mlt {
namespace {

constexpr uint32_t kMoveTo = 1;
constexpr uint32_t kLineTo = 2;
constexpr uint32_t kClosePath = 7;

/** Adds as two's complements do: positions of a broken tile may be anywhere. */
constexpr int32_t plus(int32_t a, uint32_t zigzag) {
  const uint32_t delta = (zigzag >> 1) ^ (0u - (zigzag & 1));
  return static_cast<int32_t>(static_cast<uint32_t>(a) + delta);
}

/** Cross product that also wraps around. */
constexpr uint64_t cross(int32_t ax, int32_t ay, int32_t bx, int32_t by) {
  return static_cast<uint64_t>(int64_t{ax} * by) - static_cast<uint64_t>(int64_t{bx} * ay);
}

}  // namespace

int GeometryColumn::Part::winding() const {
  const auto whole = static_cast<int64_t>(area + cross(last.x, last.y, first.x, first.y));
  return (whole > 0) - (whole < 0);
}

void GeometryColumn::begin() {
  types_.clear();
  geometries_.clear();
  parts_.clear();
  rings_.clear();
  hasPolygons_ = false;
  vertices_.clear();
  positions_.clear();
  last_ = {};
}

bool GeometryColumn::add(const MvtFeature& feature) {
  const size_t vertices = vertices_.size();
  const size_t positions = positions_.size();
  const Position last = last_;
  if (!readParts(feature) || feature_.empty()) {
    vertices_.truncate(vertices);
    positions_.resize(positions);
    last_ = last;
    return false;
  }
  if (feature.type == MvtType::Point) takePoints();
  if (feature.type == MvtType::LineString) takeLines();
  if (feature.type == MvtType::Polygon) takeRings();
  return true;
}

bool GeometryColumn::readParts(const MvtFeature& feature) {
  feature_.clear();
  cursor_ = {};
  const uint8_t* p = feature.geometry.begin;
  const uint8_t* const end = feature.geometry.end;
  uint64_t command = 0;
  while (p != end) {
    if ((p = getVarint(p, end, command)) == nullptr) return false;
    const uint32_t id = command & 7;
    const uint64_t count = command >> 3;
    if (id == kClosePath) continue;
    if (id == kMoveTo) feature_.emplace_back();
    if ((id != kMoveTo && id != kLineTo) || feature_.empty() || count == 0) return false;
    if ((p = copyPositions(p, end, count, feature_.back())) == nullptr) return false;
  }
  return true;
}

const uint8_t* GeometryColumn::copyPositions(const uint8_t* p, const uint8_t* end, uint64_t count, Part& part) {
  if (count > static_cast<uint64_t>(end - p) / 2) return nullptr;
  const bool isFirst = feature_.size() == 1 && part.positions == 0;
  const size_t begin = positions_.size();
  const uint8_t* from = p;
  size_t size = 0;
  positions_.resize(begin + count);
  Position* to = positions_.data() + begin;
  Position last = cursor_;
  uint64_t area = part.area;
  for (uint64_t i = 0; i < count; ++i) {
    uint32_t dx = 0;
    uint32_t dy = 0;
    if ((p = getVarint32(p, end, dx)) == nullptr || (p = getVarint32(p, end, dy)) == nullptr) return nullptr;
    const Position before = last;
    last = {plus(before.x, dx), plus(before.y, dy)};
    *to++ = last;
    if (part.positions != 0 || i != 0) area += cross(before.x, before.y, last.x, last.y);
    // In the vector tile, the first position of a feature is relative to 0. Here it is relative to the previous
    // feature.
    if (isFirst && i == 0) {
      from = p;
    } else {
      size += varintSize(dx) + varintSize(dy);
    }
  }
  cursor_ = last;
  part.area = area;
  if (part.positions == 0) part.first = positions_[begin];
  part.last = cursor_;
  part.positions += static_cast<uint32_t>(count);
  if (isFirst) writeDifferences(begin, begin + 1);
  if (size == static_cast<size_t>(p - from)) {
    vertices_.append(from, size);
    last_ = cursor_;
  } else {
    // Numbers may be padded there, and are not here.
    writeDifferences(begin + isFirst, positions_.size());
  }
  return p;
}

void GeometryColumn::writeDifferences(size_t begin, size_t end) {
  uint8_t* p = vertices_.reserve(2 * kMaxVarint32 * (end - begin));
  for (size_t i = begin; i < end; ++i) {
    p = putVarint32(p, zigzagDifference(positions_[i].x, last_.x));
    p = putVarint32(p, zigzagDifference(positions_[i].y, last_.y));
    last_ = positions_[i];
  }
  vertices_.commit(p);
}

void GeometryColumn::takePoints() {
  uint32_t count = 0;
  for (const Part& part : feature_) count += part.positions;
  types_.push_back(count == 1 ? Point : MultiPoint);
  if (count != 1) geometries_.push_back(count);
}

void GeometryColumn::takeLines() {
  types_.push_back(feature_.size() == 1 ? LineString : MultiLineString);
  if (feature_.size() != 1) geometries_.push_back(static_cast<uint32_t>(feature_.size()));
  for (const Part& part : feature_) rings_.push_back(part.positions);
}

void GeometryColumn::takeRings() {
  hasPolygons_ = true;
  uint32_t polygons = 0;
  int exterior = 0;
  for (const Part& part : feature_) {
    // Exterior rings have the winding of the first one; tiles of version 1 use either. Rings with the other winding
    // belong to the exterior ring before them.
    if (exterior == 0) exterior = part.winding();
    if (polygons == 0 || (exterior != 0 && part.winding() == exterior)) {
      ++polygons;
      parts_.push_back(1);
    } else {
      ++parts_.back();
    }
    rings_.push_back(part.positions);
  }
  types_.push_back(polygons == 1 ? Polygon : MultiPolygon);
  if (polygons != 1) geometries_.push_back(polygons);
}

void GeometryColumn::write(ByteBuffer& out) const {
  const auto& parts = hasPolygons_ ? parts_ : rings_;
  // Borders belong to two areas, so each of their positions is written once.
  const bool isShared = hasPolygons_ && dictionary_.build(positions_, vertices_.size());
  const uint32_t streams = 2u + !geometries_.empty() + !parts.empty() + hasPolygons_ + isShared;
  out.pushVarint(streams);
  writeIntegers(out, StreamType::Data, types_);
  if (!geometries_.empty()) writeIntegers(out, StreamType::GeometriesLength, geometries_);
  if (!parts.empty()) writeIntegers(out, StreamType::PartsLength, parts);
  if (hasPolygons_) writeIntegers(out, StreamType::RingsLength, rings_);
  if (isShared) {
    writeDeltaRuns(out, StreamType::VertexOffset, dictionary_.places());
    writeVertices(out, 2 * dictionary_.entries(), dictionary_.varints());
  } else {
    writeVertices(out, static_cast<uint32_t>(2 * positions_.size()), vertices_);
  }
}

}  // namespace graticule::mlt
