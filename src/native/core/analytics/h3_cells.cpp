#include "h3_cells.h"

#include <algorithm>
#include <cmath>

#include "h3api.h"

// Inner functions of the library, whose headers are C and no C++: faceijk.h, baseCells.h, vec3d.h.
extern "C" {
struct Vec3d {
  double x, y, z;
};
struct CoordIJK {
  int i, j, k;
};
struct FaceIJK {
  int face;
  CoordIJK coord;
};
void _faceIjkToVec3(const FaceIJK* h, int res, Vec3d* g);
int _faceIjkToBaseCell(const FaceIJK* h);
int _faceIjkToBaseCellCCWrot60(const FaceIJK* h);
int _isBaseCellPentagon(int baseCell);
}

namespace graticule {
namespace {

constexpr double kRadiansPerDegree = 0.017453292519943295769;
constexpr int kFaces = 20;
/** How far the grids of odd resolutions are turned: asin(sqrt(3 / 28)). */
const double kOddTurn = std::asin(std::sqrt(3.0 / 28));
/** Cells of resolution 0 per unit of the gnomonic plane. */
const double kRootScale = (3 + std::sqrt(5.0)) / 2;

/** Sines and cosines of the plane of one face: tangent to the sphere at its centre, x along the i axis. */
struct Plane {
  double x[3];
  double y[3];
};

double dot(const double* a, double x, double y, double z) { return a[0] * x + a[1] * y + a[2] * z; }

/** The faces of the icosahedron, as the library has them. */
struct Faces {
  /** Centres, axis by axis, so that one instruction compares several. */
  double x[kFaces];
  double y[kFaces];
  double z[kFaces];
  /** Of even resolutions, and of odd ones, whose grid is turned. */
  Plane planes[2][kFaces];
  /** Units of the grid per unit of the plane. */
  double scales[kMaxH3Resolution + 1];

  Faces() {
    for (int face = 0; face < kFaces; ++face) {
      const Vec3d c = place(face, 0);
      const Vec3d i = place(face, 1);
      x[face] = c.x;
      y[face] = c.y;
      z[face] = c.z;
      const double along = c.x * i.x + c.y * i.y + c.z * i.z;
      Vec3d u{i.x - along * c.x, i.y - along * c.y, i.z - along * c.z};
      const double length = std::sqrt(u.x * u.x + u.y * u.y + u.z * u.z);
      u = {u.x / length, u.y / length, u.z / length};
      const Vec3d v{c.y * u.z - c.z * u.y, c.z * u.x - c.x * u.z, c.x * u.y - c.y * u.x};
      planes[0][face] = turned(u, v, 0);
      planes[1][face] = turned(u, v, kOddTurn);
    }
    scales[0] = kRootScale;
    for (int r = 1; r <= kMaxH3Resolution; ++r) scales[r] = scales[r - 1] * std::sqrt(7.0);
  }

  int nearest(double px, double py, double pz) const {
    double dots[kFaces];
    for (int i = 0; i < kFaces; ++i) dots[i] = x[i] * px + y[i] * py + z[i] * pz;
    int best = 0;
    for (int i = 1; i < kFaces; ++i) best = dots[i] > dots[best] ? i : best;
    return best;
  }

 private:
  static Vec3d place(int face, int i) {
    const FaceIJK at{face, {i, 0, 0}};
    Vec3d point;
    _faceIjkToVec3(&at, 0, &point);
    return point;
  }

