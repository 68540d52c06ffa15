#include <algorithm>
#include <cmath>

#include "h3_cells.h"
#include "h3_grid.h"

namespace graticule {
namespace {

using namespace h3;

constexpr double kRadiansPerDegree = 0.017453292519943295769;
constexpr double kDegree60 = 60 * kRadiansPerDegree;
/** Distances from the centre of a cell to its corners and edges, in steps of the grid. */
const double kCornerRadius = 1 / std::sqrt(3.0);
constexpr double kEdgeRadius = 0.5;
/** Distance from an edge of the icosahedron, in steps of the grid, within which a point counts as on the edge. */
constexpr double kOnEdge = 1e-5;

struct Point {
  double x, y;
};

/** Steps from a parent's centre by digit. */
constexpr Axial kSteps[] = {{0, 0}, {-1, -1}, {0, 1}, {-1, 0}, {1, 0}, {0, -1}, {1, 1}};

/** A base cell as a face has it. */
struct Site {
  int face;
  int place;
  int turns;
};

/** Position of a base cell. For a pentagon, the corner whose face contains the digit. */
Site findSite(int baseCell, int digit) {
  for (int face = 0; face < kFaces; ++face) {
    for (int place = 0; place < kFirstOutside; ++place) {
      const Base& base = kBases[face][place];
      if (base.cell != baseCell) continue;
      if (place < kFirstCorner || digit == 0 || kTurned[base.turns][kInwards[place - kFirstCorner]] == digit) {
        return {face, place, base.turns};
      }
    }
  }
  return {-1, 0, 0};
}

/** The same, by base cell and digit. */
const Site& siteOf(int baseCell, int digit) {
  struct Sites {
    Site all[kBaseCells][7];
    Sites() {
      for (int cell = 0; cell < kBaseCells; ++cell) {
        for (int at = 0; at < 7; ++at) all[cell][at] = findSite(cell, at);
      }
    }
  };
  static const Sites sites;
  return sites.all[baseCell][digit];
}

/** The directions from the centre of a face to the middles of its edges, away from the corners on i, j and k. */
struct Outwards {
  Point edges[2][3];
  Outwards() {
    for (int odd = 0; odd < 2; ++odd) {
      for (int edge = 0; edge < 3; ++edge) {
        const double angle = 3 * kDegree60 + 2 * kDegree60 * edge - (odd != 0 ? kOddTurn : 0);
        edges[odd][edge] = {std::cos(angle), std::sin(angle)};
      }
    }
  }
};

const Outwards& outwards() {
  static const Outwards all;
  return all;
}

/** Corners of a cell, in the order of their computation. */
class Ring {
 public:
  Ring(int face, int resolution, double* positions)
      : all_(faces()),
        plane_(all_.planes[resolution & 1][face]),
        outwards_(outwards().edges[resolution & 1]),
        face_(face),
        scale_(all_.scales[resolution]),
        middle_(scale_ / all_.scales[0]),
        positions_(positions) {}

  /** Whether everything within a step of a point is on the face. */
  bool holdsAround(const Point& point) const { return beyond(point, furthestEdge(point)) < -1; }

  /** Adds a point of the grid's plane that is on the face. */
  void addOnFace(const Point& point) { write(onSphere(point)); }

  /** Adds a point of the grid's plane. Points beyond an edge are mirrored there. */
  void add(const Point& point) {
    const int edge = furthestEdge(point);
    if (beyond(point, edge) < kOnEdge) return addOnFace(point);
    const Vector& normal = all_.edges[face_][edge];
    const Vector inside = onSphere(mirrored(point, edge));
    const double depth = 2 * dot(inside, normal);
    write({inside.x - depth * normal.x, inside.y - depth * normal.y, inside.z - depth * normal.z});
  }

  /** Adds the points at which the segment from a to b crosses an edge of the face. */
  void addCrossing(const Point& a, const Point& b) {
    for (int edge = 0; edge < 3; ++edge) {
      const double before = beyond(a, edge);
      const double after = beyond(b, edge);
      if (std::min(before, after) > -kOnEdge || std::max(before, after) < kOnEdge) continue;
      const double share = before / (before - after);
      const Point at{a.x + share * (b.x - a.x), a.y + share * (b.y - a.y)};
      if (beyond(at, furthestEdge(at)) < kOnEdge) addOnFace(at);
    }
  }

  int size() const { return size_; }

 private:
  /** Distance of a point beyond an edge, in steps. */
  double beyond(const Point& point, int edge) const {
    return point.x * outwards_[edge].x + point.y * outwards_[edge].y - middle_;
  }

  /** Returns the edge that a point is furthest beyond, or nearest to. */
  int furthestEdge(const Point& point) const {
    int furthest = 0;
    for (int edge = 1; edge < 3; ++edge) {
      if (beyond(point, edge) > beyond(point, furthest)) furthest = edge;
    }
    return furthest;
  }

  Point mirrored(const Point& point, int edge) const {
    const double over = 2 * beyond(point, edge);
    return {point.x - over * outwards_[edge].x, point.y - over * outwards_[edge].y};
  }

