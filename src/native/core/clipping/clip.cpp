#include "clip.h"

#include <algorithm>

namespace graticule {
namespace {

/**
 * Writes the intersection of the edge a-b with `border` on axis A. It is exactly on the border, so that later passes
 * see no rounding.
 */
template <int A>
inline double* cross(const double* a, const double* b, double border, double* out) {
  const double t = (border - a[A]) / (b[A] - a[A]);
  out[A] = border;
  out[1 - A] = a[1 - A] + (b[1 - A] - a[1 - A]) * t;
  return out + 2;
}

/** Clips against the stripe low <= axis A <= high: both half planes in one pass. */
template <int A>
void clipStripe(const Coordinates& in, Coordinates& out, double low, double high) {
  const size_t n = in.size();
  // An edge yields at most three positions: two crossings and its end.
  out.resize(n * 3);
  double* w = out.data();
  const double* a = in.data() + n - 2;
  for (const double *b = in.data(), *end = in.data() + n; b != end; a = b, b += 2) {
    const double from = a[A];
    const double to = b[A];
    if (from < low) {
      if (to >= low) w = cross<A>(a, b, low, w);
      if (to > high) w = cross<A>(a, b, high, w);
    } else if (from > high) {
      if (to <= high) w = cross<A>(a, b, high, w);
      if (to < low) w = cross<A>(a, b, low, w);
    } else if (to < low) {
      w = cross<A>(a, b, low, w);
    } else if (to > high) {
      w = cross<A>(a, b, high, w);
    }
    if (to >= low && to <= high) {
      w[0] = b[0];
      w[1] = b[1];
      w += 2;
    }
  }
  out.resize(static_cast<size_t>(w - out.data()));
}

/** Narrows the span t0..t1 of a segment to its part on the inner side of one border (Liang-Barsky). */
inline bool narrow(double direction, double distance, double& t0, double& t1) {
  if (direction == 0) return distance >= 0;
  const double t = distance / direction;
  if (direction < 0) {
    if (t > t1) return false;
    if (t > t0) t0 = t;
  } else {
    if (t < t0) return false;
    if (t < t1) t1 = t;
  }
  return true;
}

class PartWriter {
 public:
  PartWriter(Coordinates& out, std::vector<uint32_t>& ends) : out_(out), ends_(ends) {}
  void add(double x, double y) {
    out_.push_back(x);
    out_.push_back(y);
  }
  void finish() {
    if (out_.size() - begin_ >= 4) {
      ends_.push_back(static_cast<uint32_t>(out_.size() / 2));
    } else {
      out_.resize(begin_);
    }
    begin_ = out_.size();
  }

 private:
  Coordinates& out_;
  std::vector<uint32_t>& ends_;
  size_t begin_ = 0;
};

/** A bit for each side of the box that a position is beyond. */
inline unsigned beyond(double x, double y, const Box& box) {
  return static_cast<unsigned>(x < box.minX) | static_cast<unsigned>(x > box.maxX) << 1 |
         static_cast<unsigned>(y < box.minY) << 2 | static_cast<unsigned>(y > box.maxY) << 3;
}

}  // namespace

size_t copyNear(const Sequence& sequence, const Box& box, double* out) {
  const double* begin = out;
  unsigned shared = 0;
  bool second = false;
  for (size_t i = 0; i < sequence.count; ++i) {
    const double x = sequence.x(i);
    const double y = sequence.y(i);
    const unsigned sides = beyond(x, y, box);
    shared &= sides;
    if (shared == 0) {
      shared = sides;
      second = false;
    } else if (second) {
      out -= 2;
    } else {
      second = true;
    }
    out[0] = x;
    out[1] = y;
    out += 2;
  }
  return static_cast<size_t>(out - begin) / 2;
}

void clipRing(Coordinates& ring, Coordinates& scratch, double low, double high) {
  if (ring.empty()) return;
  clipStripe<0>(ring, scratch, low, high);
  if (scratch.empty()) {
    ring.clear();
    return;
  }
  clipStripe<1>(scratch, ring, low, high);
}

void clipLine(const double* xy, size_t n, double low, double high, Coordinates& out, std::vector<uint32_t>& ends) {
  out.clear();
  ends.clear();
  PartWriter part(out, ends);
  // True while the last written position is the start of the next segment.
  bool joined = false;
  for (size_t i = 1; i < n; ++i) {
    const double* a = xy + 2 * (i - 1);
    const double dx = a[2] - a[0];
    const double dy = a[3] - a[1];
    double t0 = 0;
    double t1 = 1;
    if (!narrow(-dx, a[0] - low, t0, t1) || !narrow(dx, high - a[0], t0, t1) || !narrow(-dy, a[1] - low, t0, t1) ||
        !narrow(dy, high - a[1], t0, t1)) {
      if (joined) part.finish();
      joined = false;
      continue;
    }
    // Clamped: next to a far end the product is coarser than the distance to the border.
    const auto addAt = [&](double t) {
      part.add(std::clamp(a[0] + dx * t, low, high), std::clamp(a[1] + dy * t, low, high));
    };
    if (!joined || t0 > 0) {
      part.finish();
      addAt(t0);
    }
    joined = t1 == 1;
    if (joined) {
      part.add(a[2], a[3]);
    } else {
      addAt(t1);
      part.finish();
    }
  }
  part.finish();
}

}  // namespace graticule
