// Geometries for overviews: coarser shapes, and how much each of them matters.
#pragma once

#include <cstdint>
#include <vector>

#include "../geometry/geometry.h"
#include "simplify.h"

namespace graticule {

/** Orders features: greater matters more. Bits of the measure first, then the hash. */
uint64_t importanceOf(double measure, uint32_t hash);

/** Returns a hash that is the same for a position in every tile. The sequence must have a position. */
uint32_t hashOfPosition(const Sequence& sequence);

/** Returns the area of the exterior rings, otherwise the length of the lines, otherwise 0; in units of the CRS. */
double measureOf(const Geometry& geometry);

/** Makes geometries coarser. Buffers are kept from one to the next. */
class Generaliser {
 public:
  /**
   * Generalises a geometry by dropping details below `resolution` (units of the CRS). Positions move by less than
   * that, Z and M are dropped, and parts that shrink to nothing vanish. Points are unchanged. The result is valid
   * until the next call, and as long as `geometry`. It is empty if no part remains.
   */
  const Geometry& generalise(const Geometry& geometry, double resolution);

 private:
  bool addPolygon(const Geometry& geometry, const Node& node);
  bool addLine(const Sequence& sequence);
  bool quantise(const Sequence& sequence);
  void addSequence(size_t n, bool closed);

  Simplifier simplifier_;
  double cell_ = 1;
  std::vector<int32_t> grid_;
  double originX_ = 0;
  double originY_ = 0;
  /** Positions of `result_`. Sequences contain offsets until the end, because this buffer moves when it grows. */
  std::vector<double> positions_;
  std::vector<size_t> offsets_;
  Geometry result_;
};

}  // namespace graticule