  static Plane turned(const Vec3d& u, const Vec3d& v, double angle) {
    const double c = std::cos(angle);
    const double s = std::sin(angle);
    return {{u.x * c + v.x * s, u.y * c + v.y * s, u.z * c + v.z * s},
            {v.x * c - u.x * s, v.y * c - u.y * s, v.z * c - u.z * s}};
  }
};

/** A cell of the hexagonal grid by the axes i and j, which are 120 degrees apart; k is folded into both. */
struct Axial {
  int64_t i;
  int64_t j;
};

/** The cell whose centre is nearest. */
Axial roundToCell(double x, double y) {
  const double r = y * (2 / std::sqrt(3.0));
  const double q = x - r / 2;
  const double s = -q - r;
  double roundQ = std::nearbyint(q);
  double roundR = std::nearbyint(r);
  const double roundS = std::nearbyint(s);
  const double errorQ = std::fabs(roundQ - q);
  const double errorR = std::fabs(roundR - r);
  const double errorS = std::fabs(roundS - s);
  if (errorQ > errorR && errorQ > errorS) {
    roundQ = -roundR - roundS;
  } else if (errorR > errorS) {
    roundR = -roundQ - roundS;
  }
  return {static_cast<int64_t>(roundQ + roundR), static_cast<int64_t>(roundR)};
}

/** The nearest whole number to a seventh. Seven is odd, so there are no ties. */
int64_t seventh(int64_t n) {
  constexpr int64_t kShift = int64_t{7} << 40;
  return static_cast<int64_t>(static_cast<uint64_t>(n + 3 + kShift) / 7) - (int64_t{1} << 40);
}

/** Digits by the step from a parent's centre: (i + 1) * 3 + j + 1. */
constexpr uint64_t kDigits[] = {1, 3, 0, 5, 0, 2, 0, 4, 6};
/** What becomes of each digit when the grid is turned by 60 degrees, counterclockwise, so many times. */
constexpr uint64_t kTurned[6][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {0, 5, 3, 1, 6, 4, 2, 7}, {0, 4, 1, 5, 2, 6, 3, 7},
                                    {0, 6, 5, 4, 3, 2, 1, 7}, {0, 2, 4, 6, 1, 3, 5, 7}, {0, 3, 6, 2, 5, 1, 4, 7}};

constexpr uint64_t kEmptyCell = (uint64_t{1} << 45) - 1;
constexpr int kModeShift = 59;
constexpr int kResolutionShift = 52;
constexpr int kBaseCellShift = 45;
constexpr int kDigitBits = 3;

/**
 * The cell of a place on the unit sphere. What the library does by angles is linear in the gnomonic plane of a face; cells
 * of the twelve pentagons, whose digits skip, are left to the library (0 here).
 */
uint64_t cellAt(const Faces& faces, double x, double y, double z, int resolution) {
  const int face = faces.nearest(x, y, z);
  const Plane& plane = faces.planes[resolution & 1][face];
  const double depth = faces.x[face] * x + faces.y[face] * y + faces.z[face] * z;
  const double scale = faces.scales[resolution] / depth;
  Axial cell = roundToCell(dot(plane.x, x, y, z) * scale, dot(plane.y, x, y, z) * scale);
  uint64_t digits = 0;
  for (int r = resolution, shift = kDigitBits * (kMaxH3Resolution - resolution); r > 0; --r, shift += kDigitBits) {
    const bool odd = (r & 1) != 0;
    const Axial up = odd ? Axial{seventh(3 * cell.i - cell.j), seventh(cell.i + 2 * cell.j)}
                         : Axial{seventh(2 * cell.i + cell.j), seventh(3 * cell.j - cell.i)};
    const Axial centre = odd ? Axial{2 * up.i + up.j, 3 * up.j - up.i} : Axial{3 * up.i - up.j, up.i + 2 * up.j};
    digits |= kDigits[(cell.i - centre.i + 1) * 3 + cell.j - centre.j + 1] << shift;
    cell = up;
  }
  const int64_t least = std::min<int64_t>({cell.i, cell.j, 0});
  const FaceIJK base{face, {static_cast<int>(cell.i - least), static_cast<int>(cell.j - least), static_cast<int>(-least)}};
  if (base.coord.i > 2 || base.coord.j > 2 || base.coord.k > 2) return 0;
  const int baseCell = _faceIjkToBaseCell(&base);
  if (_isBaseCellPentagon(baseCell) != 0) return 0;
  const uint64_t* turned = kTurned[_faceIjkToBaseCellCCWrot60(&base)];
  uint64_t index = uint64_t{1} << kModeShift | static_cast<uint64_t>(resolution) << kResolutionShift |
                   static_cast<uint64_t>(baseCell) << kBaseCellShift;
  const int unused = kDigitBits * (kMaxH3Resolution - resolution);
  for (int shift = unused; shift < kBaseCellShift; shift += kDigitBits) {
    index |= turned[digits >> shift & 7] << shift;
  }
  return index | (kEmptyCell & ((uint64_t{1} << unused) - 1));
}

}  // namespace

void h3Cells(const double* positions, size_t n, int resolution, uint64_t* cells) {
  static const Faces faces;
  for (size_t i = 0; i < n; ++i) {
    const LatLng place{positions[2 * i + 1] * kRadiansPerDegree, positions[2 * i] * kRadiansPerDegree};
    cells[i] = 0;
    if (!std::isfinite(place.lat) || !std::isfinite(place.lng)) continue;
    const double cosine = std::cos(place.lat);
    cells[i] = cellAt(faces, cosine * std::cos(place.lng), cosine * std::sin(place.lng), std::sin(place.lat), resolution);
    if (cells[i] == 0 && latLngToCell(&place, resolution, cells + i) != E_SUCCESS) cells[i] = 0;
  }
}

int h3Boundary(uint64_t cell, double* positions) {
  CellBoundary boundary;
  if (isValidCell(cell) == 0 || cellToBoundary(cell, &boundary) != E_SUCCESS) return 0;
  for (int i = 0; i < boundary.numVerts; ++i) {
    positions[2 * i] = boundary.verts[i].lng / kRadiansPerDegree;
    positions[2 * i + 1] = boundary.verts[i].lat / kRadiansPerDegree;
  }
  return boundary.numVerts;
}

}  // namespace graticule
