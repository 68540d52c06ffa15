#include "picture_png.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "../deflate/compressor.h"
#include "picture_colors.h"
#include "png_chunks.h"
#include "png_filter.h"
#include "../deflate/run_stream.h"

namespace graticule {
namespace {

/** Bytes of a sample that is large enough for a decision. */
constexpr size_t kSampleBytes = 12288;
/** Maximum size ratio for which runs are used, because they take much less time. */
constexpr double kWorthIt = 1.15;
constexpr int kLevel = 2;

size_t channelsOf(PngColor color) {
  switch (color) {
    case PngColor::kGrey:
    case PngColor::kPalette:
      return 1;
    case PngColor::kGreyAlpha:
      return 2;
    case PngColor::kRgb:
      return 3;
    case PngColor::kRgba:
      return 4;
  }
  return 4;
}

/** Writes the samples of a row of pixels. */
void packRow(const uint8_t* pixels, uint32_t width, const PictureColors& colors, uint8_t* row) {
  switch (colors.color()) {
    case PngColor::kGrey:
      for (uint32_t x = 0; x < width; ++x, pixels += 4) row[x] = pixels[3] == 0 ? colors.key() : pixels[0];
      return;
    case PngColor::kPalette:
      for (uint32_t x = 0; x < width; ++x, pixels += 4) row[x] = colors.indexOf(loadNative<uint32_t>(pixels));
      return;
    case PngColor::kGreyAlpha:
      for (uint32_t x = 0; x < width; ++x, pixels += 4) {
        row[2 * x] = pixels[3] == 0 ? 0 : pixels[0];
        row[2 * x + 1] = pixels[3];
      }
      return;
    case PngColor::kRgb:
      for (uint32_t x = 0; x < width; ++x, pixels += 4, row += 3) std::memcpy(row, pixels, 3);
      return;
    case PngColor::kRgba:
      for (uint32_t x = 0; x < width; ++x, pixels += 4, row += 4) {
        const uint32_t pixel = pixels[3] == 0 ? 0 : loadNative<uint32_t>(pixels);
        std::memcpy(row, &pixel, sizeof pixel);
      }
      return;
  }
}

/** Some rows of an image, filtered or unfiltered. */
class PictureRows {
 public:
  PictureRows(const PixelWindow& window, const PictureColors& colors)
      : window_(window), colors_(colors), rowBytes_(window.width * channelsOf(colors.color())) {}

  size_t size(uint32_t rows) const { return rows * (rowBytes_ + 1); }

  void write(uint32_t first, uint32_t rows, bool filtered, uint8_t* out) const {
    PngFilter filter(rowBytes_, channelsOf(colors_.color()));
    for (uint32_t y = first; y < first + rows; ++y, out += rowBytes_ + 1) {
      packRow(window_.row(y), window_.width, colors_, filter.row());
      if (filtered) {
        filter.put(out);
      } else {
        filter.putPlain(out);
      }
    }
  }

 private:
  const PixelWindow& window_;
  const PictureColors& colors_;
  size_t rowBytes_;
};

struct Method {
  bool filtered;
  bool runs;
};

void compress(const uint8_t* bytes, size_t size, Method method, ByteBuffer& out) {
  if (method.runs) return compressRuns(bytes, size, out);
  CompressorCache().zlib(bytes, size, kLevel, out);
}

/**
 * Returns the method, chosen from rows in the middle. The default suits photographic images, unless repetitions need
 * clearly less space, as for classes and drawings.
 */
Method methodFor(const PictureRows& rows, uint32_t height) {
  const uint32_t count = std::clamp<uint32_t>(static_cast<uint32_t>(kSampleBytes / rows.size(1)), 1, height);
  const std::unique_ptr<uint8_t[]> bytes(new uint8_t[rows.size(count)]);
  constexpr Method kMethods[] = {{true, true}, {true, false}, {false, false}};
  size_t sizes[3];
  for (size_t i = 0; i < 3; ++i) {
    rows.write((height - count) / 2, count, kMethods[i].filtered, bytes.get());
    ByteBuffer out;
    compress(bytes.get(), rows.size(count), kMethods[i], out);
    sizes[i] = out.size();
  }
  const size_t other = sizes[1] <= sizes[2] ? 1 : 2;
  const bool isGood = static_cast<double>(sizes[0]) <= kWorthIt * static_cast<double>(sizes[other]);
  return kMethods[isGood ? 0 : other];
}

void write(const PixelWindow& window, const PictureColors& colors, ByteBuffer& out) {
  beginPng(window.width, window.height, colors.color(), out);
  colors.putChunks(out);
  const PictureRows rows(window, colors);
  const Method method = methodFor(rows, window.height);
  const size_t size = rows.size(window.height);
  const std::unique_ptr<uint8_t[]> bytes(new uint8_t[size]);
  rows.write(0, window.height, method.filtered, bytes.get());
  const size_t chunk = beginChunk("IDAT", out);
  compress(bytes.get(), size, method, out);
  endChunk(chunk, out);
  endPng(out);
}

}  // namespace

void writePicturePng(const PixelWindow& window, ByteBuffer& out) { write(window, PictureColors(window), out); }

void writeFewColorsPng(const PixelWindow& window, ByteBuffer& out) {
  const PictureColors colors(window);
  if (channelsOf(colors.color()) == 1) write(window, colors, out);
}

}  // namespace graticule
