// Removes positions of lines and rings that are insignificant at the displayed size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../geometry/geometry.h"
#include "../geometry/reprojector.h"

namespace graticule {

/**
 * Douglas-Peucker in the CRS of the output. No position of the original is farther from the resulting line or ring
 * than the tolerance. Buffers are reused from one geometry to the next.
 */
class VertexThinner {
 public:
  /**
   * Starts with a tolerance. The reprojector must outlive the use of this object. Null: no reprojection. Geometries
   * remain unchanged unless the tolerance is above 0.
   */
  void begin(double tolerance, const Reprojector* reprojector);

  /**
   * Returns the geometry without the dropped positions; the remaining positions keep their heights. Points and ends
   * of lines remain. Rings with fewer than three remaining corners become empty. Valid until the next call, and as
   * long as `geometry`.
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
  /**
   * Bytes of the remaining positions. Sequences contain offsets into it until the end, because this buffer moves when
   * it grows.
   */
  std::vector<uint8_t> bytes_;
  std::vector<size_t> offsets_;
  Geometry result_;
};

}  // namespace graticule
