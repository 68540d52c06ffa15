#include "property_table.h"

#include <cmath>
#include <limits>

#include "../values/number.h"
#include "../values/text.h"

namespace graticule {
namespace {

constexpr int64_t kMaxSafe = 9'007'199'254'740'991;
constexpr int32_t kNoInt32 = std::numeric_limits<int32_t>::min();
constexpr int64_t kNoInt64 = std::numeric_limits<int64_t>::min();
constexpr double kNoReal = std::numeric_limits<double>::lowest();
/** Names of the values of a boolean with nulls. */
constexpr const char* kBooleanEnum =
    R"("enums":{"boolean":{"valueType":"UINT8","values":[{"name":"false","value":0},{"name":"true","value":1},)"
    R"({"name":"null","value":2}]}},)";

/** Property ids are restricted to letters, digits and `_`; the name of the property keeps the column's name. */
std::string makeId(const std::string& name, size_t column) {
  std::string id;
  for (const char c : name) {
    const bool allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    id += allowed ? c : '_';
  }
  const bool changed = id != name || id.empty() || id[0] == '_' || (id[0] >= '0' && id[0] <= '9');
  // The column's number makes changed names unique.
  return changed ? "_" + std::to_string(column) + "_" + id : id;
}

}  // namespace

void PropertyTable::begin(const std::vector<Column>& columns) {
  columns_ = columns;
  cells_.clear();
  text_.clear();
  textEnds_.clear();
  features_ = 0;
}

void PropertyTable::addFeature() {
  cells_.resize(cells_.size() + columns_.size());
  textEnds_.push_back(text_.size());
  ++features_;
}

void PropertyTable::removeFeature() {
  cells_.resize(cells_.size() - columns_.size());
  text_.truncate(textEnds_.back());
  textEnds_.pop_back();
  --features_;
}

void PropertyTable::set(size_t column, const Value& value) {
  if (column >= columns_.size() || value.kind == Value::Kind::Blob) return;
  if (value.kind == Value::Kind::Real && !std::isfinite(value.real)) return;
  Cell& cell = cells_[(features_ - 1) * columns_.size() + column];
  cell = {value.kind, value.integer, value.real, text_.size(), value.size};
  if (cell.kind == Value::Kind::Integer && columns_[column].type == FieldType::Boolean) cell.kind = Value::Kind::Boolean;
  if (cell.kind != Value::Kind::Text) return;
  appendSanitised(text_, value.bytes, value.size);
  cell.size = text_.size() - cell.offset;
}

bool PropertyTable::hasInteger(size_t column, int64_t value) const {
  for (size_t f = 0; f < features_; ++f) {
    const Cell& cell = cellAt(f, column);
    if (cell.kind == Value::Kind::Integer && cell.integer == value) return true;
  }
  return false;
}

bool PropertyTable::hasReal(size_t column, double value) const {
  for (size_t f = 0; f < features_; ++f) {
    const Cell& cell = cellAt(f, column);
    if (cell.kind == Value::Kind::Real && cell.real == value) return true;
  }
  return false;
}

void PropertyTable::appendText(const Cell& cell, ByteBuffer& out) const {
  switch (cell.kind) {
    case Value::Kind::Text: out.append(text_.data() + cell.offset, cell.size); break;
    case Value::Kind::Integer: appendInteger(out, cell.integer); break;
    case Value::Kind::Real: appendNumber(out, cell.real); break;
    case Value::Kind::Boolean: graticule::appendText(out, cell.integer != 0 ? "true" : "false"); break;
    default: break;
  }
}

bool PropertyTable::hasText(size_t column, const std::string& value) const {
  ByteBuffer text;
  for (size_t f = 0; f < features_; ++f) {
    const Cell& cell = cellAt(f, column);
    if (cell.kind == Value::Kind::Null) continue;
    text.clear();
    appendText(cell, text);
    if (text.size() == value.size() && (value.empty() || std::memcmp(text.data(), value.data(), value.size()) == 0)) {
      return true;
    }
  }
  return false;
}

/** Smallest type that has all values of a column, and a value for null if it is needed. */
PropertyTable::Storage PropertyTable::storageOf(size_t column, bool& hasNulls) const {
  hasNulls = false;
  bool text = false;
  bool boolean = false;
  bool integer = false;
  bool real = false;
  bool wide = false;
  bool unsafe = false;
  for (size_t f = 0; f < features_; ++f) {
    const Cell& cell = cellAt(f, column);
    switch (cell.kind) {
      case Value::Kind::Null: hasNulls = true; break;
      case Value::Kind::Text: text = true; break;
      case Value::Kind::Boolean: boolean = true; break;
      case Value::Kind::Real: real = true; break;
      case Value::Kind::Integer:
        integer = true;
        wide = wide || cell.integer > std::numeric_limits<int32_t>::max() || cell.integer < kNoInt32;
        unsafe = unsafe || cell.integer > kMaxSafe || cell.integer < -kMaxSafe;
        break;
      default: break;
    }
  }
  if (!text && !boolean && !integer && !real) return Storage::None;
  if (text || (boolean && (integer || real)) || (real && unsafe)) return Storage::String;
  if (boolean) return hasNulls ? Storage::Enum : Storage::Boolean;
  if (real) return hasNulls && hasReal(column, kNoReal) ? Storage::String : Storage::Float64;
  if (!wide && !(hasNulls && hasInteger(column, kNoInt32))) return Storage::Int32;
  return hasNulls && hasInteger(column, kNoInt64) ? Storage::String : Storage::Int64;
}

void PropertyTable::writeProperty(size_t column, Storage storage, bool hasNulls, const std::string& id,
                                  GlbWriter& glb, ByteBuffer& schema, ByteBuffer& table) const {
  const auto addSchema = [&](std::string_view text) { graticule::appendText(schema, text); };
  appendJsonString(schema, id.data(), id.size());
  addSchema(":{\"name\":");
  appendJsonString(schema, columns_[column].name.data(), columns_[column].name.size());
  std::string noText;
  glb.beginView();
  const auto each = [&](auto&& put) {
    for (size_t f = 0; f < features_; ++f) put(cellAt(f, column), cellAt(f, column).kind == Value::Kind::Null);
  };
  std::vector<uint32_t> ends{0};
  switch (storage) {
    case Storage::Int32:
      addSchema(",\"type\":\"SCALAR\",\"componentType\":\"INT32\"");
      if (hasNulls) addSchema(",\"noData\":-2147483648");
      each([&](const Cell& c, bool null) { glb.put(null ? kNoInt32 : static_cast<int32_t>(c.integer)); });
      break;
    case Storage::Int64:
      addSchema(",\"type\":\"SCALAR\",\"componentType\":\"INT64\"");
      if (hasNulls) addSchema(",\"noData\":-9223372036854775808");
      each([&](const Cell& c, bool null) { glb.put(null ? kNoInt64 : c.integer); });
      break;
    case Storage::Float64:
      addSchema(",\"type\":\"SCALAR\",\"componentType\":\"FLOAT64\"");
      if (hasNulls) addSchema(",\"noData\":-1.7976931348623157e308");
      each([&](const Cell& c, bool null) {
        const double number = c.kind == Value::Kind::Integer ? static_cast<double>(c.integer) : c.real;
        glb.put(null ? kNoReal : number);
      });
      break;
    case Storage::Enum:
      addSchema(",\"type\":\"ENUM\",\"enumType\":\"boolean\",\"noData\":\"null\"");
      each([&](const Cell& c, bool null) { glb.put(static_cast<uint8_t>(null ? 2 : c.integer != 0)); });
      break;
    case Storage::Boolean: {
      addSchema(",\"type\":\"BOOLEAN\"");
      std::vector<uint8_t> bits((features_ + 7) / 8, 0);
      for (size_t f = 0; f < features_; ++f) bits[f / 8] |= static_cast<uint8_t>((cellAt(f, column).integer != 0) << f % 8);
      glb.bytes().append(bits.data(), bits.size());
      break;
    }
    default: {
      addSchema(",\"type\":\"STRING\"");
      if (hasNulls) {
        for (int i = 0; hasText(column, noText); ++i) noText = "null" + (i == 0 ? std::string() : std::to_string(i));
        addSchema(",\"noData\":");
        appendJsonString(schema, noText.data(), noText.size());
      }
      const size_t start = glb.bytes().size();
      each([&](const Cell& c, bool null) {
        if (null) {
          graticule::appendText(glb.bytes(), noText);
        } else {
          appendText(c, glb.bytes());
        }
        ends.push_back(static_cast<uint32_t>(glb.bytes().size() - start));
      });
      // A view cannot be empty.
      if (glb.bytes().size() == start) glb.bytes().push(0);
    }
  }
  schema.push('}');
  appendJsonString(table, id.data(), id.size());
  graticule::appendText(table, ":{\"values\":");
  appendInteger(table, glb.endView());
  if (storage == Storage::String) {
    glb.beginView();
    for (const uint32_t end : ends) glb.put(end);
    graticule::appendText(table, ",\"stringOffsets\":");
    appendInteger(table, glb.endView());
  }
  table.push('}');
}

bool PropertyTable::finish(GlbWriter& glb, ByteBuffer& json) const {
  ByteBuffer schema;
  ByteBuffer table;
  bool hasEnum = false;
  for (size_t c = 0; c < columns_.size(); ++c) {
    bool hasNulls = false;
    const Storage storage = storageOf(c, hasNulls);
    if (storage == Storage::None) continue;
    if (!schema.empty()) {
      schema.push(',');
      table.push(',');
    }
    hasEnum = hasEnum || storage == Storage::Enum;
    writeProperty(c, storage, hasNulls, makeId(columns_[c].name, c), glb, schema, table);
  }
  if (schema.empty()) return false;
  graticule::appendText(json, "\"EXT_structural_metadata\":{\"schema\":{\"id\":\"features\",");
  if (hasEnum) graticule::appendText(json, kBooleanEnum);
  graticule::appendText(json, "\"classes\":{\"feature\":{\"properties\":{");
  json.append(schema.data(), schema.size());
  graticule::appendText(json, "}}}},\"propertyTables\":[{\"class\":\"feature\",\"count\":");
  appendInteger(json, static_cast<int64_t>(features_));
  graticule::appendText(json, ",\"properties\":{");
  json.append(table.data(), table.size());
  graticule::appendText(json, "}}]}");
  return true;
}

}  // namespace graticule
