#include "tiff_tiles.h"

#include <algorithm>
#include <memory>
#include <type_traits>

#include "../deflate/compressor.h"
#include "../deflate/run_stream.h"

namespace graticule {
namespace {

/** Part of a tile row that is in the image. */
struct Part {
  size_t first;
  size_t columns;
};

/** Predictor 2: differences of each sample from the sample of the same band to the left. */
template <typename T>
void predictIntegers(const Samples& samples, Part part, size_t side, uint8_t* out) {
  using U = std::make_unsigned_t<T>;
  const size_t bands = samples.bands.size();
  auto* row = reinterpret_cast<U*>(out);
  for (size_t band = 0; band < bands; ++band) {
    const U* values = static_cast<const U*>(samples.bands[band]) + part.first;
    U last = 0;
    for (size_t x = 0; x < part.columns; ++x) {
      row[x * bands + band] = static_cast<U>(values[x] - last);
      last = values[x];
    }
    for (size_t x = part.columns; x < side; ++x) row[x * bands + band] = 0;
  }
}

/** Predictor 3: first bytes of all samples, then second ones, highest first; differences of those. */
template <typename T>
void predictFloats(const Samples& samples, Part part, size_t side, uint8_t* planes, uint8_t* out) {
  using U = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  const size_t bands = samples.bands.size();
  const size_t count = side * bands;
  for (size_t band = 0; band < bands; ++band) {
    const U* values = static_cast<const U*>(samples.bands[band]) + part.first;
    for (size_t x = 0; x < side; ++x) {
      const U value = values[std::min(x, part.columns - 1)];
      for (size_t byte = 0; byte < sizeof(U); ++byte) {
        planes[byte * count + x * bands + band] = static_cast<uint8_t>(value >> (8 * (sizeof(U) - 1 - byte)));
      }
    }
  }
  std::copy_n(planes, bands, out);
  for (size_t i = bands; i < count * sizeof(U); ++i) out[i] = static_cast<uint8_t>(planes[i] - planes[i - bands]);
}

void predictRow(const Samples& samples, Part part, size_t side, uint8_t* scratch, uint8_t* out) {
  withSamples(samples.type, [&](auto sample) {
    using T = decltype(sample);
    if constexpr (std::is_floating_point_v<T>) {
      predictFloats<T>(samples, part, side, scratch, out);
    } else {
      predictIntegers<T>(samples, part, side, out);
    }
  });
}

/** The predicted rows of one tile, in memory that is used for all. */
class Tile {
 public:
  Tile(const Samples& samples, uint32_t side)
      : samples_(samples),
        side_(side),
        rowBytes_(side * samples.bands.size() * sampleBytes(samples.type)),
        bytes_(new uint8_t[side * rowBytes_]),
        scratch_(new uint8_t[rowBytes_]) {}

  void read(uint32_t left, uint32_t top) {
    const uint32_t rows = std::min(side_, samples_.height - top);
    const uint32_t columns = std::min(side_, samples_.width - left);
    for (uint32_t y = 0; y < rows; ++y) {
      const Part part{size_t{top + y} * samples_.width + left, columns};
      predictRow(samples_, part, side_, scratch_.get(), bytes_.get() + y * rowBytes_);
    }
    std::fill(bytes_.get() + rows * rowBytes_, bytes_.get() + size(), uint8_t{0});
  }

  const uint8_t* bytes() const { return bytes_.get(); }
  size_t size() const { return side_ * rowBytes_; }

 private:
  const Samples& samples_;
  uint32_t side_;
  size_t rowBytes_;
  std::unique_ptr<uint8_t[]> bytes_;
  std::unique_ptr<uint8_t[]> scratch_;
};

void compress(const uint8_t* bytes, size_t size, TileCompression compression, CompressorCache& compressors,
              ByteBuffer& out) {
  if (compression == TileCompression::kRuns) return compressRuns(bytes, size, out);
  constexpr int kFastest = 1;
  compressors.zlib(bytes, size, kFastest, out);
}

void putTile(const Tile& tile, TileCompression compression, CompressorCache& compressors, ByteBuffer& out,
             TiffTiles& tiles) {
  constexpr uint8_t kLeader[4] = {};
  out.append(kLeader, sizeof kLeader);
  const size_t begin = out.size();
  compress(tile.bytes(), tile.size(), compression, compressors, out);
  const auto length = static_cast<uint32_t>(out.size() - begin);
  std::memcpy(out.data() + begin - sizeof length, &length, sizeof length);
  uint8_t trailer[4];
  std::memcpy(trailer, out.data() + out.size() - sizeof trailer, sizeof trailer);
  out.append(trailer, sizeof trailer);
  tiles.offsets.push_back(static_cast<uint32_t>(begin));
  tiles.sizes.push_back(length);
}

/** Bytes of a sample that is large enough for a decision: the window of repetitions. */
constexpr size_t kSampleBytes = 32768;
/** Maximum size ratio for which runs are used, because they take much less time. */
constexpr double kWorthIt = 1.15;

uint32_t middleTile(uint32_t length, uint32_t side) { return length / 2 / side * side; }

}  // namespace

TileCompression tileCompressionFor(const Samples& samples, uint32_t side) {
  Tile tile(samples, side);
  tile.read(middleTile(samples.width, side), middleTile(samples.height, side));
  const size_t size = std::min(tile.size(), kSampleBytes);
  CompressorCache compressors;
  ByteBuffer runs;
  ByteBuffer repetitions;
  compress(tile.bytes(), size, TileCompression::kRuns, compressors, runs);
  compress(tile.bytes(), size, TileCompression::kRepetitions, compressors, repetitions);
  const bool isGood = static_cast<double>(runs.size()) <= kWorthIt * static_cast<double>(repetitions.size());
  return isGood ? TileCompression::kRuns : TileCompression::kRepetitions;
}

void writeTiles(const Samples& samples, uint32_t side, TileCompression compression, ByteBuffer& out, TiffTiles& tiles) {
  Tile tile(samples, side);
  CompressorCache compressors;
  for (uint32_t top = 0; top < samples.height; top += side) {
    for (uint32_t left = 0; left < samples.width; left += side) {
      tile.read(left, top);
      putTile(tile, compression, compressors, out, tiles);
    }
  }
}

}  // namespace graticule
