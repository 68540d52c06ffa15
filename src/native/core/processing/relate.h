// Relations between the geometries of two lists: matrices of OGC 06-103r4, 6.1.15.2 (DE-9IM).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "../geometry/box_tree.h"
#include "../geometry/geos.h"

namespace graticule {

/**
 * Nine characters of F, 0, 1 and 2: interior, boundary and exterior of the left geometry with each of the right
 * geometry.
 */
using Matrix = std::array<char, 9>;

/** The right side, indexed: first all of its geometries are added. All are valid and in one plane. */
class Relations {
 public:
  explicit Relations(Geos& geos) : geos_(geos) {}

  /** Takes the next geometry; null for an empty one, which is in no pair. */
  void add(GeosGeometry geometry);

  struct Pair {
    uint32_t right;
    Matrix matrix;
  };
  /**
   * Appends the relations of `left` to the right geometries, in their order: to all, or only to those with a touching
   * envelope. False if GEOS fails, with the reason.
   */
  bool relate(const GEOSGeometry* left, bool all, std::vector<Pair>& pairs);

 private:
  Geos& geos_;
  std::vector<GeosGeometry> geometries_;
  BoxTree tree_;
  bool isBuilt_ = false;
};

}  // namespace graticule
