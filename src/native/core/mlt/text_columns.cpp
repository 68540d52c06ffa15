#include "text_columns.h"

namespace graticule::mlt {
namespace {

// Subtypes of streams.
constexpr uint8_t kFsst = 5;
constexpr uint8_t kSymbols = 5;
/** Code before a literal byte. */
constexpr uint8_t kEscape = 255;

}  // namespace

void TextStreams::addStream(const Stream& stream) {
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
  Stream indexes;
  bool hasIndexes = false;
  for (uint32_t i = 0; i < streams; ++i) {
    const Stream stream = readStream(cursor);
    if (stream.kind == StreamKind::Offset) {
      indexes = stream;
      hasIndexes = true;
    } else {
      addStream(stream);
    }
  }
  buildTexts();
  if (hasIndexes) return readDictionaryIndexes(indexes, column);
  column.texts.swap(texts_);
}

void TextStreams::readDictionary(Cursor& cursor) {
  while (!hasData_) addStream(readStream(cursor));
  buildTexts();
}

void TextStreams::readDictionaryIndexes(const Stream& stream, Column& column) const {
  std::vector<uint64_t> indexes;
  readNumbers(stream, kUnsigned32, table_.budget, indexes);
  column.kind = Column::Kind::Text;
  column.texts.reserve(indexes.size());
  for (const uint64_t index : indexes) {
    if (index >= texts_.size()) throw Broken{"an index beyond its dictionary"};
    column.texts.push_back(texts_[index]);
  }
}

/** Cuts the data into texts. */
void TextStreams::buildTexts() {
  if (!hasData_) throw Broken{"a column without its texts"};
  Cursor cursor(hasSymbols_ ? decodeFsst(data_) : data_);
  texts_.reserve(lengths_.size());
  for (const uint64_t length : lengths_) {
    const Bytes text = cursor.bytes(length);
    texts_.emplace_back(reinterpret_cast<const char*>(text.begin), text.size());
  }
}

Bytes TextStreams::decodeFsst(Bytes data) const {
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
