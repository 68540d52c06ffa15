// Channels of a PNG image (W3C PNG, 6.1) that an image with many colours needs.
#pragma once

#include <array>
#include <vector>

#include "pixel_stream.h"
#include "png_chunks.h"

namespace graticule {

class PictureColors {
 public:
  explicit PictureColors(const PixelWindow& window);

  PngColor color() const { return color_; }

  /** Unused shade, which represents transparent pixels. */
  uint8_t key() const { return key_; }

  /** Place of a colour in the palette. */
  uint8_t indexOf(uint32_t pixel) const { return indices_[placeOf(colorOf(pixel))]; }

  /** Writes the palette and the transparency. */
  void putChunks(ByteBuffer& out) const;

 private:
  static constexpr size_t kMaxColors = 256;
  /** Number of slots: four times the number of colours, so most look-ups find the right one in the first step. */
  static constexpr size_t kPlaces = 1024;

  /** Returns the colour of a pixel. Fully transparent pixels do not have a colour. */
  static uint32_t colorOf(uint32_t pixel) { return pixel >> 24 == 0 ? 0 : pixel; }

  size_t placeOf(uint32_t color) const {
    size_t place = color * 0x9e3779b1U >> 22;
    while (taken_[place] && colors_[place] != color) place = (place + 1) % kPlaces;
    return place;
  }

  void findShades(const PixelWindow& window);
  void findPalette(const PixelWindow& window);
  bool addRow(const uint8_t* pixels, uint32_t width);

  PngColor color_ = PngColor::kRgba;
  bool isTransparent_ = false;
  uint8_t key_ = 0;
  std::vector<uint32_t> palette_;
  std::array<uint32_t, kPlaces> colors_;
  std::array<bool, kPlaces> taken_{};
  std::array<uint8_t, kPlaces> indices_;
};

}  // namespace graticule
