#include "property_columns.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "../values/varint.h"
#include "failures.h"

namespace graticule::mlt {
namespace {

using Kind = MvtValue::Kind;

/** Minimum bytes of repeated strings for which columns share a dictionary, because gzip finds nearby repetitions. */
constexpr size_t kLeastAgain = 1024;

/** Maximum integer that a double represents exactly, as MVT readers in browsers have them. */
constexpr uint64_t kMaxSafe = (uint64_t{1} << 53) - 1;

bool isWhole(Kind kind) { return kind == Kind::Integer || kind == Kind::Unsigned; }

bool isNegative(const MvtValue& value) { return value.kind == Kind::Integer && value.integer < 0; }

double numberOf(const MvtValue& value) {
  if (value.kind == Kind::Real) return value.real;
  return value.kind == Kind::Unsigned ? static_cast<double>(static_cast<uint64_t>(value.integer))
                                      : static_cast<double>(value.integer);
}

/** Minimum and maximum of a column's integers. */
struct Reach {
  int64_t least = 0;
  uint64_t most = 0;

  void add(const MvtValue& value) {
    if (isNegative(value)) {
      least = std::min(least, value.integer);
    } else {
      most = std::max(most, static_cast<uint64_t>(value.integer));
    }
  }
  bool isSafe() const { return most <= kMaxSafe && least >= -static_cast<int64_t>(kMaxSafe); }
  /**
   * Returns the type of the column. Integers between 32 bits and the exact range of a double become doubles, because
   * readers in browsers use BigInts for longer types.
   */
  ColumnType type() const {
    if (least == 0 && most <= UINT32_MAX) return ColumnType::UInt32;
    if (least >= INT32_MIN && most <= INT32_MAX) return ColumnType::Int32;
    if (isSafe()) return ColumnType::Double;
    return least == 0 ? ColumnType::UInt64 : ColumnType::Int64;
  }
  /**
   * Whether one type fits all values: there is none for negative numbers together with numbers that need an unsigned
   * type.
   */
  bool fits() const { return least == 0 || most <= static_cast<uint64_t>(INT64_MAX); }
};

bool isSingle(double value) {
  return std::fabs(value) <= static_cast<double>(std::numeric_limits<float>::max()) &&
         static_cast<double>(static_cast<float>(value)) == value;
}

void spell(const MvtValue& value, std::string& text) {
  char digits[40];
  const auto assign = [&](std::to_chars_result result) { text.assign(digits, result.ptr); };
  if (value.kind == Kind::Boolean) {
    text = value.integer != 0 ? "true" : "false";
  } else if (value.kind == Kind::Real) {
    assign(std::to_chars(digits, digits + sizeof digits, value.real));
  } else if (value.kind == Kind::Unsigned) {
    assign(std::to_chars(digits, digits + sizeof digits, static_cast<uint64_t>(value.integer)));
  } else {
    assign(std::to_chars(digits, digits + sizeof digits, value.integer));
  }
}

void setBit(std::vector<uint8_t>& bits, uint32_t i) { bits[i >> 3] |= static_cast<uint8_t>(1u << (i & 7)); }

}  // namespace

void writeColumnHead(ByteBuffer& head, ColumnType type, bool nullable, std::string_view name) {
  head.push(static_cast<uint8_t>(static_cast<uint8_t>(type) + nullable));
  if (type < ColumnType::Boolean) return;
  head.pushVarint(name.size());
  head.append(name.data(), name.size());
}

void IdColumn::begin() {
  ids_.clear();
  present_.clear();
  features_ = 0;
  largest_ = 0;
}

void IdColumn::add(const MvtFeature& feature) {
  if ((features_ & 7) == 0) present_.push_back(0);
  if (feature.hasId) {
    setBit(present_, features_);
    ids_.push_back(feature.id);
    largest_ = std::max(largest_, feature.id);
  }
  ++features_;
}

bool IdColumn::write(ByteBuffer& head, ByteBuffer& body) const {
  if (ids_.empty()) return false;
  const bool nullable = ids_.size() != features_;
  const bool isLong = largest_ > UINT32_MAX;
  writeColumnHead(head, isLong ? ColumnType::LongId : ColumnType::Id, nullable, {});
  if (nullable) writeBits(body, StreamType::Present, present_, features_);
  if (isLong) {
    writeIntegers(body, StreamType::Data, ids_);
  } else {
    writeIntegers(body, StreamType::Data, std::vector<uint32_t>(ids_.begin(), ids_.end()));
  }
  return true;
}

void PropertyColumns::begin(const MvtLayer& layer) {
  layer_ = &layer;
  features_ = 0;
  cells_.clear();
  columns_.clear();
  spelled_.clear();
  entries_.clear();
  places_.assign(layer.values.size(), kNone);
  std::unordered_map<std::string_view, uint32_t> names;
  columnOf_.clear();
  for (const std::string_view key : layer.keys) {
    columnOf_.push_back(names.emplace(key, static_cast<uint32_t>(columnOf_.size())).first->second);
  }
}

void PropertyColumns::add(const MvtFeature& feature) {
  uint64_t key = 0;
  uint64_t value = 0;
  const uint8_t* const end = feature.tags.end;
  for (const uint8_t* p = feature.tags.begin; p != end;) {
    if ((p = getVarint(p, end, key)) == nullptr || (p = getVarint(p, end, value)) == nullptr) throw Broken{"half a tag"};
    if (key >= columnOf_.size() || value >= layer_->values.size()) throw Broken{"a tag without its value"};
    columns_.push_back(columnOf_[key]);
    cells_.push_back({features_, static_cast<uint32_t>(value)});
  }
  ++features_;
}

/** Brings the cells of each column together; they stay in the order of the features. */
void PropertyColumns::sortCells() {
  begins_.assign(columnOf_.size() + 1, 0);
  for (const uint32_t column : columns_) ++begins_[column + 1];
  for (size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
  ends_.assign(begins_.begin(), begins_.end() - 1);
  sorted_.resize(cells_.size());
  for (size_t i = 0; i < cells_.size(); ++i) {
    const uint32_t column = columns_[i];
    size_t& end = ends_[column];
    const bool isAgain = end > begins_[column] && sorted_[end - 1].feature == cells_[i].feature;
    sorted_[isAgain ? end - 1 : end++] = cells_[i];
  }
}

PropertyColumns::Survey PropertyColumns::survey(Cells cells) const {
  unsigned kinds = 0;
  Reach reach;
  bool single = true;
  eachValue(cells, [&](uint32_t index) {
    const MvtValue& value = layer_->values[index];
    kinds |= 1u << static_cast<unsigned>(isWhole(value.kind) ? Kind::Integer : value.kind);
    if (isWhole(value.kind)) reach.add(value);
    if (value.kind != Kind::Text) single = single && isSingle(numberOf(value));
  });
  constexpr unsigned kText = 1u << static_cast<unsigned>(Kind::Text);
  constexpr unsigned kReal = 1u << static_cast<unsigned>(Kind::Real);
  constexpr unsigned kWhole = 1u << static_cast<unsigned>(Kind::Integer);
  constexpr unsigned kBoolean = 1u << static_cast<unsigned>(Kind::Boolean);
  Survey survey{ColumnType::String, cells.size() != features_, false};
  if (kinds == kText) return survey;
  if (kinds == kBoolean) {
    survey.type = ColumnType::Boolean;
  } else if (kinds == kWhole && reach.fits()) {
    survey.type = reach.type();
    if (survey.type == ColumnType::Double && single) survey.type = ColumnType::Float;
  } else if ((kinds & ~(kReal | kWhole)) == 0 && reach.isSafe()) {
    survey.type = single ? ColumnType::Float : ColumnType::Double;
  } else {
    survey.mixed = true;
  }
  return survey;
}

void PropertyColumns::findColumns() {
  found_.clear();
  for (size_t column = 0; column < columnOf_.size(); ++column) {
    const Cells cells{sorted_.data() + begins_[column], sorted_.data() + ends_[column]};
    if (cells.size() != 0) found_.push_back({layer_->keys[column], cells, survey(cells), false});
  }
}

/** Finds string columns that have most strings in common with other columns: names in several languages. */
void PropertyColumns::findShared() {
  uses_.assign(layer_->values.size(), 0);
  latest_.assign(layer_->values.size(), 0);
  const auto eachText = [&](uint32_t stamp, const Column& column, auto&& visit) {
    eachValue(column.cells, [&](uint32_t value) {
      if (latest_[value] == stamp) return;
      latest_[value] = stamp;
      visit(value);
    });
  };
  const auto isText = [](const Column& column) {
    return column.survey.type == ColumnType::String && !column.survey.mixed;
  };
  uint32_t stamp = 0;
  size_t again = 0;
  for (const Column& column : found_) {
    ++stamp;
    if (!isText(column)) continue;
    eachText(stamp, column, [&](uint32_t value) {
      if (uses_[value]++ != 0) again += layer_->values[value].text.size();
    });
  }
  if (again < kLeastAgain) return;
  size_t columns = 0;
  for (Column& column : found_) {
    ++stamp;
    if (!isText(column)) continue;
    size_t bytes = 0;
    size_t alike = 0;
    eachText(stamp, column, [&](uint32_t value) {
      const size_t size = layer_->values[value].text.size();
      bytes += size;
      if (uses_[value] > 1) alike += size;
    });
    column.isShared = 2 * alike > bytes;
    columns += column.isShared;
  }
  if (columns > 1) return;
  for (Column& column : found_) column.isShared = false;
}

uint32_t PropertyColumns::write(ByteBuffer& head, ByteBuffer& body) {
  sortCells();
  findColumns();
  findShared();
  uint32_t columns = 0;
  bool hasShared = false;
  for (const Column& column : found_) {
    hasShared = hasShared || column.isShared;
    if (column.isShared) continue;
    writeColumnHead(head, column.survey.type, column.survey.nullable, column.name);
    writeColumn(body, column.cells, column.survey);
    requireRoom(body.size());
    ++columns;
  }
  if (hasShared) writeShared(head, body);
  return columns + hasShared;
}

/** Writes one column without a name, whose fields have the names of the columns. */
void PropertyColumns::writeShared(ByteBuffer& head, ByteBuffer& body) {
  uint32_t fields = 0;
  uint32_t streams = 2;
  ByteBuffer heads;
  ByteBuffer places;
  clearDictionary();
  for (const Column& column : found_) {
    if (!column.isShared) continue;
    const bool nullable = column.survey.nullable;
    ++fields;
    streams += 1u + nullable;
    writeColumnHead(heads, ColumnType::String, nullable, column.name);
    places.pushVarint(1u + nullable);
    if (nullable) writePresent(places, column.cells);
    addToDictionary(column.cells, false);
    writeIntegers(places, StreamType::StringOffset, offsets_);
  }
  writeColumnHead(head, ColumnType::Struct, false, {});
  head.pushVarint(fields);
  head.append(heads.data(), heads.size());
  requireRoom(body.size() + dictionaryBytes_ + places.size());
  body.pushVarint(streams);
  writeIntegers(body, StreamType::DictionaryLength, lengths_);
  writeEntries(body, StreamType::SharedDictionaryData, false);
  body.append(places.data(), places.size());
  clearDictionary();
}

void PropertyColumns::writeColumn(ByteBuffer& body, Cells cells, const Survey& survey) {
  if (survey.type == ColumnType::String) return writeTexts(body, cells, survey);
  if (survey.nullable) writePresent(body, cells);
  switch (survey.type) {
    case ColumnType::Boolean: return writeBooleans(body, cells);
    case ColumnType::UInt32: return writeNumbers<uint32_t>(body, cells);
    case ColumnType::Int32: return writeNumbers<int32_t>(body, cells);
    case ColumnType::UInt64: return writeNumbers<uint64_t>(body, cells);
    case ColumnType::Int64: return writeNumbers<int64_t>(body, cells);
    case ColumnType::Float: return writeReals<float>(body, cells);
    default: return writeReals<double>(body, cells);
  }
}

void PropertyColumns::writePresent(ByteBuffer& body, Cells cells) const {
  std::vector<uint8_t> bits((features_ + 7) / 8, 0);
  for (const Cell* cell = cells.begin; cell != cells.end; ++cell) setBit(bits, cell->feature);
  writeBits(body, StreamType::Present, bits, features_);
}

template <typename T>
void PropertyColumns::writeNumbers(ByteBuffer& body, Cells cells) const {
  std::vector<T> numbers;
  numbers.reserve(cells.size());
  eachValue(cells, [&](uint32_t index) { numbers.push_back(static_cast<T>(layer_->values[index].integer)); });
  writeIntegers(body, StreamType::Data, numbers);
}

template <typename T>
void PropertyColumns::writeReals(ByteBuffer& body, Cells cells) const {
  std::vector<T> reals;
  reals.reserve(cells.size());
  eachValue(cells, [&](uint32_t index) { reals.push_back(static_cast<T>(numberOf(layer_->values[index]))); });
  writePlain(body, StreamType::Data, static_cast<uint32_t>(reals.size()), reals.data(), reals.size() * sizeof(T));
}

void PropertyColumns::writeBooleans(ByteBuffer& body, Cells cells) const {
  std::vector<uint8_t> bits((cells.size() + 7) / 8, 0);
  uint32_t count = 0;
  eachValue(cells, [&](uint32_t index) {
    if (layer_->values[index].integer != 0) setBit(bits, count);
    ++count;
  });
  writeBits(body, StreamType::Data, bits, count);
}

std::string_view PropertyColumns::textOf(uint32_t value, bool mixed) {
  const MvtValue& v = layer_->values[value];
  if (!mixed || v.kind == Kind::Text) return v.text;
  if (spelled_.empty()) spelled_.resize(layer_->values.size());
  std::string& text = spelled_[value];
  if (text.empty()) spell(v, text);
  return text;
}

void PropertyColumns::clearDictionary() {
  for (const uint32_t index : entries_) places_[index] = kNone;
  entries_.clear();
  lengths_.clear();
  dictionaryBytes_ = 0;
}

void PropertyColumns::addToDictionary(Cells cells, bool mixed) {
  offsets_.clear();
  eachValue(cells, [&](uint32_t index) {
    if (places_[index] == kNone) {
      const size_t size = textOf(index, mixed).size();
      places_[index] = static_cast<uint32_t>(entries_.size());
      entries_.push_back(index);
      lengths_.push_back(static_cast<uint32_t>(size));
      dictionaryBytes_ += size;
    }
    offsets_.push_back(places_[index]);
  });
}

void PropertyColumns::writeEntries(ByteBuffer& body, StreamType type, bool mixed) {
  ByteBuffer text;
  for (const uint32_t index : entries_) {
    const std::string_view t = textOf(index, mixed);
    text.append(t.data(), t.size());
  }
  writePlain(body, type, static_cast<uint32_t>(entries_.size()), text.data(), text.size());
}

/** Plain, or as places in a dictionary: whichever takes least. */
void PropertyColumns::writeTexts(ByteBuffer& body, Cells cells, const Survey& survey) {
  const bool mixed = survey.mixed;
  clearDictionary();
  addToDictionary(cells, mixed);
  allLengths_.clear();
  size_t plainBytes = 0;
  eachValue(cells, [&](uint32_t index) {
    const size_t size = textOf(index, mixed).size();
    allLengths_.push_back(static_cast<uint32_t>(size));
    plainBytes += size;
  });
  const bool isPlain = plainBytes + sizeOfIntegers(allLengths_) <=
                       dictionaryBytes_ + sizeOfIntegers(lengths_) + sizeOfIntegers(offsets_);
  requireRoom(body.size() + (isPlain ? plainBytes : dictionaryBytes_));
  body.pushVarint((isPlain ? 2u : 3u) + survey.nullable);
  if (survey.nullable) writePresent(body, cells);
  if (isPlain) {
    ByteBuffer text;
    eachValue(cells, [&](uint32_t index) {
      const std::string_view t = textOf(index, mixed);
      text.append(t.data(), t.size());
    });
    writeIntegers(body, StreamType::VarBinaryLength, allLengths_);
    writePlain(body, StreamType::Data, static_cast<uint32_t>(allLengths_.size()), text.data(), text.size());
  } else {
    // mlt-core takes the streams by their order.
    writeIntegers(body, StreamType::DictionaryLength, lengths_);
    writeIntegers(body, StreamType::StringOffset, offsets_);
    writeEntries(body, StreamType::DictionaryData, mixed);
  }
  clearDictionary();
}

}  // namespace graticule::mlt
