// Tiles of a cloud optimized GeoTIFF: pixel interleaved, predicted (2 for integers, 3 for floats), deflated.
#pragma once

#include <vector>

#include "../values/bytes.h"
#include "samples.h"

namespace graticule {

/** The tiles of an image, row by row, each between its size and its last four bytes (GDAL's block leader and trailer). */
struct TiffTiles {
  /** Offset of each tile in the output, after its leader. */
  std::vector<uint32_t> offsets;
  /** Bytes of each tile, without leader and trailer. */
  std::vector<uint32_t> sizes;
};

enum class TileCompression {
  /** Fast, and equally good for noisy samples, such as imagery and elevation. */
  kRuns,
  /** For repeated values, such as classes and smooth areas. */
  kRepetitions,
};

/** Tries both on rows from the middle of the image; runs are good enough when they take little more. */
TileCompression tileCompressionFor(const Samples& samples, uint32_t side);

/**
 * Appends the tiles of `side` x `side` pixels. Pixels outside the image have predicted differences of 0. Throws
 * std::bad_alloc.
 */
void writeTiles(const Samples& samples, uint32_t side, TileCompression compression, ByteBuffer& out, TiffTiles& tiles);

}  // namespace graticule