  Vector onSphere(const Point& point) const {
    const double x = point.x / scale_;
    const double y = point.y / scale_;
    const Vector v{all_.x[face_] + plane_.x.x * x + plane_.y.x * y, all_.y[face_] + plane_.x.y * x + plane_.y.y * y,
                   all_.z[face_] + plane_.x.z * x + plane_.y.z * y};
    const double length = std::sqrt(dot(v, v));
    return {v.x / length, v.y / length, v.z / length};
  }

  void write(const Vector& v) {
    positions_[2 * size_] = std::atan2(v.y, v.x) / kRadiansPerDegree;
    positions_[2 * size_ + 1] = std::atan2(v.z, std::hypot(v.x, v.y)) / kRadiansPerDegree;
    ++size_;
  }

  const Faces& all_;
  const Plane& plane_;
  const Point* outwards_;
  int face_;
  double scale_;
  /** From the centre of the face to the middle of an edge, in steps. */
  double middle_;
  double* positions_;
  int size_ = 0;
};

Point centreOf(const Site& site, uint64_t digits, int resolution) {
  const uint64_t own = turnDigits(digits, resolution, (6 - site.turns) % 6);
  Axial at = kPlacePositions[site.place];
  for (int r = 1; r <= resolution; ++r) {
    const Axial& step = kSteps[own >> unusedBits(r) & 7];
    at = (r & 1) != 0 ? Axial{2 * at.i + at.j + step.i, 3 * at.j - at.i + step.j}
                      : Axial{3 * at.i - at.j + step.i, at.i + 2 * at.j + step.j};
  }
  return {static_cast<double>(at.i) - static_cast<double>(at.j) / 2, static_cast<double>(at.j) * std::sqrt(0.75)};
}

Point fromCentre(const Point& centre, double radius, double angle) {
  return {centre.x + radius * std::cos(angle), centre.y + radius * std::sin(angle)};
}

/** The corners of a hexagon about the middle of the grid, counterclockwise. */
struct Hexagon {
  Point corners[6];
  Hexagon() {
    for (int i = 0; i < 6; ++i) corners[i] = fromCentre({0, 0}, kCornerRadius, kDegree60 / 2 + i * kDegree60);
  }
};

int hexagon(const Site& site, const Point& centre, int resolution, double* positions) {
  static const Hexagon about;
  Point corners[6];
  for (int i = 0; i < 6; ++i) corners[i] = {centre.x + about.corners[i].x, centre.y + about.corners[i].y};
  Ring ring(site.face, resolution, positions);
  const bool onFace = ring.holdsAround(centre);
  for (int i = 0; i < 6; ++i) {
    if (onFace) {
      ring.addOnFace(corners[i]);
    } else {
      ring.addCrossing(corners[(i + 5) % 6], corners[i]);
      ring.add(corners[i]);
    }
  }
  return ring.size();
}

/**
 * Writes a pentagon at a corner of five faces. Each face contributes the point where the outline enters it and, at
 * odd resolutions with their rotated grid, the corner inside it.
 */
int pentagon(int baseCell, int resolution, double* positions) {
  constexpr uint8_t kCounterclockwise[] = {5, 4, 6, 2, 3};
  const bool odd = (resolution & 1) != 0;
  const double turn = odd ? kOddTurn : 0;
  int size = 0;
  for (const uint8_t digit : kCounterclockwise) {
    const Site site = siteOf(baseCell, digit);
    const Point centre = centreOf(site, 0, resolution);
    Ring ring(site.face, resolution, positions + 2 * size);
    // From the corner the face is 30 degrees to both sides of the way to its centre.
    const double begin = 3 * kDegree60 + 2 * kDegree60 * (site.place - kFirstCorner) - kDegree60 / 2 - turn;
    const double fromEdge = std::remainder(begin, kDegree60);
    ring.add(fromCentre(centre, kEdgeRadius / std::cos(fromEdge), begin));
    if (odd) ring.add(fromCentre(centre, kCornerRadius, begin - fromEdge + kDegree60 / 2));
    size += ring.size();
  }
  return size;
}

bool isCell(uint64_t cell) {
  const int resolution = static_cast<int>(cell >> kResolutionShift & 15);
  const int baseCell = static_cast<int>(cell >> kBaseCellShift & 127);
  if (cell >> (kResolutionShift + 4) != kCellMode << (kModeShift - kResolutionShift - 4) || baseCell >= kBaseCells) return false;
  for (int r = 1; r <= kMaxResolution; ++r) {
    const bool used = r <= resolution;
    if (((cell >> unusedBits(r) & 7) != 7) != used) return false;
  }
  return !isPentagon(baseCell) || leadingDigit(cell & kNoDigits, resolution) != kMissing;
}

}  // namespace

int h3Boundary(uint64_t cell, double* positions) {
  if (!isCell(cell)) return 0;
  const int resolution = static_cast<int>(cell >> kResolutionShift & 15);
  const int baseCell = static_cast<int>(cell >> kBaseCellShift & 127);
  const uint64_t digits = cell & kNoDigits;
  const int leading = leadingDigit(digits, resolution);
  if (leading == 0 && isPentagon(baseCell)) return pentagon(baseCell, resolution, positions);
  const Site site = siteOf(baseCell, leading);
  return hexagon(site, centreOf(site, digits, resolution), resolution, positions);
}

}  // namespace graticule
