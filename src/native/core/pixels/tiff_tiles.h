// Tiles of a cloud optimized GeoTIFF: pixel interleaved, predicted (2 for integers, 3 for floats), deflated.
#pragma once

#include <vector>

#include "../values/bytes.h"
#include "samples.h"

namespace graticule {

/** The tiles of an image, row by row, each between its size and its last four bytes (GDAL's block leader and trailer). */
struct TiffTiles {
  /** Where each begins in the output, behind its leader. */
  std::vector<uint32_t> offsets;
  /** Bytes of each, without leader and trailer. */
  std::vector<uint32_t> sizes;
};

enum class TileCompression {
  /** Fast, and as good where samples are noisy, as those of imagery and elevation are. */
  kRuns,
  /** For values that come again, as those of classes and of smooth surfaces do. */
  kRepetitions,
};

/** Tries both on rows from the middle of the image; runs are good enough when they take little more. */
TileCompression tileCompressionFor(const Samples& samples, uint32_t side);

/** Appends the tiles of `side` x `side` pixels; what lies outside of the image is as if it went on. Throws std::bad_alloc. */
void writeTiles(const Samples& samples, uint32_t side, TileCompression compression, ByteBuffer& out, TiffTiles& tiles);

}  // namespace graticule
