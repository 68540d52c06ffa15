// Attributes of the features of a scene tile (glTF extension EXT_structural_metadata).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../values/bytes.h"
#include "../values/value.h"
#include "glb.h"

namespace graticule {

/**
 * One property for each column that has a value. Integers become INT32 or INT64, other numbers FLOAT64, booleans
 * BOOLEAN (ENUM if there are nulls), and all else STRING. A null is the property's `noData` value, which no feature has.
 */
class PropertyTable {
 public:
  struct Column {
    std::string name;
    FieldType type = FieldType::Any;
  };

  void begin(const std::vector<Column>& columns);
  /** Sets a value of the latest feature. Blobs and numbers that are not finite count as null. */
  void set(size_t column, const Value& value);
  void addFeature();
  /** Removes the latest feature. */
  void removeFeature();

  size_t features() const { return features_; }
  /** Bytes of the strings so far. */
  size_t textSize() const { return text_.size(); }

  /** Appends the extension's members to `json`, and the values to the file's views. False without any property. */
  bool finish(GlbWriter& glb, ByteBuffer& json) const;

 private:
  enum class Storage : uint8_t { None, Int32, Int64, Float64, Boolean, Enum, String };

  struct Cell {
    Value::Kind kind = Value::Kind::Null;
    int64_t integer = 0;
    double real = 0;
    size_t offset = 0;
    size_t size = 0;
  };

  const Cell& cellAt(size_t feature, size_t column) const { return cells_[feature * columns_.size() + column]; }
  Storage storageOf(size_t column, bool& hasNulls) const;
  bool hasInteger(size_t column, int64_t value) const;
  bool hasReal(size_t column, double value) const;
  bool hasText(size_t column, const std::string& value) const;
  void appendText(const Cell& cell, ByteBuffer& out) const;
  void writeProperty(size_t column, Storage storage, bool hasNulls, const std::string& id, GlbWriter& glb,
                     ByteBuffer& schema, ByteBuffer& table) const;

  std::vector<Column> columns_;
  std::vector<Cell> cells_;
  ByteBuffer text_;
  std::vector<size_t> textEnds_;
  size_t features_ = 0;
};

}  // namespace graticule
