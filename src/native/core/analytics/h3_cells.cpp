#include "h3_cells.h"

#include <algorithm>
#include <cmath>

#include "h3_grid.h"

namespace graticule {
namespace {

using namespace h3;

constexpr double kRadiansPerDegree = 0.017453292519943295769;

int nearestFace(const Faces& all, const Vector& place) {
  double dots[kFaces];
  for (int i = 0; i < kFaces; ++i) dots[i] = all.x[i] * place.x + all.y[i] * place.y + all.z[i] * place.z;
  int best = 0;
  for (int i = 1; i < kFaces; ++i) best = dots[i] > dots[best] ? i : best;
  return best;
}

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

/** Returns the nearest integer to a seventh. There are no ties, because seven is odd. */
int64_t seventh(int64_t n) {
  constexpr int64_t kShift = int64_t{7} << 40;
  return static_cast<int64_t>(static_cast<uint64_t>(n + 3 + kShift) / 7) - (int64_t{1} << 40);
}

/** Digits by the step from a parent's centre: (i + 1) * 3 + j + 1. */
constexpr uint64_t kDigits[] = {1, 3, 0, 5, 0, 2, 0, 4, 6};

/** Places on a face by position: (i + 2) * 5 + j + 2; -1 where a face reaches no base cell. */
constexpr int8_t kPlaceAt[] = {9, 13, -1, -1, -1, 14, 3, 5, 12, -1, -1, 6, 0, 2, 8, -1, 15, 1, 4, 11, -1, -1, 7, 10, -1};

/** The digits of a cell in the frame of a face; `cell` becomes its base cell's position. */
uint64_t takeDigits(Axial* cell, int resolution) {
  uint64_t digits = 0;
  for (int r = resolution, shift = unusedBits(resolution); r > 0; --r, shift += kDigitBits) {
    const bool odd = (r & 1) != 0;
    const Axial up = odd ? Axial{seventh(3 * cell->i - cell->j), seventh(cell->i + 2 * cell->j)}
                         : Axial{seventh(2 * cell->i + cell->j), seventh(3 * cell->j - cell->i)};
    const Axial centre = odd ? Axial{2 * up.i + up.j, 3 * up.j - up.i} : Axial{3 * up.i - up.j, up.i + 2 * up.j};
    digits |= kDigits[(cell->i - centre.i + 1) * 3 + cell->j - centre.j + 1] << shift;
    *cell = up;
  }
  return digits;
}

/**
 * Rotates the digits of a cell of a pentagon from the frame of a face at that corner. A face is a sixth of the
 * hexagon that the pentagon would be, around one digit. A cell beyond the edge of its face, in the missing sixth,
 * belongs to the face behind it.
 */
uint64_t turnInPentagon(uint64_t digits, int resolution, int corner, int turns) {
  const uint64_t turned = turnDigits(digits, resolution, turns);
  if (leadingDigit(turned, resolution) != kMissing) return turned;
  const bool clockwise = kTurned[turns][kInwards[corner]] == kAfterMissing;
  return turnDigits(turned, resolution, clockwise ? 5 : 1);
}

/** The cell of a place on the unit sphere; 0 where there is none. */
uint64_t cellAt(const Faces& all, const Vector& place, int resolution) {
  const int face = nearestFace(all, place);
  const Plane& plane = all.planes[resolution & 1][face];
  const double scale = all.scales[resolution] / dot(all.centre(face), place);
  Axial cell = roundToCell(dot(plane.x, place) * scale, dot(plane.y, place) * scale);
  const uint64_t digits = takeDigits(&cell, resolution);
  if (std::max(std::abs(cell.i), std::abs(cell.j)) > 2) return 0;
  const int at = kPlaceAt[(cell.i + 2) * 5 + cell.j + 2];
  if (at < 0) return 0;
  const Base& base = kBases[face][at];
  const bool atCorner = at >= kFirstCorner && at < kFirstOutside;
  const uint64_t turned = atCorner ? turnInPentagon(digits, resolution, at - kFirstCorner, base.turns)
                                   : turnDigits(digits, resolution, base.turns);
  return kCellMode << kModeShift | static_cast<uint64_t>(resolution) << kResolutionShift |
         static_cast<uint64_t>(base.cell) << kBaseCellShift | turned |
         (kNoDigits & ((uint64_t{1} << unusedBits(resolution)) - 1));
}

}  // namespace

void h3Cells(const double* positions, size_t n, int resolution, uint64_t* cells) {
  const Faces& all = faces();
  for (size_t i = 0; i < n; ++i) {
    const double lon = positions[2 * i] * kRadiansPerDegree;
    const double lat = positions[2 * i + 1] * kRadiansPerDegree;
    cells[i] = 0;
    if (!std::isfinite(lat) || !std::isfinite(lon)) continue;
    const double cosine = std::cos(lat);
    cells[i] = cellAt(all, {cosine * std::cos(lon), cosine * std::sin(lon), std::sin(lat)}, resolution);
  }
}

}  // namespace graticule
