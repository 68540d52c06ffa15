// Why a tile cannot be taken over into the other encoding.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graticule::mlt {

/** Thrown for bytes that are no tile. */
struct Broken {
  const char* why;
};

/** Thrown for a tile that holds more than a tile can, however few bytes say so. */
struct TooLarge {};

/** Bytes of a tile that is written, features of a layer and its values at most. */
constexpr size_t kMostBytes = 64u << 20;
constexpr uint32_t kMostFeatures = 1u << 20;
constexpr uint32_t kMostValues = 1u << 20;
constexpr uint32_t kMostColumns = 10'000;

inline void requireRoom(size_t bytes) {
  if (bytes > kMostBytes) throw TooLarge();
}

}  // namespace graticule::mlt
