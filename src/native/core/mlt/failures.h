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
/** Features times columns of all layers of a tile, with the cells that are empty. */
constexpr uint64_t kMostCells = uint64_t{1} << 27;

inline void requireRoom(size_t bytes) {
  if (bytes > kMostBytes) throw TooLarge();
}

/** What a tile may still have, in all of its layers together, however few bytes say so. */
class Budget {
 public:
  void takeNumbers(uint64_t count) { take(numbers_, count); }
  void takeCells(uint64_t count) { take(cells_, count); }
  /** Bytes of texts that do not stand in the tile as they are. */
  void takeText(uint64_t bytes) { take(text_, bytes); }

 private:
  static void take(uint64_t& left, uint64_t count) {
    if (count > left) throw TooLarge();
    left -= count;
  }

  uint64_t numbers_ = uint64_t{1} << 23;
  uint64_t cells_ = kMostCells;
  uint64_t text_ = kMostBytes;
};

}  // namespace graticule::mlt
