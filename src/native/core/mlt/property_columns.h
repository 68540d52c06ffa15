// Ids and properties of a MapLibre Tile layer: columns of one type each, from the tags of a vector tile's features
// (MapLibre Tile Specification, "MVT Compatibility Notes", "Property Columns").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../values/bytes.h"
#include "mvt_layer.h"
#include "streams.h"

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
  Struct = 30,
};

/** A code, a name where the column has one, and its streams. */
void writeColumnHead(ByteBuffer& head, ColumnType type, bool nullable, std::string_view name);

/** Ids of features, which may be missing. */
class IdColumn {
 public:
  void begin();
  void add(const MvtFeature& feature);
  /** Writes the ids. Returns false, and writes no output, if no feature has an id. */
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
  /** The layer is read until the columns are written. */
  void begin(const MvtLayer& layer);
  /** Adds the properties of a feature. The last value of a repeated key applies. Throws `Broken`. */
  void add(const MvtFeature& feature);
  /** Appends all columns that have a value; returns how many. Throws `TooLarge`. */
  uint32_t write(ByteBuffer& head, ByteBuffer& body);

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  /** A feature's value of a column: the index among the values of the layer. */
  struct Cell {
    uint32_t feature;
    uint32_t value;
  };
  /** Cells of one column, in the order of the features. */
  struct Cells {
    const Cell* begin;
    const Cell* end;

    size_t size() const { return static_cast<size_t>(end - begin); }
  };
  /** Properties of the values of one column. */
  struct Survey {
    ColumnType type;
    bool nullable;
    /** Values of several kinds, which become text. */
    bool mixed;
  };

  /** Column with values. */
  struct Column {
    std::string_view name;
    Cells cells;
    Survey survey;
    bool isShared;
  };

  void sortCells();
  Survey survey(Cells cells) const;
  void findColumns();
  void findShared();
  void writeShared(ByteBuffer& head, ByteBuffer& body);
  void writeColumn(ByteBuffer& body, Cells cells, const Survey& survey);
  void writePresent(ByteBuffer& body, Cells cells) const;
  template <typename T>
  void writeNumbers(ByteBuffer& body, Cells cells) const;
  template <typename T>
  void writeReals(ByteBuffer& body, Cells cells) const;
  void writeBooleans(ByteBuffer& body, Cells cells) const;
  void writeTexts(ByteBuffer& body, Cells cells, const Survey& survey);
  /** Fills `offsets_` with the dictionary positions of a column's strings, and adds new strings to the dictionary. */
  void addToDictionary(Cells cells, bool mixed);
  void writeEntries(ByteBuffer& body, StreamType type, bool mixed);
  void clearDictionary();
  std::string_view textOf(uint32_t value, bool mixed);

  template <typename Visit>
  void eachValue(Cells cells, Visit&& visit) const {
    for (const Cell* cell = cells.begin; cell != cells.end; ++cell) visit(cell->value);
  }

  const MvtLayer* layer_ = nullptr;
  uint32_t features_ = 0;
  /** Keys of one name are one column: its index by key. */
  std::vector<uint32_t> columnOf_;
  /** Tags as they come, and their columns; then by column. */
  std::vector<Cell> cells_;
  std::vector<uint32_t> columns_;
  std::vector<Cell> sorted_;
  /** Start and end of the cells of each column in `sorted_`. */
  std::vector<size_t> begins_;
  std::vector<size_t> ends_;
  std::vector<Column> found_;
  /** Number of columns that contain each value, and the latest of these columns plus one. */
  std::vector<uint32_t> uses_;
  std::vector<uint32_t> latest_;

  // Kept from column to column.
  std::vector<uint32_t> places_;
  std::vector<uint32_t> offsets_;
  std::vector<uint32_t> lengths_;
  std::vector<uint32_t> allLengths_;
  std::vector<uint32_t> entries_;
  size_t dictionaryBytes_ = 0;
  std::vector<std::string> spelled_;
};

}  // namespace graticule::mlt
