// Reasons why a tile cannot be converted to the other encoding.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graticule::mlt {

/** Thrown for bytes that are not a tile. */
struct Broken {
  const char* why;
};

/** Thrown for a tile with more contents than allowed, even if few bytes encode them. */
struct TooLarge {};

/** Maximum bytes of a written tile, and maximum number of features and values of a layer. */
constexpr size_t kMostBytes = 64u << 20;
constexpr uint32_t kMostFeatures = 1u << 20;
constexpr uint32_t kMostValues = 1u << 20;
constexpr uint32_t kMostColumns = 10'000;
/** Features times columns of all layers of a tile, with the cells that are empty. */
constexpr uint64_t kMostCells = uint64_t{1} << 27;

inline void requireRoom(size_t bytes) {
  if (bytes > kMostBytes) throw TooLarge();
}

/** Remaining budget of a tile for all of its layers together, even if few bytes encode the contents. */
class Budget {
 public:
  void takeNumbers(uint64_t count) { take(numbers_, count); }
  void takeCells(uint64_t count) { take(cells_, count); }
  /** Counts bytes of strings that the tile does not contain in plain form. */
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
