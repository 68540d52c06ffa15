#include "grid_ring.h"

#include <algorithm>
#include <cstring>

namespace graticule {
namespace {

/** Whether three positions are on one border line, so that the middle one only adds a spike. */
bool alongBorder(const int32_t* a, const int32_t* b, const int32_t* c, int32_t low, int32_t high) {
  for (int axis = 0; axis < 2; ++axis) {
    if (b[axis] == a[axis] && b[axis] == c[axis] && (b[axis] == low || b[axis] == high)) return true;
  }
  return false;
}

/** Whether the ring runs from a to b and back on the same line. */
bool spike(const int32_t* a, const int32_t* b, const int32_t* c) {
  const int64_t abX = int64_t{b[0]} - a[0];
  const int64_t abY = int64_t{b[1]} - a[1];
  const int64_t bcX = int64_t{c[0]} - b[0];
  const int64_t bcY = int64_t{c[1]} - b[1];
  return abX * bcY == abY * bcX && abX * bcX + abY * bcY < 0;
}

bool hasSpike(const int32_t* xy, size_t n) {
  const int32_t* a = xy + 2 * (n - 2);
  const int32_t* b = xy + 2 * (n - 1);
  for (size_t i = 0; i < n; ++i) {
    const int32_t* c = xy + 2 * i;
    if (spike(a, b, c)) return true;
    a = b;
    b = c;
  }
  return false;
}

/** Positive when a, b, c turn left on axes that point right and up. */
int64_t turn(const int32_t* a, const int32_t* b, const int32_t* c) {
  return (int64_t{b[0]} - a[0]) * (int64_t{c[1]} - a[1]) - (int64_t{b[1]} - a[1]) * (int64_t{c[0]} - a[0]);
}

}  // namespace

size_t dropRepeated(int32_t* xy, size_t n) {
  if (n == 0) return 0;
  int32_t lastX = xy[0];
  int32_t lastY = xy[1];
  size_t kept = 1;
  for (size_t i = 1; i < n; ++i) {
    const int32_t x = xy[2 * i];
    const int32_t y = xy[2 * i + 1];
    xy[2 * kept] = x;
    xy[2 * kept + 1] = y;
    kept += (x != lastX) | (y != lastY);
    lastX = x;
    lastY = y;
  }
  return kept;
}

size_t dropRepeatedOfRing(int32_t* xy, size_t n) {
  n = dropRepeated(xy, n);
  while (n > 1 && xy[0] == xy[2 * n - 2] && xy[1] == xy[2 * n - 1]) --n;
  return n;
}

size_t dropBorderRuns(int32_t* xy, size_t n, int32_t low, int32_t high) {
  size_t kept = 0;
  for (size_t i = 0; i < n; ++i) {
    const int32_t x = xy[2 * i];
    const int32_t y = xy[2 * i + 1];
    const int32_t c[2] = {x, y};
    while (kept >= 2 && alongBorder(xy + 2 * (kept - 2), xy + 2 * (kept - 1), c, low, high)) --kept;
    if (kept >= 1 && xy[2 * kept - 2] == x && xy[2 * kept - 1] == y) continue;
    xy[2 * kept] = x;
    xy[2 * kept + 1] = y;
    ++kept;
  }
  // The seam: the last positions against the first.
  while (kept >= 3) {
    const int32_t* last = xy + 2 * (kept - 1);
    if ((last[0] == xy[0] && last[1] == xy[1]) || alongBorder(last - 2, last, xy, low, high)) {
      --kept;
    } else {
      break;
    }
  }
  return kept;
}

size_t dropSpikes(int32_t* xy, size_t n) {
  if (n < 3 || !hasSpike(xy, n)) return n;
  size_t kept = 0;
  const auto at = [&](size_t i) { return xy + 2 * i; };
  const auto same = [&](size_t i, size_t j) { return at(i)[0] == at(j)[0] && at(i)[1] == at(j)[1]; };
  for (size_t i = 0; i < n; ++i) {
    const int32_t c[2] = {at(i)[0], at(i)[1]};
    while (kept >= 2 && spike(at(kept - 2), at(kept - 1), c)) --kept;
    if (kept >= 1 && at(kept - 1)[0] == c[0] && at(kept - 1)[1] == c[1]) continue;
    at(kept)[0] = c[0];
    at(kept)[1] = c[1];
    ++kept;
  }
  // The seam: the last positions against the first ones.
  size_t first = 0;
  while (kept - first >= 3) {
    if (same(first, kept - 1) || spike(at(kept - 2), at(kept - 1), at(first))) {
      --kept;
    } else if (spike(at(kept - 1), at(first), at(first + 1))) {
      ++first;
    } else {
      break;
    }
  }
  std::memmove(xy, at(first), (kept - first) * 2 * sizeof *xy);
  return kept - first;
}

int64_t doubleArea(const int32_t* xy, size_t n) {
  // Unsigned, so that a hostile ring of millions of positions wraps instead of overflowing.
  uint64_t sum = 0;
  int64_t x = xy[2 * n - 2];
  int64_t y = xy[2 * n - 1];
  for (size_t i = 0; i < n; ++i) {
    const int64_t nextX = xy[2 * i];
    const int64_t nextY = xy[2 * i + 1];
    sum += static_cast<uint64_t>(x * nextY - nextX * y);
    x = nextX;
    y = nextY;
  }
  return static_cast<int64_t>(sum);
}

Side sideOf(const int32_t* xy, size_t n, const int32_t* p) {
  bool inside = false;
  const int32_t* a = xy + 2 * (n - 1);
  for (const int32_t *b = xy, *end = xy + 2 * n; b != end; a = b, b += 2) {
    if (std::min(a[1], b[1]) > p[1] || std::max(a[1], b[1]) < p[1]) continue;
    const int64_t t = turn(a, b, p);
    if (t == 0 && std::min(a[0], b[0]) <= p[0] && std::max(a[0], b[0]) >= p[0]) return Side::On;
    if ((a[1] > p[1]) != (b[1] > p[1])) inside ^= (t > 0) == (b[1] > a[1]);
  }
  return inside ? Side::Inside : Side::Outside;
}

}  // namespace graticule
