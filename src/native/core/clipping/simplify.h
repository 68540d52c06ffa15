// Thins out vertices on the integer grid of a tile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace graticule {

/**
 * Douglas-Peucker on x,y pairs of grid units, with distances to segments. Long sequences are simplified in runs,
 * which limits the time per vertex. If every position protrudes from its neighbours, none is checked twice and all
 * remain. Iterative; its stack and flags are reused from call to call. Without that check, the halving takes an
 * eighth of the time of a tile of buildings.
 */
class Simplifier {
 public:
  /** Thins a line of `n` positions in place; returns how many are left. Both ends stay. */
  size_t line(int32_t* xy, size_t n, double tolerance);

  /**
   * Thins a ring in place: `n` positions, the first not repeated, but with room for one more. Returns how many are
   * left: fewer than 3 when the ring vanishes.
   */
  size_t ring(int32_t* xy, size_t n, double tolerance);

 private:
  void mark(const int32_t* xy, size_t first, size_t last, double squaredTolerance);
  void markRun(const int32_t* xy, size_t first, size_t last, double squaredTolerance);

  struct Span {
    uint32_t first;
    uint32_t last;
  };
  std::vector<uint8_t> keep_;
  std::vector<Span> stack_;
};

}  // namespace graticule
