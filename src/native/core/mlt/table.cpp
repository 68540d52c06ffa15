#include "table.h"

#include "property_columns.h"
#include "text_columns.h"

namespace graticule::mlt {
namespace {

/** Codes of columns; one more where values may be missing. */
constexpr uint32_t kStruct = 30;
constexpr uint32_t kMap = 31;

/** A column as the layer's metadata have it. */
struct Head {
  uint32_t code;
  std::string_view name;
  std::vector<Head> children;

  bool nullable() const { return (code & 1) != 0; }
  ColumnType type() const { return static_cast<ColumnType>(code & ~1u); }
};

Head readHead(Cursor& cursor, int depth) {
  Head head;
  head.code = cursor.varint32();
  const bool isNamed = head.code >= static_cast<uint32_t>(ColumnType::Boolean);
  if (head.code > kMap || (!isNamed && head.code > 4)) throw Broken{"an unknown column"};
  if (isNamed) head.name = cursor.text();
  if (head.code < kStruct) return head;
  if (depth > 8) throw Broken{"columns that are nested too deep"};
  const uint32_t children = cursor.varint32();
  if (children > kMostColumns) throw TooLarge();
  for (uint32_t i = 0; i < children; ++i) head.children.push_back(readHead(cursor, depth + 1));
  return head;
}

void skipStreams(Cursor& cursor, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) readStream(cursor);
}

/** Reads the stream that marks the features with a value, if there is such a stream. */
void readPresent(Cursor& cursor, bool nullable, Budget& budget, std::vector<uint8_t>& present) {
  if (!nullable) return;
  const Stream stream = readStream(cursor);
  if (stream.kind != StreamKind::Present) throw Broken{"a column without its presence"};
  present = readBits(stream, budget);
}

void readIds(Cursor& cursor, const Head& head, Table& table) {
  table.ids.kind = Column::Kind::Unsigned;
  readPresent(cursor, head.nullable(), table.budget, table.ids.present);
  readNumbers(readStream(cursor), (head.code & 2) != 0 ? kUnsigned64 : kUnsigned32, table.budget, table.ids.numbers);
}

void readVertices(const Stream& stream, Budget& budget, Geometries& geometry) {
  std::vector<uint64_t> numbers;
  if (stream.first == Logical::Morton) {
    if (stream.mortonBits > 16) throw Broken{"Morton codes that are too long"};
    readNumbers(stream, kUnsigned32, budget, numbers);
    const auto half = [&](uint64_t code) {
      uint32_t value = 0;
      for (uint32_t bit = 0; bit < stream.mortonBits; ++bit) value |= static_cast<uint32_t>(code >> 2 * bit & 1) << bit;
      return static_cast<int32_t>(value - stream.mortonShift);
    };
    for (const uint64_t code : numbers) geometry.vertices.push_back({half(code), half(code >> 1)});
    return;
  }
  readNumbers(stream, kSigned32, budget, numbers);
  if (numbers.size() % 2 != 0) throw Broken{"half a position"};
  for (size_t i = 0; i < numbers.size(); i += 2) {
    geometry.vertices.push_back({static_cast<int32_t>(numbers[i]), static_cast<int32_t>(numbers[i + 1])});
  }
}

void readLengths(const Stream& stream, Budget& budget, Geometries& geometry) {
  constexpr uint8_t kGeometries = 1, kParts = 2, kRings = 3;
  if (stream.subtype == kGeometries) readNumbers(stream, kUnsigned32, budget, geometry.geometries);
  if (stream.subtype == kParts) readNumbers(stream, kUnsigned32, budget, geometry.parts);
  if (stream.subtype == kRings) {
    geometry.hasRings = true;
    readNumbers(stream, kUnsigned32, budget, geometry.rings);
  }
}

void readGeometries(Cursor& cursor, Budget& budget, Geometries& geometry) {
  const uint32_t streams = cursor.varint32();
  if (streams == 0) throw Broken{"no geometries"};
  readNumbers(readStream(cursor), kUnsigned32, budget, geometry.types);
  if (geometry.types.size() > kMostFeatures) throw TooLarge();
  for (uint32_t i = 1; i < streams; ++i) {
    const Stream stream = readStream(cursor);
    if (stream.kind == StreamKind::Length) readLengths(stream, budget, geometry);
    if (stream.kind == StreamKind::Data) readVertices(stream, budget, geometry);
    // Other offsets belong to triangles.
    if (stream.kind == StreamKind::Offset && stream.subtype == 0) {
      geometry.hasPlaces = true;
      readNumbers(stream, kUnsigned32, budget, geometry.places);
    }
  }
}

void readBooleans(Cursor& cursor, Budget& budget, Column& column) {
  const Stream stream = readStream(cursor);
  budget.takeNumbers(stream.count);
  const std::vector<uint8_t> bits = readBits(stream, budget);
  column.kind = Column::Kind::Boolean;
  for (uint32_t i = 0; i < stream.count; ++i) column.numbers.push_back(bits[i >> 3] >> (i & 7) & 1);
}

void readReals(Cursor& cursor, Budget& budget, bool single, Column& column) {
  const Stream stream = readStream(cursor);
  if (stream.first != Logical::None || stream.physical != Physical::None) throw Broken{"fractions that are packed"};
  column.kind = single ? Column::Kind::Float : Column::Kind::Double;
  readNumbers(stream, single ? kUnsigned32 : kUnsigned64, budget, column.numbers);
}

void readWholes(Cursor& cursor, Budget& budget, Width width, Column& column) {
  column.kind = width.isSigned ? Column::Kind::Signed : Column::Kind::Unsigned;
  readNumbers(readStream(cursor), width, budget, column.numbers);
}

void readValues(Cursor& cursor, const Head& head, Budget& budget, Column& column) {
  switch (head.code & ~1u) {
    case 10: return readBooleans(cursor, budget, column);
    case 12:
    case 16: return readWholes(cursor, budget, kSigned32, column);
    case 14:
    case 18: return readWholes(cursor, budget, kUnsigned32, column);
    case 20: return readWholes(cursor, budget, kSigned64, column);
    case 22: return readWholes(cursor, budget, kUnsigned64, column);
    default: return readReals(cursor, budget, head.type() == ColumnType::Float, column);
  }
}

void readProperty(Cursor& cursor, const Head& head, Table& table) {
  Column column;
  column.name = head.name;
  if (head.type() == ColumnType::String) {
    const uint32_t streams = cursor.varint32();
    if (streams == 0) return;
    readPresent(cursor, head.nullable(), table.budget, column.present);
    TextStreams(table).read(cursor, streams - head.nullable(), column);
  } else {
    readPresent(cursor, head.nullable(), table.budget, column.present);
    readValues(cursor, head, table.budget, column);
  }
  table.columns.push_back(std::move(column));
}

/** Reads string columns that share one dictionary. Their names have a common prefix. */
void readShared(Cursor& cursor, const Head& head, Table& table) {
  if (cursor.varint32() == 0) return;
  TextStreams dictionary(table);
  dictionary.readDictionary(cursor);
  for (const Head& child : head.children) {
    const uint32_t streams = cursor.varint32();
    if (streams == 0) continue;
    if (child.type() != ColumnType::String) throw Broken{"a shared dictionary of no texts"};
    Column column;
    column.name = std::string(head.name).append(child.name);
    readPresent(cursor, child.nullable(), table.budget, column.present);
    dictionary.readDictionaryIndexes(readStream(cursor), column);
    table.columns.push_back(std::move(column));
  }
}

/** Checks that every feature has the values that its column states. */
void check(const Column& column, uint32_t features) {
  size_t count = features;
  if (!column.present.empty()) {
    if (column.present.size() < (features + 7) / 8) throw Broken{"a column that is too short"};
    count = 0;
    for (uint32_t i = 0; i < features; ++i) count += column.has(i);
  }
  if (column.size() < count) throw Broken{"a column that is too short"};
}

}  // namespace

void readTable(Bytes block, Table& table) {
  Cursor cursor(block);
  table.name = cursor.text();
  if (table.name.empty()) throw Broken{"a layer without a name"};
  table.extent = cursor.varint32();
  const uint32_t count = cursor.varint32();
  if (table.extent == 0) throw Broken{"a layer without an extent"};
  if (count > kMostColumns) throw TooLarge();
  std::vector<Head> heads;
  for (uint32_t i = 0; i < count; ++i) heads.push_back(readHead(cursor, 0));
  for (const Head& head : heads) {
    if (head.code < 4) {
      readIds(cursor, head, table);
    } else if (head.code == 4) {
      readGeometries(cursor, table.budget, table.geometry);
    } else if (head.code == kStruct) {
      readShared(cursor, head, table);
    } else if (head.code == kMap) {
      skipStreams(cursor, cursor.varint32());
    } else {
      readProperty(cursor, head, table);
    }
  }
  if (!table.ids.numbers.empty()) check(table.ids, table.features());
  // Each column is read for each feature.
  table.budget.takeCells(uint64_t{table.features()} * table.columns.size());
  for (const Column& column : table.columns) check(column, table.features());
}

}  // namespace graticule::mlt
