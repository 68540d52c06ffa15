// A layer of a MapLibre Tile in memory, as its columns are (MapLibre Tile Specification, "FeatureTable Layout").
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stream_reader.h"
#include "vertex_dictionary.h"

namespace graticule::mlt {

/** Existing values of one column, in the order of the features. */
struct Column {
  enum class Kind : uint8_t { Boolean, Signed, Unsigned, Float, Double, Text };

  std::string name;
  Kind kind = Kind::Text;
  /** Marks of the features with a value. Empty: all features. */
  std::vector<uint8_t> present;
  /** Bits of numbers, and strings. */
  std::vector<uint64_t> numbers;
  std::vector<std::string_view> texts;

  bool has(uint32_t feature) const { return present.empty() || (present[feature >> 3] >> (feature & 7) & 1) != 0; }
  size_t size() const { return kind == Kind::Text ? texts.size() : numbers.size(); }
};

/** Lengths by the levels of the specification. `hasRings`: lengths of lines are stored among the rings. */
struct Geometries {
  std::vector<uint64_t> types;
  std::vector<uint64_t> geometries;
  std::vector<uint64_t> parts;
  std::vector<uint64_t> rings;
  bool hasRings = false;
  /** Places of positions in `vertices`; none: in their order. */
  std::vector<uint64_t> places;
  bool hasPlaces = false;
  std::vector<Position> vertices;
};

struct Table {
  explicit Table(Budget& tileBudget) : budget(tileBudget) {}

  std::string_view name;
  uint32_t extent = 4096;
  /** Without numbers: features have no ids. */
  Column ids;
  Geometries geometry;
  std::vector<Column> columns;
  /** Strings that the tile does not contain in plain form. */
  std::vector<std::unique_ptr<std::string>> inflated;
  Budget& budget;

  uint32_t features() const { return static_cast<uint32_t>(geometry.types.size()); }
};

/**
 * Reads the layer in a block. Throws `Broken`. Nested properties are skipped, because vector tiles do not have them.
 */
void readTable(Bytes block, Table& table);

}  // namespace graticule::mlt
