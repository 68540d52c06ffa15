#include "simplify.h"

#include <algorithm>

namespace graticule {
namespace {

/**
 * Maximum positions that are simplified as one run, whose ends remain. Zigzags split off one vertex at a time, so
 * without a limit a hostile line costs the square of its length.
 */
constexpr size_t kMaxRun = 512;

/** The farthest position between two ends: its index, 0 when there is none above `limit` (squared). */
size_t farthest(const int32_t* xy, size_t first, size_t last, double limit) {
  const double ax = xy[2 * first];
  const double ay = xy[2 * first + 1];
  const double dx = xy[2 * last] - ax;
  const double dy = xy[2 * last + 1] - ay;
  const double length2 = dx * dx + dy * dy;
  // Distances are compared times length2, so that no vertex costs a division.
  const double weight = length2 == 0 ? 1 : length2;
  double greatest = limit * weight;
  size_t index = 0;
  for (size_t i = first + 1; i < last; ++i) {
    const double px = xy[2 * i] - ax;
    const double py = xy[2 * i + 1] - ay;
    const double along = px * dx + py * dy;
    const double across = px * dy - py * dx;
    const double qx = px - dx;
    const double qy = py - dy;
    double d = across * across;
    d = along <= 0 ? (px * px + py * py) * weight : d;
    d = along > length2 ? (qx * qx + qy * qy) * weight : d;
    if (d > greatest) {
      greatest = d;
      index = i;
    }
  }
  return index;
}

/**
 * Whether each position between the ends is farther from the chord of its neighbours than the tolerance, so that none
 * can be removed. This is the case for most lines at detailed scales. It needs one pass, the halving needs several.
 */
bool allStand(const int32_t* xy, size_t n, double squaredTolerance) {
  for (size_t i = 1; i + 1 < n; ++i) {
    const int32_t* const before = xy + 2 * (i - 1);
    const double dx = static_cast<double>(before[4]) - before[0];
    const double dy = static_cast<double>(before[5]) - before[1];
    const double px = static_cast<double>(before[2]) - before[0];
    const double py = static_cast<double>(before[3]) - before[1];
    const double across = px * dy - py * dx;
    // The distance to the segment, which counts, is never smaller.
    if (across * across <= squaredTolerance * (dx * dx + dy * dy)) return false;
  }
  return true;
}

size_t compact(int32_t* xy, size_t n, const uint8_t* keep) {
  size_t kept = 0;
  for (size_t i = 0; i < n; ++i) {
    if (!keep[i]) continue;
    xy[2 * kept] = xy[2 * i];
    xy[2 * kept + 1] = xy[2 * i + 1];
    ++kept;
  }
  return kept;
}

}  // namespace

void Simplifier::mark(const int32_t* xy, size_t first, size_t last, double squaredTolerance) {
  while (first < last) {
    const size_t end = std::min(first + kMaxRun, last);
    keep_[first] = 1;
    markRun(xy, first, end, squaredTolerance);
    first = end;
  }
}

void Simplifier::markRun(const int32_t* xy, size_t first, size_t last, double squaredTolerance) {
  stack_.clear();
  for (;;) {
    const size_t index = last - first < 2 ? 0 : farthest(xy, first, last, squaredTolerance);
    if (index != 0) {
      // The left half is next, the right one waits.
      keep_[index] = 1;
      if (last - index > 1) stack_.push_back({static_cast<uint32_t>(index), static_cast<uint32_t>(last)});
      last = index;
    } else {
      if (stack_.empty()) return;
      first = stack_.back().first;
      last = stack_.back().last;
      stack_.pop_back();
    }
  }
}

size_t Simplifier::line(int32_t* xy, size_t n, double tolerance) {
  const double squaredTolerance = tolerance * tolerance;
  if (n < 3 || allStand(xy, n, squaredTolerance)) return n;
  keep_.assign(n, 0);
  keep_[n - 1] = 1;
  mark(xy, 0, n - 1, squaredTolerance);
  return compact(xy, n, keep_.data());
}

size_t Simplifier::ring(int32_t* xy, size_t n, double tolerance) {
  if (n < 4) return n;
  xy[2 * n] = xy[0];
  xy[2 * n + 1] = xy[1];
  // A ring has no ends, so its first position and the farthest position from it replace them.
  const double squaredTolerance = tolerance * tolerance;
  // The first position also has neighbours.
  const int32_t seam[] = {xy[2 * n - 2], xy[2 * n - 1], xy[0], xy[1], xy[2], xy[3]};
  if (allStand(seam, 3, squaredTolerance) && allStand(xy, n + 1, squaredTolerance)) return n;
  const size_t opposite = farthest(xy, 0, n, squaredTolerance);
  if (opposite == 0) return 0;
  keep_.assign(n, 0);
  mark(xy, 0, opposite, squaredTolerance);
  mark(xy, opposite, n, squaredTolerance);
  return compact(xy, n, keep_.data());
}

}  // namespace graticule
