// The grid that H3 defines: an icosahedron whose faces carry hexagons, seven of each in one of the level above, turned.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graticule {
namespace h3 {

constexpr int kFaces = 20;
constexpr int kBaseCells = 122;
constexpr int kMaxResolution = 15;
/** A cell is a number: mode, resolution, base cell, then 15 digits of three bits, 7 where there is none. */
constexpr int kModeShift = 59;
constexpr int kResolutionShift = 52;
constexpr int kBaseCellShift = 45;
constexpr int kDigitBits = 3;
constexpr uint64_t kCellMode = 1;
constexpr uint64_t kNoDigits = (uint64_t{1} << kBaseCellShift) - 1;

constexpr int unusedBits(int resolution) { return kDigitBits * (kMaxResolution - resolution); }

/** A position on the grid of a face, by the axes i and j, which are 120 degrees apart; k is folded into both. */
struct Axial {
  int64_t i;
  int64_t j;
};

struct Vector {
  double x, y, z;
};

inline double dot(const Vector& a, const Vector& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

/** Plane that touches the sphere at the centre of a face. x is along the i axis, y is counterclockwise of it. */
struct Plane {
  Vector x;
  Vector y;
};

/**
 * Base cell on a face: its number, and the number of counterclockwise turns by 60 degrees between the face's digits
 * and its own.
 */
struct Base {
  uint8_t cell;
  uint8_t turns;
};

/**
 * Base cells that a face reaches, by index. First the centre, followed by the cells next to it along i, j and k, and
 * the cells between two of these (ij, jk, ik). Then the corners, which are pentagons, and the cells beyond the edges,
 * some of whose child cells are on the face.
 */
constexpr int kPlaces = 16;
constexpr int kFirstCorner = 7;
constexpr int kFirstOutside = 10;
extern const Axial kPlacePositions[kPlaces];
extern const Base kBases[kFaces][kPlaces];

/** Digits after this number of counterclockwise turns of the grid by 60 degrees. */
extern const uint8_t kTurned[6][8];
/** Digits of the children from the corners on i, j and k towards the centre of the face. */
constexpr uint8_t kInwards[3] = {3, 5, 6};
/** Digit that pentagons lack, and the digits next to it, clockwise and counterclockwise. */
constexpr uint8_t kMissing = 1;
constexpr uint8_t kBeforeMissing = 3;
constexpr uint8_t kAfterMissing = 5;

/** All digits below a base cell, turned so many times. */
uint64_t turnDigits(uint64_t digits, int resolution, int turns);

/** The first digit that is not 0, or 0. */
inline int leadingDigit(uint64_t digits, int resolution) {
  const int last = unusedBits(resolution);
  for (int shift = kBaseCellShift - kDigitBits; shift >= last; shift -= kDigitBits) {
    const int digit = static_cast<int>(digits >> shift & 7);
    if (digit != 0) return digit;
  }
  return 0;
}

bool isPentagon(int baseCell);

/** The faces, for computing with. */
struct Faces {
  /** Centres, axis by axis, so that one instruction compares several. */
  double x[kFaces];
  double y[kFaces];
  double z[kFaces];
  /** Planes for even resolutions, and for odd resolutions, whose grid is rotated. */
  Plane planes[2][kFaces];
  /** Normals of the planes through the centre of the sphere and the edges: opposite of the corners i, j and k, outwards. */
  Vector edges[kFaces][3];
  /** Steps of the grid per unit of the plane, by resolution. */
  double scales[kMaxResolution + 1];

  Faces();
  Vector centre(int face) const { return {x[face], y[face], z[face]}; }
};

const Faces& faces();

/** Counterclockwise rotation of the grids of odd resolutions: asin(sqrt(3 / 28)). */
extern const double kOddTurn;

}  // namespace h3
}  // namespace graticule
