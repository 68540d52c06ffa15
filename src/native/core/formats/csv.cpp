#include "csv.h"

#include <cstring>

#include "../values/number.h"
#include "../values/text.h"
#include "../geometry/wkb.h"
#include "../values/zoned_time.h"

namespace graticule {
namespace {

const char* nameOf(GeometryType type) {
  switch (type) {
    case GeometryType::Point: return "POINT";
    case GeometryType::LineString: return "LINESTRING";
    case GeometryType::Polygon: return "POLYGON";
    case GeometryType::MultiPoint: return "MULTIPOINT";
    case GeometryType::MultiLineString: return "MULTILINESTRING";
    case GeometryType::MultiPolygon: return "MULTIPOLYGON";
    case GeometryType::GeometryCollection: return "GEOMETRYCOLLECTION";
  }
  return "";
}

bool mustQuote(const char* text, size_t size) {
  if (size == 0 || text[0] == ' ' || text[size - 1] == ' ') return true;
  for (size_t i = 0; i < size; ++i) {
    const char c = text[i];
    if (c == ',' || c == '"' || c == '\r' || c == '\n') return true;
  }
  return false;
}

/** Whether spreadsheets interpret a text as a formula, from its first character. */
bool isFormula(const char* text, size_t size) {
  return size > 0 && std::memchr("=+-@\t\r", text[0], 6) != nullptr;
}

void appendText(ByteBuffer& out, const char* text, size_t size, bool guards) {
  const bool guarded = guards && isFormula(text, size);
  if (!mustQuote(text, size)) {
    if (guarded) out.push('\'');
    return appendSanitised(out, text, size);
  }
  out.push('"');
  if (guarded) out.push('\'');
  const char* end = text + size;
  for (const char* p = text; p != end;) {
    const void* found = std::memchr(p, '"', static_cast<size_t>(end - p));
    const char* stop = found == nullptr ? end : static_cast<const char*>(found) + 1;
    appendSanitised(out, p, static_cast<size_t>(stop - p));
    if (found != nullptr) out.push('"');
    p = stop;
  }
  out.push('"');
}

}  // namespace

bool WktWriter::write(const Geometry& geometry, ByteBuffer& out) {
  z_ = hasZ(geometry);
  size_t node = 0;
  return writeNode(geometry, node, out);
}

bool WktWriter::writeNode(const Geometry& geometry, size_t& node, ByteBuffer& out) {
  const size_t before = out.size();
  const Node& first = geometry.nodes[node];
  const char* name = nameOf(first.type);
  out.append(name, std::strlen(name));
  if (z_) out.appendLiteral(" Z");
  out.push(' ');
  const bool written = first.simple() ? writeBody(geometry, geometry.nodes[node++], out)
                                      : writeMembers(geometry, node, first.type == GeometryType::GeometryCollection, out);
  if (!written) out.truncate(before);
  return written;
}

bool WktWriter::writeMembers(const Geometry& geometry, size_t& node, bool collection, ByteBuffer& out) {
  const uint32_t members = geometry.nodes[node++].members;
  out.push('(');
  const size_t begin = out.size();
  for (uint32_t i = 0; i < members; ++i) {
    const size_t before = out.size();
    if (before != begin) out.push(',');
    const bool written = collection ? writeNode(geometry, node, out) : writeBody(geometry, geometry.nodes[node++], out);
    if (!written) out.truncate(before);
  }
  if (out.size() == begin) return false;
  out.push(')');
  return true;
}

/** Writes the parentheses of a simple geometry. If it returns false, the caller must truncate the output. */
bool WktWriter::writeBody(const Geometry& geometry, const Node& node, ByteBuffer& out) {
  if (node.sequences == 0) return false;
  const Sequence* sequences = geometry.sequences.data() + node.firstSequence;
  if (node.type != GeometryType::Polygon) return writeSequence(*sequences, node.type == GeometryType::Point ? 1 : 2, out);
  out.push('(');
  for (uint32_t i = 0; i < node.sequences; ++i) {
    const size_t before = out.size();
    if (i != 0) out.push(',');
    if (writeSequence(sequences[i], 4, out)) continue;
    // Without its exterior ring no part of a polygon remains. A broken hole is omitted.
    if (i == 0) return false;
    out.truncate(before);
  }
  out.push(')');
  return true;
}

bool WktWriter::writeSequence(const Sequence& s, size_t least, ByteBuffer& out) {
  if (s.count < least || !positions_.load(s)) return false;
  char separator = '(';
  for (size_t i = 0; i < s.count; ++i) {
    out.push(static_cast<uint8_t>(separator));
    positions_.append(i, z_, out);
    separator = ',';
  }
  out.push(')');
  return true;
}

void CsvFeatureWriter::begin(const FeatureOptions& options, std::shared_ptr<const Reprojector> reprojector) {
  beginPage(options, std::move(reprojector));
  wkt_.begin(options.format, reprojector_.get());
  guardsFormulas_ = options.guardsFormulas;
}

void CsvFeatureWriter::beginFeature(const Value& id, const uint8_t* blob, size_t size) {
  field(FieldType::Any, id);
  out_.push(',');
  if (readGeometry(blob, size) != GeometryState::Read) return;
  const size_t before = out_.size();
  out_.push('"');
  if (wkt_.write(geometry_, out_)) {
    out_.push('"');
  } else {
    out_.truncate(before);
  }
}

void CsvFeatureWriter::property(size_t i, const Value& value) {
  if (i >= types_.size()) return;
  out_.push(',');
  field(types_[i], ZonedTime(types_[i], value).value());
}

void CsvFeatureWriter::field(FieldType type, const Value& value) {
  switch (value.kind) {
    case Value::Kind::Null: return;
    case Value::Kind::Text: return appendText(out_, value.bytes, value.size, guardsFormulas_);
    case Value::Kind::Blob: return appendBase64(out_, reinterpret_cast<const uint8_t*>(value.bytes), value.size);
    case Value::Kind::Real:
      if (std::isfinite(value.real)) out_.commit(putShortest(out_.reserve(kMaxNumberSize), value.real));
      return;
    case Value::Kind::Integer:
      if (type != FieldType::Boolean) return out_.commit(putInteger(out_.reserve(kMaxNumberSize), value.integer));
      break;
    case Value::Kind::Boolean: break;
  }
  if (value.integer != 0) return out_.appendLiteral("true");
  out_.appendLiteral("false");
}

void CsvFeatureWriter::release() {
  wkt_.begin({}, nullptr);
  releasePage();
}

}  // namespace graticule
