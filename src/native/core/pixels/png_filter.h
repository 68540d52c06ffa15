// Filters of PNG rows (W3C PNG, 9): the difference of a row from its prediction by neighbours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace graticule {

/** Filters the rows of one image, from the top. */
class PngFilter {
 public:
  /** Bytes of a row, and of a pixel. Throws std::bad_alloc. */
  PngFilter(size_t rowBytes, size_t pixelBytes);

  /** Buffer for the next row. */
  uint8_t* row() { return row_; }

  /**
   * Writes the number of the filter with the smallest output for the row, followed by the output: one byte more than
   * the row has.
   */
  void put(uint8_t* out);

  /** The same without a filter. */
  void putPlain(uint8_t* out);

 private:
  void next();

  size_t rowBytes_;
  size_t pixelBytes_;
  std::unique_ptr<uint8_t[]> memory_;
  uint8_t* row_;
  uint8_t* above_;
  /** By each filter. */
  uint8_t* left_[4];
};

}  // namespace graticule
