// Columns of texts: plain, by a dictionary, by one whose texts are compressed (FSST), or by one of several columns.
#pragma once

#include "table.h"

namespace graticule::mlt {

class TextStreams {
 public:
  explicit TextStreams(Table& table) : table_(table) {}

  /** Reads the streams of one column after its presence. */
  void read(Cursor& cursor, uint32_t streams, Column& column);
  /** Reads streams until the dictionary is complete. */
  void readDictionary(Cursor& cursor);
  /** Fills a column with texts of the dictionary. */
  void readPlaces(const Stream& stream, Column& column) const;

 private:
  void take(const Stream& stream);
  void finish();
  Bytes inflate(Bytes data) const;

  Table& table_;
  std::vector<uint64_t> lengths_;
  std::vector<uint64_t> symbolLengths_;
  Bytes symbols_;
  Bytes data_;
  bool hasSymbols_ = false;
  bool hasData_ = false;
  /** Texts of the dictionary, or of the features. */
  std::vector<std::string_view> texts_;
};

}  // namespace graticule::mlt
