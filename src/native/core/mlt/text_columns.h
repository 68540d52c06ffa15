// String columns. Encodings: plain; dictionary; FSST-compressed dictionary; dictionary shared by several columns.
#pragma once

#include "table.h"

namespace graticule::mlt {

/**
 * Reads the streams of string columns. Call `read` for a single column. For columns that share a dictionary, call
 * `readDictionary`, then `readDictionaryIndexes` for each column.
 */
class TextStreams {
 public:
  explicit TextStreams(Table& table) : table_(table) {}

  /** Reads the streams of one column that follow its presence stream. */
  void read(Cursor& cursor, uint32_t streams, Column& column);
  /** Reads streams until the dictionary is complete. */
  void readDictionary(Cursor& cursor);
  /** Fills a column with the dictionary texts at the indexes in the stream. */
  void readDictionaryIndexes(const Stream& stream, Column& column) const;

 private:
  void addStream(const Stream& stream);
  void buildTexts();
  Bytes decodeFsst(Bytes data) const;

  Table& table_;
  std::vector<uint64_t> lengths_;
  std::vector<uint64_t> symbolLengths_;
  Bytes symbols_;
  Bytes data_;
  bool hasSymbols_ = false;
  bool hasData_ = false;
  /** Texts of the dictionary. Without a dictionary, texts of the features. */
  std::vector<std::string_view> texts_;
};

}  // namespace graticule::mlt
