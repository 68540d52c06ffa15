#include "picture_colors.h"

#include <algorithm>

namespace graticule {
namespace {

uint8_t channel(uint32_t pixel, uint32_t number) { return static_cast<uint8_t>(pixel >> (8 * number)); }

/** Approximate perceived brightness, so that colours of a ramp are next to each other. */
uint32_t brightnessOf(uint32_t pixel) { return 3U * channel(pixel, 0) + 6U * channel(pixel, 1) + channel(pixel, 2); }

/** Common properties of all pixels, computed from the bits that any of them has. */
struct Traits {
  /** Bits in which channels of visible pixels differ. */
  uint32_t colored = 0;
  bool hasClear = false;
  bool hasHalf = false;

  void add(const uint8_t* pixels, uint32_t width) {
    uint32_t differences = 0;
    uint32_t clear = 0;
    uint32_t half = 0;
    for (uint32_t x = 0; x < width; ++x) {
      const auto pixel = loadNative<uint32_t>(pixels + size_t{4} * x);
      const uint32_t alpha = pixel >> 24;
      const uint32_t visible = alpha == 0 ? 0U : 0xffffU;
      differences |= (pixel ^ pixel >> 8) & visible;
      clear |= alpha == 0 ? 1U : 0U;
      half |= (alpha != 0) & (alpha != 255) ? 1U : 0U;
    }
    colored |= differences;
    hasClear = hasClear || clear != 0;
    hasHalf = hasHalf || half != 0;
  }
};

}  // namespace

PictureColors::PictureColors(const PixelWindow& window) {
  Traits traits;
  for (uint32_t y = 0; y < window.height; ++y) traits.add(window.row(y), window.width);
  isTransparent_ = traits.hasClear;
  if (traits.colored == 0) {
    color_ = traits.hasHalf ? PngColor::kGreyAlpha : PngColor::kGrey;
    if (color_ == PngColor::kGrey && isTransparent_) findShades(window);
    return;
  }
  color_ = traits.hasClear || traits.hasHalf ? PngColor::kRgba : PngColor::kRgb;
  findPalette(window);
}

void PictureColors::findShades(const PixelWindow& window) {
  std::array<bool, 256> used{};
  for (uint32_t y = 0; y < window.height; ++y) {
    const uint8_t* pixels = window.row(y);
    for (uint32_t x = 0; x < window.width; ++x, pixels += 4) used[pixels[0]] = used[pixels[0]] || pixels[3] != 0;
  }
  const auto* free = std::find(used.begin(), used.end(), false);
  if (free == used.end()) {
    color_ = PngColor::kGreyAlpha;
  } else {
    key_ = static_cast<uint8_t>(free - used.begin());
  }
}

void PictureColors::findPalette(const PixelWindow& window) {
  for (uint32_t y = 0; y < window.height; ++y) {
    if (!addRow(window.row(y), window.width)) return;
  }
  // Colours with alpha come first, because the colours after the last of them do not need an alpha entry.
  std::sort(palette_.begin(), palette_.end(), [](uint32_t a, uint32_t b) {
    const bool opaque[] = {channel(a, 3) == 255, channel(b, 3) == 255};
    if (opaque[0] != opaque[1]) return opaque[1];
    const uint32_t brightness[] = {brightnessOf(a), brightnessOf(b)};
    return brightness[0] != brightness[1] ? brightness[0] < brightness[1] : a < b;
  });
  for (size_t i = 0; i < palette_.size(); ++i) indices_[placeOf(palette_[i])] = static_cast<uint8_t>(i);
  color_ = PngColor::kPalette;
}

/** False when there are too many colours for a palette. */
bool PictureColors::addRow(const uint8_t* pixels, uint32_t width) {
  uint32_t last = 0;
  for (uint32_t x = 0; x < width; ++x, pixels += 4) {
    const uint32_t color = colorOf(loadNative<uint32_t>(pixels));
    if (x != 0 && color == last) continue;
    last = color;
    const size_t place = placeOf(color);
    if (taken_[place]) continue;
    if (palette_.size() == kMaxColors) return false;
    taken_[place] = true;
    colors_[place] = color;
    palette_.push_back(color);
  }
  return true;
}

void PictureColors::putChunks(ByteBuffer& out) const {
  if (color_ == PngColor::kGrey && isTransparent_) {
    const uint8_t shade[] = {0, key_};
    putChunk("tRNS", shade, sizeof shade, out);
  }
  if (color_ != PngColor::kPalette) return;
  std::vector<uint8_t> colors;
  std::vector<uint8_t> alphas;
  for (const uint32_t color : palette_) {
    for (uint32_t number = 0; number < 3; ++number) colors.push_back(channel(color, number));
    if (channel(color, 3) != 255) alphas.push_back(channel(color, 3));
  }
  putChunk("PLTE", colors.data(), colors.size(), out);
  if (!alphas.empty()) putChunk("tRNS", alphas.data(), alphas.size(), out);
}

}  // namespace graticule
