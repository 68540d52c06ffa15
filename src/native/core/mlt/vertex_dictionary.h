// Dictionary of positions that several geometries of a layer share (MapLibre Tile Specification, "Dictionary
// Encoding").
#pragma once

#include <cstdint>
#include <vector>

#include "../values/bytes.h"
#include "streams.h"

namespace graticule::mlt {

struct Position {
  int32_t x = 0;
  int32_t y = 0;
};

/**
 * Entries are in the order of their first use. Indices along a new line therefore count up by one, and down along a
 * border of an earlier area: both are runs.
 */
class VertexDictionary {
 public:
  /**
   * Builds the dictionary. Returns false if it does not save space: the differences of all positions take `plainSize`
   * bytes.
   */
  bool build(const std::vector<Position>& positions, size_t plainSize);

  /** Entry of each position. */
  const Runs& places() const { return places_; }
  uint32_t entries() const { return static_cast<uint32_t>(distinct_.size()); }
  /** Differences between entries, by component. */
  const ByteBuffer& varints() const { return varints_; }

 private:
  /** Whether so many positions come again that it is worth the look, by a sample. */
  bool mayShare(const std::vector<Position>& positions);

  std::vector<uint64_t> sample_;
  /** Open addressing: of an entry its place plus one; 0: free. */
  std::vector<uint32_t> slots_;
  std::vector<Position> distinct_;
  Runs places_;
  ByteBuffer varints_;
};

}  // namespace graticule::mlt
