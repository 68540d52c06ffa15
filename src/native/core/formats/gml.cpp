#include "gml.h"

#include "../values/number.h"
#include "../values/text.h"
#include "../geometry/wkb.h"
#include "../values/zoned_time.h"

namespace graticule {
namespace {

struct Element {
  const char* name;
  /** The property element of each member; null for simple geometries. */
  const char* member;
};

/** In the order of GeometryType. */
constexpr Element kElements[] = {{"gml:Point", nullptr},
                                 {"gml:LineString", nullptr},
                                 {"gml:Polygon", nullptr},
                                 {"gml:MultiPoint", "gml:pointMember"},
                                 {"gml:MultiCurve", "gml:curveMember"},
                                 {"gml:MultiSurface", "gml:surfaceMember"},
                                 {"gml:MultiGeometry", "gml:geometryMember"}};

const Element& elementOf(GeometryType type) { return kElements[static_cast<size_t>(type) - 1]; }

void append(ByteBuffer& out, const char* text) { out.append(text, std::strlen(text)); }
void append(ByteBuffer& out, const std::string& text) { out.append(text.data(), text.size()); }

void appendTag(ByteBuffer& out, const char* name) {
  out.push('<');
  append(out, name);
  out.push('>');
}

void appendEndTag(ByteBuffer& out, const char* name) {
  out.appendLiteral("</");
  append(out, name);
  out.push('>');
}

std::string textOf(const ByteBuffer& buffer) {
  return std::string(reinterpret_cast<const char*>(buffer.data()), buffer.size());
}

/** Letters of other scripts are accepted, because the code that creates names knows which of them are letters. */
bool isXmlName(const std::string& name) {
  if (name.empty() || !isUtf8(name.data(), name.size())) return false;
  for (size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<uint8_t>(name[i]);
    const bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c >= 0x80;
    const bool later = (c >= '0' && c <= '9') || c == '-' || c == '.';
    if (!letter && (i == 0 || !later)) return false;
  }
  return true;
}

/**
 * Whether an id is a valid gml:id without changes. Ids that start like generated ids, and ids beyond ASCII, are not.
 * No two features of a page therefore have the same gml:id.
 */
bool isGmlId(const char* id, size_t size) {
  const std::string text(id, size);
  for (const char c : text) {
    if (static_cast<uint8_t>(c) >= 0x80) return false;
  }
  if (!isXmlName(text) || text.rfind("f.", 0) == 0) return false;
  return !(size > 1 && text[0] == 'g' && text[1] >= '0' && text[1] <= '9');
}

}  // namespace

void GmlGeometryWriter::begin(const FeatureOptions& options, const Reprojector* reprojector) {
  positions_.begin(options.format, reprojector);
  ByteBuffer text;
  if (!options.srsName.empty()) {
    text.appendLiteral(" srsName=\"");
    appendXmlText(text, options.srsName.data(), options.srsName.size());
    text.push('"');
  }
  srsName_ = textOf(text);
}

bool GmlGeometryWriter::write(const Geometry& geometry, const std::string& id, ByteBuffer& out) {
  z_ = hasZ(geometry);
  id_ = &id;
  written_ = 0;
  size_t node = 0;
  return writeNode(geometry, node, out);
}

/** The start tag of a geometry, with its gml:id; the outermost one names the CRS. */
void GmlGeometryWriter::open(const char* element, ByteBuffer& out) {
  out.push('<');
  append(out, element);
  out.appendLiteral(" gml:id=\"g");
  out.commit(putInteger(out.reserve(kMaxNumberSize), written_));
  out.push('.');
  append(out, *id_);
  out.push('"');
  if (written_++ == 0) {
    append(out, srsName_);
    if (z_) out.appendLiteral(" srsDimension=\"3\"");
  }
  out.push('>');
}

bool GmlGeometryWriter::writeNode(const Geometry& geometry, size_t& node, ByteBuffer& out) {
  const size_t before = out.size();
  const uint32_t writtenBefore = written_;
  const Node& first = geometry.nodes[node];
  const char* element = elementOf(first.type).name;
  open(element, out);
  const bool written = first.simple() ? writeSimple(geometry, geometry.nodes[node++], out) : writeMembers(geometry, node, out);
  if (!written) {
    out.truncate(before);
    written_ = writtenBefore;
    return false;
  }
  appendEndTag(out, element);
  return true;
}

bool GmlGeometryWriter::writeMembers(const Geometry& geometry, size_t& node, ByteBuffer& out) {
  const Node& parent = geometry.nodes[node++];
  const char* member = elementOf(parent.type).member;
  const size_t begin = out.size();
  for (uint32_t i = 0; i < parent.members; ++i) {
    const size_t before = out.size();
    appendTag(out, member);
    if (writeNode(geometry, node, out)) {
      appendEndTag(out, member);
    } else {
      out.truncate(before);
    }
  }
  return out.size() > begin;
}

bool GmlGeometryWriter::writeSimple(const Geometry& geometry, const Node& node, ByteBuffer& out) {
  if (node.sequences == 0) return false;
  if (node.type == GeometryType::Polygon) return writePolygon(geometry, node, out);
  const Sequence& s = geometry.sequences[node.firstSequence];
  return node.type == GeometryType::Point ? writePositions(s, 1, "gml:pos", out) : writePositions(s, 2, "gml:posList", out);
}

bool GmlGeometryWriter::writePolygon(const Geometry& geometry, const Node& node, ByteBuffer& out) {
  for (uint32_t i = 0; i < node.sequences; ++i) {
    const size_t before = out.size();
    const char* side = i == 0 ? "gml:exterior" : "gml:interior";
    appendTag(out, side);
    appendTag(out, "gml:LinearRing");
    if (writePositions(geometry.sequences[node.firstSequence + i], 4, "gml:posList", out)) {
      appendEndTag(out, "gml:LinearRing");
      appendEndTag(out, side);
      continue;
    }
    // Without its exterior ring no part of a polygon remains. A broken hole is omitted.
    if (i == 0) return false;
    out.truncate(before);
  }
  return true;
}

bool GmlGeometryWriter::writePositions(const Sequence& s, size_t least, const char* element, ByteBuffer& out) {
  if (s.count < least || !positions_.load(s)) return false;
  appendTag(out, element);
  for (size_t i = 0; i < s.count; ++i) {
    if (i != 0) out.push(' ');
    positions_.append(i, z_, out);
  }
  appendEndTag(out, element);
  return true;
}

void GmlFeatureWriter::begin(const FeatureOptions& options, std::shared_ptr<const Reprojector> reprojector) {
  beginPage(options, std::move(reprojector));
  geometryWriter_.begin(options, reprojector_.get());
  type_ = "app:" + options.type;
  geometryElement_ = "app:" + options.geometry;
  fields_.clear();
  for (const FeatureOptions::Field& field : options.fields) {
    fields_.push_back({"<app:" + field.name + ">", "</app:" + field.name + ">", field.type});
  }
  features_ = 0;
}

void GmlFeatureWriter::beginFeature(const Value& id, const uint8_t* blob, size_t size) {
  ByteBuffer text;
  if (id.kind == Value::Kind::Integer) {
    text.commit(putInteger(text.reserve(kMaxNumberSize), id.integer));
  } else if (id.kind == Value::Kind::Text) {
    appendXmlId(text, id.bytes, id.size);
  } else {
    // Without an id, the position in the page is used, in a form that differs from all ids.
    text.push('.');
    text.commit(putInteger(text.reserve(kMaxNumberSize), static_cast<int64_t>(features_)));
  }
  ++features_;
  id_ = textOf(text);
  const bool plain = id.kind == Value::Kind::Text && isGmlId(id.bytes, id.size);
  out_.appendLiteral("<sf:featureMember><");
  append(out_, type_);
  out_.appendLiteral(" gml:id=\"");
  if (plain) {
    out_.append(id.bytes, id.size);
  } else {
    out_.appendLiteral("f.");
    append(out_, id_);
  }
  out_.appendLiteral("\">");
  if (readGeometry(blob, size) != GeometryState::Read) return;
  const size_t before = out_.size();
  appendTag(out_, geometryElement_.c_str());
  if (geometryWriter_.write(geometry_, id_, out_)) {
    appendEndTag(out_, geometryElement_.c_str());
  } else {
    out_.truncate(before);
  }
}

void GmlFeatureWriter::property(size_t i, const Value& v) {
  if (i >= fields_.size() || v.kind == Value::Kind::Null) return;
  append(out_, fields_[i].begin);
  value(fields_[i].type, ZonedTime(fields_[i].type, v).value());
  append(out_, fields_[i].end);
}

void GmlFeatureWriter::value(FieldType type, const Value& v) {
  switch (v.kind) {
    case Value::Kind::Null: return;
    case Value::Kind::Text: return appendXmlText(out_, v.bytes, v.size);
    case Value::Kind::Blob: return appendBase64(out_, reinterpret_cast<const uint8_t*>(v.bytes), v.size);
    case Value::Kind::Real:
      if (std::isfinite(v.real)) return out_.commit(putShortest(out_.reserve(kMaxNumberSize), v.real));
      return append(out_, std::isnan(v.real) ? "NaN" : v.real > 0 ? "INF" : "-INF");
    case Value::Kind::Integer:
      if (type != FieldType::Boolean) return out_.commit(putInteger(out_.reserve(kMaxNumberSize), v.integer));
      break;
    case Value::Kind::Boolean: break;
  }
  append(out_, v.integer != 0 ? "true" : "false");
}

void GmlFeatureWriter::endFeature() {
  appendEndTag(out_, type_.c_str());
  appendEndTag(out_, "sf:featureMember");
}

void GmlFeatureWriter::release() {
  geometryWriter_.begin({}, nullptr);
  releasePage();
}

bool checkGmlOptions(const FeatureOptions& options, std::string& error) {
  for (const std::string* name : {&options.type, &options.geometry}) {
    if (isXmlName(*name)) continue;
    error = "'type' and 'geometry' must be XML names";
    return false;
  }
  for (const FeatureOptions::Field& field : options.fields) {
    if (isXmlName(field.name)) continue;
    error = "the field '" + field.name + "' is not an XML name";
    return false;
  }
  return true;
}

}  // namespace graticule
