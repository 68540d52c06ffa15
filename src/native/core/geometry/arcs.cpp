#include "arcs.h"

#include <algorithm>
#include <cmath>

namespace graticule {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kMaxStep = kPi / 2 / kChordsPerQuarter;
/** Arcs that are flatter than this are straight: their centre cannot be computed. */
constexpr double kFlat = 1e-8;
/**
 * Steps by which an angle can exceed an integer number of steps without another chord, because coordinates are
 * rounded.
 */
constexpr double kAngleNoise = 1e-6;

struct Circle {
  double x;
  double y;
  double radius;
};

bool isFullCircle(const double* a, const double* c) { return a[0] == c[0] && a[1] == c[1]; }

/** The circle through three positions; false when they are on a line, or are not numbers. */
bool circleOf(const double* a, const double* b, const double* c, Circle& circle, bool& clockwise) {
  const double bx = b[0] - a[0];
  const double by = b[1] - a[1];
  const double bb = bx * bx + by * by;
  clockwise = false;
  if (isFullCircle(a, c)) {
    circle = {a[0] + bx / 2, a[1] + by / 2, std::sqrt(bb) / 2};
    return std::isfinite(circle.radius) && circle.radius > 0;
  }
  const double cx = c[0] - a[0];
  const double cy = c[1] - a[1];
  const double cc = cx * cx + cy * cy;
  const double d = 2 * (bx * cy - cx * by);
  if (!(std::fabs(d) > kFlat * (bb + cc))) return false;
  circle.x = a[0] + (bb * cy - cc * by) / d;
  circle.y = a[1] - (bb * cx - cc * bx) / d;
  circle.radius = std::hypot(circle.x - a[0], circle.y - a[1]);
  clockwise = d < 0;
  return std::isfinite(circle.radius);
}

/** Angle between 0 and a full turn, in the direction of the sweep. */
double turned(double from, double to, bool clockwise) {
  double angle = clockwise ? from - to : to - from;
  if (angle <= 0) angle += 2 * kPi;
  return angle;
}

class Arc {
 public:
  Arc(const double* a, const double* b, const double* c, const Circle& circle, bool clockwise)
      : a_(a), b_(b), c_(c), circle_(circle), clockwise_(clockwise), start_(angleOf(a)) {
    const bool full = isFullCircle(a, c);
    total_ = full ? 2 * kPi : turned(start_, angleOf(c), clockwise);
    middle_ = full ? kPi : turned(start_, angleOf(b), clockwise);
  }

  int chords() const { return std::max(1, static_cast<int>(std::ceil(total_ / kMaxStep - kAngleNoise))); }

  /** Writes position `i` of `n`. */
  void position(int i, int n, double* out, size_t ordinates) const {
    const double turn = total_ * i / n;
    const double angle = clockwise_ ? start_ - turn : start_ + turn;
    out[0] = circle_.x + circle_.radius * std::cos(angle);
    out[1] = circle_.y + circle_.radius * std::sin(angle);
    const bool first = turn < middle_;
    const double* from = first ? a_ : b_;
    const double* to = first ? b_ : c_;
    const double length = first ? middle_ : total_ - middle_;
    const double share = length > 0 ? (first ? turn : turn - middle_) / length : 0;
    for (size_t k = 2; k < ordinates; ++k) out[k] = from[k] + (to[k] - from[k]) * share;
  }

 private:
  double angleOf(const double* p) const { return std::atan2(p[1] - circle_.y, p[0] - circle_.x); }

  const double* a_;
  const double* b_;
  const double* c_;
  Circle circle_;
  bool clockwise_;
  double start_;
  double total_;
  double middle_;
};

}  // namespace

void appendArc(std::vector<double>& out, const double* a, const double* b, const double* c, size_t ordinates) {
  Circle circle;
  bool clockwise = false;
  // Neighbours share an edge, one of them in the opposite direction: both get the same doubles.
  const bool reversed = c[0] < a[0] || (c[0] == a[0] && c[1] < a[1]);
  const double* first = reversed ? c : a;
  const double* last = reversed ? a : c;
  if (!circleOf(first, b, last, circle, clockwise)) {
    out.insert(out.end(), b, b + ordinates);
  } else {
    const Arc arc(first, b, last, circle, clockwise);
    const int n = arc.chords();
    for (int i = 1; i < n; ++i) {
      double position[4];
      arc.position(reversed ? n - i : i, n, position, ordinates);
      out.insert(out.end(), position, position + ordinates);
    }
  }
  out.insert(out.end(), c, c + ordinates);
}

}  // namespace graticule
