// Decodes a tile with separate code and checks every rule that clients rely on.
#pragma once

#include <cstddef>
#include <cstdint>

/**
 * Whether all features of a one-layer tile are well formed: commands in the order of the specification, positions
 * between `low` and `high`. Rings must be closed by ClosePath and have an area, and the first ring of each polygon
 * feature must be positive.
 */
bool tileIsValid(const uint8_t* tile, size_t size, int64_t low, int64_t high);
