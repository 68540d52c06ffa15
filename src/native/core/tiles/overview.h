// Overviews: a raster at half its size.
#pragma once

#include <memory>

#include "../pixels/samples.h"

namespace graticule {

/** Smaller raster with its own memory. */
struct Overview {
  Samples samples;
  std::unique_ptr<uint8_t[]> memory;
};

/**
 * Halves both sides, rounded up. Each value is the average of the valid ones of up to 2 x 2, or with `nearest` the first
 * of them. Throws std::bad_alloc.
 */
Overview halved(const Samples& samples, bool nearest);

}  // namespace graticule
