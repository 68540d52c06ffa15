// Ids and properties of a layer of a MapLibre Tile: columns of one type each, out of the tags of a vector tile's features
// (MapLibre Tile Specification, "MVT Compatibility Notes", "Property Columns").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../bytes.h"
#include "mvt_layer.h"

namespace graticule::mlt {

/** Codes of columns in a layer's metadata; one more where values may be missing. */
enum class ColumnType : uint8_t {
  Id = 0,
  LongId = 2,
  Geometry = 4,
  Boolean = 10,
  Int32 = 16,
  UInt32 = 18,
  Int64 = 20,
  UInt64 = 22,
  Float = 24,
  Double = 26,
  String = 28,
};

/** A code, a name where the column has one, and its streams. */
void writeColumnHead(ByteBuffer& head, ColumnType type, bool nullable, std::string_view name);

/** Ids of features, which may be missing. */
class IdColumn {
 public:
  void begin();
  void add(const MvtFeature& feature);
  /** Nothing is written where no feature has an id. False then. */
  bool write(ByteBuffer& head, ByteBuffer& body) const;

 private:
  std::vector<uint64_t> ids_;
  std::vector<uint8_t> present_;
  uint32_t features_ = 0;
  uint64_t largest_ = 0;
};

/** Properties of all features, as indexes into the values of the layer. */
class PropertyColumns {
 public:
  /** Cells of a layer at most: more is no tile that anybody draws. */
  static constexpr size_t kMostCells = size_t{1} << 26;

  /** False when the layer would take too much memory. */
  bool begin(const MvtLayer& layer);
  /** False when the tags are broken. A key that comes twice has its last value. */
  bool add(const MvtFeature& feature);
  /** Appends all columns that have a value; returns how many. */
  uint32_t write(ByteBuffer& head, ByteBuffer& body);

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  /** What the values of one column are. */
  struct Survey {
    ColumnType type;
    bool nullable;
    /** Values of several kinds, which become text. */
    bool mixed;
  };

  bool survey(const uint32_t* cells, Survey& survey) const;
  void writeColumn(ByteBuffer& body, const uint32_t* cells, const Survey& survey);
  void writePresent(ByteBuffer& body, const uint32_t* cells);
  template <typename T>
  void writeNumbers(ByteBuffer& body, const uint32_t* cells, std::vector<T>& numbers);
  void writeReals(ByteBuffer& body, const uint32_t* cells, bool single);
  void writeBooleans(ByteBuffer& body, const uint32_t* cells);
  void writeTexts(ByteBuffer& body, const uint32_t* cells, const Survey& survey);
  std::string_view textOf(uint32_t value, bool mixed);

  template <typename Visit>
  void eachValue(const uint32_t* cells, Visit&& visit) const {
    for (uint32_t i = 0; i < features_; ++i) {
      if (cells[i] != kNone) visit(cells[i]);
    }
  }

  const MvtLayer* layer_ = nullptr;
  uint32_t features_ = 0;
  uint32_t capacity_ = 0;
  /** Index of the value by column and feature. */
  std::vector<uint32_t> cells_;

  // Kept from column to column.
  std::vector<uint32_t> places_;
  std::vector<uint32_t> offsets_;
  std::vector<uint32_t> lengths_;
  std::vector<uint32_t> allLengths_;
  std::vector<uint32_t> entries_;
  std::vector<std::string> spelled_;
};

}  // namespace graticule::mlt
