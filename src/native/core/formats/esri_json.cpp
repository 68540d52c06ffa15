#include "esri_json.h"

#include <cmath>

#include "../analytics/centroid.h"
#include "../values/instant.h"
#include "json.h"
#include "../values/number.h"
#include "../values/text.h"
#include "../geometry/wkb.h"

namespace graticule {
namespace {

void appendReal(ByteBuffer& out, double value) {
  if (!std::isfinite(value)) return out.appendLiteral("null");
  out.commit(putShortest(out.reserve(kMaxNumberSize), value));
}

void appendText(ByteBuffer& out, FieldType type, const Value& value) {
  int64_t instant = 0;
  if (readTime(type, value, instant)) return appendInteger(out, instant);
  if (type == FieldType::Number && isNumberText(value)) return out.append(value.bytes, value.size);
  appendJsonString(out, value.bytes, value.size);
}

std::string keyOf(const std::string& name) {
  ByteBuffer text;
  appendJsonString(text, name.data(), name.size());
  text.push(':');
  return std::string(reinterpret_cast<const char*>(text.data()), text.size());
}

void appendPoint(ByteBuffer& out, const int64_t* numbers, size_t dimension) {
  out.appendLiteral("{\"x\":");
  appendInteger(out, numbers[0]);
  out.appendLiteral(",\"y\":");
  appendInteger(out, numbers[1]);
  if (dimension == 3) {
    out.appendLiteral(",\"z\":");
    appendInteger(out, numbers[2]);
  }
  out.push('}');
}

/** A list of positions. */
void appendPart(ByteBuffer& out, const int64_t* numbers, size_t length, size_t dimension) {
  for (size_t i = 0; i < length * dimension; ++i) {
    if (i == 0) {
      out.appendLiteral("[[");
    } else if (i % dimension == 0) {
      out.appendLiteral("],[");
    } else {
      out.push(',');
    }
    appendInteger(out, numbers[i]);
  }
  out.appendLiteral("]]");
}

}  // namespace

void EsriJsonGeometryWriter::begin(const FeatureOptions& options, const Reprojector* reprojector) {
  positions_.begin({options.format.precision, false}, reprojector);
  quantiser_.begin(options, reprojector);
  isQuantised_ = options.quantisation.on;
  degrees_ = options.degrees;
  wantsZ_ = options.z;
}

void EsriJsonGeometryWriter::write(const Geometry& geometry, ByteBuffer& out) {
  const size_t before = out.size();
  z_ = wantsZ_ && hasZ(geometry);
  if (isQuantised_) {
    if (!quantiser_.quantise(geometry, z_)) return out.appendLiteral("null");
    return writeNumbers(geometry.nodes[0].type, out);
  }
  bool isWritten = false;
  switch (geometry.nodes[0].type) {
    case GeometryType::Point: isWritten = writePoint(geometry, geometry.nodes[0], out); break;
    case GeometryType::MultiPoint: isWritten = writeParts(geometry, "\"points\":[", out); break;
    case GeometryType::LineString:
    case GeometryType::MultiLineString: isWritten = writeParts(geometry, "\"paths\":[", out); break;
    case GeometryType::Polygon:
    case GeometryType::MultiPolygon: isWritten = writeParts(geometry, "\"rings\":[", out); break;
    case GeometryType::GeometryCollection: break;
  }
  if (isWritten) return out.push('}');
  out.truncate(before);
  out.appendLiteral("null");
}

/** Writes the last quantised geometry: a point of one position, otherwise parts of differences. */
void EsriJsonGeometryWriter::writeNumbers(GeometryType type, ByteBuffer& out) {
  const std::vector<int64_t>& numbers = quantiser_.numbers();
  const size_t dimension = quantiser_.dimension();
  if (type == GeometryType::Point) return appendPoint(out, numbers.data(), dimension);
  out.push('{');
  if (dimension == 3) out.appendLiteral("\"hasZ\":true,");
  const bool isPoints = type == GeometryType::MultiPoint;
  const bool isLines = type == GeometryType::LineString || type == GeometryType::MultiLineString;
  const std::string_view member = isPoints ? "\"points\":" : isLines ? "\"paths\":[" : "\"rings\":[";
  out.append(member.data(), member.size());
  const int64_t* at = numbers.data();
  for (const uint32_t length : quantiser_.lengths()) {
    if (at != numbers.data()) out.push(',');
    appendPart(out, at, length, dimension);
    at += length * dimension;
  }
  if (!isPoints) out.push(']');
  out.push('}');
}

void EsriJsonGeometryWriter::writeCentroid(const Geometry& geometry, ByteBuffer& out) {
  if (isQuantised_) {
    if (!quantiser_.quantiseCentroid(geometry)) return out.appendLiteral("null");
    return appendPoint(out, quantiser_.numbers().data(), quantiser_.dimension());
  }
  double xy[2];
  if (!centroidOf(geometry, xy[0], xy[1], degrees_)) return out.appendLiteral("null");
  if (!positions_.load({reinterpret_cast<const uint8_t*>(xy), 1, sizeof xy, false})) return out.appendLiteral("null");
  out.push('{');
  positions_.appendMembers(0, false, out);
  out.push('}');
}

bool EsriJsonGeometryWriter::writePoint(const Geometry& geometry, const Node& node, ByteBuffer& out) {
  if (node.sequences == 0) return false;
  const Sequence& s = geometry.sequences[node.firstSequence];
  if (s.count == 0 || !positions_.load(s)) return false;
  out.push('{');
  positions_.appendMembers(0, z_, out);
  return true;
}

/** Writes all simple geometries of a geometry that is simple itself or has several. */
bool EsriJsonGeometryWriter::writeParts(const Geometry& geometry, const char* member, ByteBuffer& out) {
  out.push('{');
  if (z_) out.appendLiteral("\"hasZ\":true,");
  out.append(member, std::strlen(member));
  const size_t begin = out.size();
  for (const Node& node : geometry.nodes) {
    if (!node.simple() || node.sequences == 0) continue;
    const size_t before = out.size();
    if (before != begin) out.push(',');
    if (!writePart(geometry, node, out)) out.truncate(before);
  }
  if (out.size() == begin) return false;
  out.push(']');
  return true;
}

bool EsriJsonGeometryWriter::writePart(const Geometry& geometry, const Node& node, ByteBuffer& out) {
  const Sequence& first = geometry.sequences[node.firstSequence];
  if (node.type == GeometryType::Polygon) return writeRings(geometry, node, out);
  if (node.type == GeometryType::LineString) return first.count >= 2 && writeLine(first, out);
  if (first.count == 0 || !positions_.load(first)) return false;
  positions_.appendArray(0, z_, out);
  return true;
}

bool EsriJsonGeometryWriter::writeLine(const Sequence& s, ByteBuffer& out) {
  if (!positions_.load(s)) return false;
  out.push('[');
  for (uint32_t i = 0; i < s.count; ++i) {
    if (i != 0) out.push(',');
    positions_.appendArray(i, z_, out);
  }
  out.push(']');
  return true;
}

bool EsriJsonGeometryWriter::writeRings(const Geometry& geometry, const Node& node, ByteBuffer& out) {
  for (uint32_t i = 0; i < node.sequences; ++i) {
    const size_t before = out.size();
    if (i != 0) out.push(',');
    if (writeRing(geometry.sequences[node.firstSequence + i], i == 0, out)) continue;
    // Without its exterior ring no part of a polygon remains. A broken hole is omitted.
    if (i == 0) return false;
    out.truncate(before);
  }
  return true;
}

bool EsriJsonGeometryWriter::writeRing(const Sequence& s, bool exterior, ByteBuffer& out) {
  if (s.count < 3 || !positions_.load(s)) return false;
  const size_t n = positions_.corners();
  if (n < 3) return false;
  const double area = positions_.doubleArea(n);
  const bool isReversed = exterior ? area > 0 : area < 0;
  out.push('[');
  for (size_t i = 0; i <= n; ++i) {
    if (i != 0) out.push(',');
    const size_t corner = i % n;
    positions_.appendArray(isReversed && corner != 0 ? n - corner : corner, z_, out);
  }
  out.push(']');
  return true;
}

void EsriJsonFeatureWriter::begin(const FeatureOptions& options, std::shared_ptr<const Reprojector> reprojector) {
  beginPage(options, std::move(reprojector));
  geometryWriter_.begin(options, reprojector_.get());
  thinner_.begin(options.tolerance, reprojector_.get());
  hasGeometry_ = !options.skipGeometry;
  hasCentroid_ = options.centroid;
  idKey_ = keyOf(options.id);
  keys_.clear();
  for (const FeatureOptions::Field& field : options.fields) {
    keys_.push_back("," + keyOf(field.name));
  }
  out_.clear();
}

void EsriJsonFeatureWriter::beginFeature(const Value& id, const uint8_t* blob, size_t size) {
  if (!out_.empty()) out_.push(',');
  out_.appendLiteral("{\"attributes\":{");
  out_.append(idKey_.data(), idKey_.size());
  if (int64_t number = 0; readIntegerId(id, number)) {
    appendInteger(out_, number);
  } else {
    out_.appendLiteral("null");
  }
  isRead_ = (hasGeometry_ || hasCentroid_) && readGeometry(blob, size) == GeometryState::Read;
}

void EsriJsonFeatureWriter::property(size_t field, const Value& value) {
  if (field >= keys_.size()) return;
  out_.append(keys_[field].data(), keys_[field].size());
  switch (value.kind) {
    case Value::Kind::Null: return out_.appendLiteral("null");
    case Value::Kind::Blob:
      return appendBase64String(out_, reinterpret_cast<const uint8_t*>(value.bytes), value.size);
    case Value::Kind::Real: return appendReal(out_, value.real);
    case Value::Kind::Boolean: return appendInteger(out_, value.integer != 0);
    case Value::Kind::Integer:
      return appendInteger(out_, types_[field] == FieldType::Boolean ? value.integer != 0 : value.integer);
    case Value::Kind::Text: return appendText(out_, types_[field], value);
  }
}

void EsriJsonFeatureWriter::endFeature() {
  out_.push('}');
  if (hasGeometry_) {
    out_.appendLiteral(",\"geometry\":");
    if (isRead_) {
      geometryWriter_.write(thinner_.thin(geometry_), out_);
    } else {
      out_.appendLiteral("null");
    }
  }
  if (hasCentroid_) {
    out_.appendLiteral(",\"centroid\":");
    if (isRead_) {
      geometryWriter_.writeCentroid(geometry_, out_);
    } else {
      out_.appendLiteral("null");
    }
  }
  out_.push('}');
}

void EsriJsonFeatureWriter::release() {
  geometryWriter_.begin({}, nullptr);
  thinner_.release();
  releasePage();
}

}  // namespace graticule
