// The compressed rows of a drawn image (zlib, RFC 1950 and 1951).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "../deflate/bit_writer.h"
#include "../values/bytes.h"

namespace graticule {

/** Part of an RGBA image, 4 bytes a pixel, not premultiplied. */
struct PixelWindow {
  /** The first pixel. */
  const uint8_t* pixels;
  /** Bytes from one row to the next. */
  size_t stride;
  uint32_t width;
  uint32_t height;

  const uint8_t* row(uint32_t y) const { return pixels + y * stride; }
};

/**
 * Compresses pixels instead of bytes. The repetition of a pixel is searched to its left, above it, and at the last
 * position of its colour. Drawn maps consist mostly of areas, for which the first two are sufficient, so a row costs
 * little more than a comparison with the row above. It takes half of the time of libdeflate at level 1 and a quarter
 * of Mapnik's time, for 4 to 7 % more bytes. Photographs have a separate encoder (picture_png.h).
 */
class PixelStream {
 public:
  PixelStream();

  /** Appends the rows, unfiltered (a byte of 0 before each), as one zlib stream. Throws std::bad_alloc. */
  void write(const PixelWindow& window, ByteBuffer& out);

 private:
  /** A repetition (its length and its distance, in bytes), a literal pixel, or the byte before a row. */
  struct Token {
    uint16_t length;
    uint16_t distance;
    uint32_t pixel;
  };

  struct Run {
    size_t pixels = 0;
    size_t distance = 0;
  };

  struct Place {
    uint32_t y = 0;
    uint32_t x = 0;
  };

  void addRow(const PixelWindow& window, uint32_t y, ByteBuffer& out);
  void add(Token token, ByteBuffer& out);
  void addRepetition(Run run, ByteBuffer& out);
  Run seenBefore(const PixelWindow& window, uint32_t y, uint32_t x);
  /** Writes the tokens as a block and forgets them. */
  void flush(bool last, ByteBuffer& out);

  std::unique_ptr<Token[]> tokens_;
  size_t count_ = 0;
  /** Last position by the hash of a colour. Initially the first pixel, which is harmless. */
  std::array<Place, 4096> seen_;
  BitWriter bits_;
};

}  // namespace graticule
