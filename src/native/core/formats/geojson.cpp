#include "geojson.h"

#include <cmath>

#include "json.h"
#include "../values/number.h"
#include "../values/text.h"
#include "../geometry/wkb.h"
#include "../values/zoned_time.h"

namespace graticule {
namespace {

const char* nameOf(GeometryType type) {
  switch (type) {
    case GeometryType::Point: return "Point";
    case GeometryType::LineString: return "LineString";
    case GeometryType::Polygon: return "Polygon";
    case GeometryType::MultiPoint: return "MultiPoint";
    case GeometryType::MultiLineString: return "MultiLineString";
    case GeometryType::MultiPolygon: return "MultiPolygon";
    case GeometryType::GeometryCollection: return "GeometryCollection";
  }
  return "";
}

void appendText(ByteBuffer& out, const char* text) { out.append(text, std::strlen(text)); }

/**
 * Adds a fraction to integer values of real columns. Readers such as GDAL derive the type of a column from its first
 * values, and truncate later values if that type is integer.
 */
void markReal(ByteBuffer& out, size_t begin) {
  for (size_t i = begin; i < out.size(); ++i) {
    const char c = static_cast<char>(out.data()[i]);
    if (c == '.' || c == 'e' || c == 'E') return;
  }
  out.appendLiteral(".0");
}

void appendReal(ByteBuffer& out, FieldType type, double value) {
  if (!std::isfinite(value)) {
    out.appendLiteral("null");
    return;
  }
  const size_t begin = out.size();
  out.commit(putShortest(out.reserve(kMaxNumberSize), value));
  if (type != FieldType::Integer) markReal(out, begin);
}

/** Whether a value is written without quotes: JSON, and numbers that are too precise for a double. */
bool isBareText(FieldType type, const Value& value) {
  if (type == FieldType::Json) return isJson(value.bytes, value.size);
  return type == FieldType::Number && isNumberText(value);
}

void appendBareText(ByteBuffer& out, FieldType type, const Value& value) {
  const size_t begin = out.size();
  out.append(value.bytes, value.size);
  if (type == FieldType::Number) markReal(out, begin);
}

/** Appends an integer, which can be in a real column. */
void appendWhole(ByteBuffer& out, FieldType type, int64_t value) {
  appendInteger(out, value);
  if (type == FieldType::Number) out.appendLiteral(".0");
}

}  // namespace

void GeoJsonGeometryWriter::begin(const CoordinateFormat& format, const Reprojector* reprojector) {
  format_ = format;
  reprojector_ = reprojector != nullptr && reprojector->identity() ? nullptr : reprojector;
}

void GeoJsonGeometryWriter::write(const Geometry& geometry, ByteBuffer& out) {
  size_t node = 0;
  leftOut_ = false;
  if (!writeNode(geometry, node, out)) out.appendLiteral("null");
}

/** Writes one geometry object and moves `node` past it. Returns false, and writes no output, if it is empty. */
bool GeoJsonGeometryWriter::writeNode(const Geometry& geometry, size_t& node, ByteBuffer& out) {
  const size_t before = out.size();
  const Node& first = geometry.nodes[node];
  const GeometryType type = first.type;
  const bool collection = type == GeometryType::GeometryCollection;
  out.appendLiteral("{\"type\":\"");
  appendText(out, nameOf(type));
  appendText(out, collection ? "\",\"geometries\":" : "\",\"coordinates\":");
  const bool written = first.simple() ? writeCoordinates(geometry, geometry.nodes[node++], out)
                                      : writeMembers(geometry, node, collection, out);
  if (!written) {
    out.truncate(before);
    return false;
  }
  out.push('}');
  return true;
}

bool GeoJsonGeometryWriter::writeMembers(const Geometry& geometry, size_t& node, bool collection, ByteBuffer& out) {
  const uint32_t members = geometry.nodes[node++].members;
  out.push('[');
  const size_t begin = out.size();
  for (uint32_t i = 0; i < members; ++i) {
    const size_t before = out.size();
    if (before != begin) out.push(',');
    const bool written = collection ? writeNode(geometry, node, out)
                                    : writeCoordinates(geometry, geometry.nodes[node++], out);
    if (!written) out.truncate(before);
  }
  if (out.size() == begin) return false;
  out.push(']');
  return true;
}

/** Writes the coordinates of a simple geometry. If it returns false, the caller must truncate the output. */
bool GeoJsonGeometryWriter::writeCoordinates(const Geometry& geometry, const Node& node, ByteBuffer& out) {
  if (node.sequences == 0) return false;
  if (node.type == GeometryType::Polygon) return writePolygon(geometry, node, out);
  const Sequence& s = geometry.sequences[node.firstSequence];
  const bool point = node.type == GeometryType::Point;
  if (s.count < (point ? 1u : 2u) || !load(s)) {
    leftOut_ |= s.count != 0;
    return false;
  }
  if (point) {
    writePosition(s, 0, out);
    return true;
  }
  out.push('[');
  for (uint32_t i = 0; i < s.count; ++i) {
    if (i != 0) out.push(',');
    writePosition(s, i, out);
  }
  out.push(']');
  return true;
}

bool GeoJsonGeometryWriter::writePolygon(const Geometry& geometry, const Node& node, ByteBuffer& out) {
  out.push('[');
  for (uint32_t i = 0; i < node.sequences; ++i) {
    const size_t before = out.size();
    if (i != 0) out.push(',');
    if (writeRing(geometry.sequences[node.firstSequence + i], i == 0, out)) continue;
    // Without its exterior ring no part of a polygon remains. A broken hole is omitted.
    if (i == 0) return false;
    out.truncate(before);
  }
  out.push(']');
  return true;
}

bool GeoJsonGeometryWriter::writeRing(const Sequence& s, bool exterior, ByteBuffer& out) {
  size_t n = s.count;
  const bool loaded = n >= 3 && load(s);
  if (loaded && xy_[0] == xy_[2 * n - 2] && xy_[1] == xy_[2 * n - 1]) --n;
  if (!loaded || n < 3) {
    leftOut_ |= n != 0;
    return false;
  }
  const double area = doubleArea(xy_.data(), n);
  const bool reversed = exterior ? area < 0 : area > 0;
  out.push('[');
  writePosition(s, 0, out);
  for (size_t i = 1; i < n; ++i) {
    out.push(',');
    writePosition(s, reversed ? n - i : i, out);
  }
  out.push(',');
  writePosition(s, 0, out);
  out.push(']');
  return true;
}

bool GeoJsonGeometryWriter::load(const Sequence& s) {
  if (xy_.size() < size_t{s.count} * 2) xy_.resize(size_t{s.count} * 2);
  double* xy = xy_.data();
  for (size_t i = 0; i < s.count; ++i) std::memcpy(xy + 2 * i, s.data + i * s.stride, 16);
  if (reprojector_ != nullptr) reprojector_->transform(xy, s.count);
  bool finite = true;
  for (size_t i = 0; i < size_t{s.count} * 2; ++i) finite &= std::isfinite(xy[i]);
  return finite;
}

void GeoJsonGeometryWriter::writePosition(const Sequence& s, size_t i, ByteBuffer& out) const {
  uint8_t* p = out.reserve(3 * kMaxFixedSize + 4);
  *p++ = '[';
  p = putFixed(p, xy_[2 * i + format_.swap], format_.precision);
  *p++ = ',';
  p = putFixed(p, xy_[2 * i + !format_.swap], format_.precision);
  if (s.hasZ && std::isfinite(s.z(i))) {
    *p++ = ',';
    p = putFixed(p, s.z(i), format_.precision);
  }
  *p++ = ']';
  out.commit(p);
}

void GeoJsonFeatureWriter::begin(const FeatureOptions& options, std::shared_ptr<const Reprojector> reprojector) {
  beginPage(options, std::move(reprojector));
  geometryWriter_.begin(options.format, reprojector_.get());
  thinner_.begin(options.tolerance, reprojector_.get());
  loss_ = options.loss;
  keys_.clear();
  idKey_.clear();
  if (!options.idProperty.empty()) {
    out_.clear();
    appendJsonString(out_, options.idProperty.data(), options.idProperty.size());
    out_.push(':');
    idKey_.assign(reinterpret_cast<const char*>(out_.data()), out_.size());
  }
  for (const FeatureOptions::Field& field : options.fields) {
    out_.clear();
    if (!keys_.empty() || !idKey_.empty()) out_.push(',');
    appendJsonString(out_, field.name.data(), field.name.size());
    out_.push(':');
    keys_.emplace_back(reinterpret_cast<const char*>(out_.data()), out_.size());
  }
  out_.clear();
}

void GeoJsonFeatureWriter::beginFeature(const Value& id, const uint8_t* blob, size_t size) {
  if (!out_.empty()) out_.push(',');
  out_.appendLiteral("{\"type\":\"Feature\",");
  const bool hasId = id.kind == Value::Kind::Integer || id.kind == Value::Kind::Text;
  if (hasId) {
    out_.appendLiteral("\"id\":");
    appendId(id, true);
    out_.push(',');
  }
  out_.appendLiteral("\"geometry\":");
  writeGeometry(blob, size);
  out_.appendLiteral(",\"properties\":{");
  if (idKey_.empty()) return;
  out_.append(idKey_.data(), idKey_.size());
  if (hasId) {
    appendId(id, false);
  } else {
    out_.appendLiteral("null");
  }
}

/** An id that readers in JavaScript would round is a string as member `id`; as an attribute it is the number. */
void GeoJsonFeatureWriter::appendId(const Value& id, bool isMember) {
  constexpr int64_t kMaxSafe = 9'007'199'254'740'991;
  int64_t number = 0;
  const bool isNumber = readIntegerId(id, number);
  const bool isBeyond = number > kMaxSafe || number < -kMaxSafe;
  // Text keys can consist of digits and still are not numbers. Only integer keys beyond 2^53 arrive as text.
  const bool isInteger = isNumber && (id.kind == Value::Kind::Integer || isBeyond);
  if (!isInteger) return appendJsonString(out_, id.bytes, id.size);
  const bool isQuoted = isMember && isBeyond;
  if (isQuoted) out_.push('"');
  appendInteger(out_, number);
  if (isQuoted) out_.push('"');
}

void GeoJsonFeatureWriter::writeGeometry(const uint8_t* blob, size_t size) {
  const GeometryState state = readGeometry(blob, size);
  if (state != GeometryState::Read) {
    out_.appendLiteral("null");
    if (state == GeometryState::Unreadable) writeLoss(true);
    return;
  }
  geometryWriter_.write(thinner_.thin(geometry_), out_);
  writeLoss(geometryWriter_.leftOut());
}

/** The gravest loss is named. */
void GeoJsonFeatureWriter::writeLoss(bool unreadable) {
  if (!loss_ || (!unreadable && geometry_.lost == 0)) return;
  if (unreadable) return out_.appendLiteral(",\"loss\":\"unreadable\"");
  if ((geometry_.lost & kLostArcs) != 0) return out_.appendLiteral(",\"loss\":\"arcs\"");
  if ((geometry_.lost & kLostSurface) != 0) return out_.appendLiteral(",\"loss\":\"surface\"");
  out_.appendLiteral(",\"loss\":\"measures\"");
}

void GeoJsonFeatureWriter::property(size_t field, const Value& given) {
  if (field >= keys_.size()) return;
  const ZonedTime zoned(types_[field], given);
  const Value& value = zoned.value();
  out_.append(keys_[field].data(), keys_[field].size());
  switch (value.kind) {
    case Value::Kind::Null: return out_.appendLiteral("null");
    case Value::Kind::Blob:
      return appendBase64String(out_, reinterpret_cast<const uint8_t*>(value.bytes), value.size);
    case Value::Kind::Real: return appendReal(out_, types_[field], value.real);
    case Value::Kind::Boolean: break;
    case Value::Kind::Integer:
      if (types_[field] == FieldType::Boolean) break;
      return appendWhole(out_, types_[field], value.integer);
    case Value::Kind::Text:
      if (isBareText(types_[field], value)) return appendBareText(out_, types_[field], value);
      return appendJsonString(out_, value.bytes, value.size);
  }
  if (value.integer != 0) {
    out_.appendLiteral("true");
  } else {
    out_.appendLiteral("false");
  }
}

void GeoJsonFeatureWriter::release() {
  geometryWriter_.begin({}, nullptr);
  thinner_.release();
  releasePage();
}

}  // namespace graticule
