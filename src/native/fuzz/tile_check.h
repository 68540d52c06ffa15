// Decodes a tile with code of its own and checks every rule that clients rely on.
#pragma once

#include <cstddef>
#include <cstdint>

/**
 * True when all features of a one-layer tile are well formed: commands in the order of the specification,
 * positions between `low` and `high`, rings closed by ClosePath with an area, the first ring of each polygon
 * feature positive.
 */
bool tileIsValid(const uint8_t* tile, size_t size, int64_t low, int64_t high);
