// Leaves out positions of lines and rings that matter little at the size they are shown in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../geometry/geometry.h"
#include "../geometry/reprojector.h"

namespace graticule {

/**
 * Douglas-Peucker in the CRS that geometries are written in: what is left of a line or a ring has no position of the
 * original farther away than the tolerance. Buffers are kept from one geometry to the next.
 */
class VertexThinner {
 public:
  /** The reprojector must outlive the use of this; null: none is needed. Without a tolerance above 0 nothing is done. */
  void begin(double tolerance, const Reprojector* reprojector);

  /**
   * The geometry without the positions that are left out; they keep their heights. Points stay, and so do ends of lines;
   * rings with fewer than three corners left become empty. Valid until the next call, and as long as `geometry`.
   */
  const Geometry& thin(const Geometry& geometry);

  void release();

 private:
  Sequence thinSequence(const Sequence& s, bool isRing);
  bool load(const Sequence& s);
  void mark(size_t first, size_t last);
  size_t farthestFromFirst(size_t n) const;
  double squaredDistance(size_t position, size_t a, size_t b) const;

  struct Span {
    size_t first;
    size_t last;
  };
  double squaredTolerance_ = 0;
  const Reprojector* reprojector_ = nullptr;
  std::vector<double> xy_;
  std::vector<uint8_t> keep_;
  std::vector<Span> stack_;
  /** Bytes of the positions that are left; sequences hold offsets into it until the end, because it moves as it grows. */
  std::vector<uint8_t> bytes_;
  std::vector<size_t> offsets_;
  Geometry result_;
};

}  // namespace graticule
