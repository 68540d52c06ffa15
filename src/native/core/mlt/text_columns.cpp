#include "text_columns.h"

namespace graticule::mlt {
namespace {

// Subtypes of streams.
constexpr uint8_t kFsst = 5;
constexpr uint8_t kSymbols = 5;
/** Code before a literal byte. */
constexpr uint8_t kEscape = 255;

}  // namespace

void TextStreams::take(const Stream& stream) {
  if (stream.kind == StreamKind::Length) {
    readNumbers(stream, kUnsigned32, table_.budget, stream.subtype == kSymbols ? symbolLengths_ : lengths_);
  } else if (stream.kind == StreamKind::Data && stream.subtype == kFsst) {
    symbols_ = stream.data;
    hasSymbols_ = true;
  } else if (stream.kind == StreamKind::Data) {
    data_ = stream.data;
    hasData_ = true;
  }
}

void TextStreams::read(Cursor& cursor, uint32_t streams, Column& column) {
  Stream places;
  bool hasPlaces = false;
  for (uint32_t i = 0; i < streams; ++i) {
    const Stream stream = readStream(cursor);
    if (stream.kind == StreamKind::Offset) {
      places = stream;
      hasPlaces = true;
    } else {
      take(stream);
    }
  }
  finish();
  if (hasPlaces) return readPlaces(places, column);
  column.texts.swap(texts_);
}

void TextStreams::readDictionary(Cursor& cursor) {
  while (!hasData_) take(readStream(cursor));
  finish();
}

void TextStreams::readPlaces(const Stream& stream, Column& column) const {
  std::vector<uint64_t> places;
  readNumbers(stream, kUnsigned32, table_.budget, places);
  column.kind = Column::Kind::Text;
  column.texts.reserve(places.size());
  for (const uint64_t place : places) {
    if (place >= texts_.size()) throw Broken{"a place beyond its dictionary"};
    column.texts.push_back(texts_[place]);
  }
}

/** Cuts the data into texts. */
void TextStreams::finish() {
  if (!hasData_) throw Broken{"a column without its texts"};
  Cursor cursor(hasSymbols_ ? inflate(data_) : data_);
  texts_.reserve(lengths_.size());
  for (const uint64_t length : lengths_) {
    const Bytes text = cursor.bytes(length);
    texts_.emplace_back(reinterpret_cast<const char*>(text.begin), text.size());
  }
}

Bytes TextStreams::inflate(Bytes data) const {
  std::vector<Bytes> symbols;
  Cursor table(symbols_);
  for (const uint64_t length : symbolLengths_) symbols.push_back(table.bytes(length));
  auto text = std::make_unique<std::string>();
  for (Cursor codes(data); !codes.atEnd();) {
    const uint8_t code = codes.byte();
    if (code == kEscape) {
      text->push_back(static_cast<char>(codes.byte()));
    } else if (code < symbols.size()) {
      text->append(reinterpret_cast<const char*>(symbols[code].begin), symbols[code].size());
    } else {
      throw Broken{"a text of unknown symbols"};
    }
    requireRoom(text->size());
  }
  table_.budget.takeText(text->size());
  const auto* begin = reinterpret_cast<const uint8_t*>(text->data());
  const Bytes bytes{begin, begin + text->size()};
  table_.inflated.push_back(std::move(text));
  return bytes;
}

}  // namespace graticule::mlt
