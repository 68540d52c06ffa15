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

/** The plane that touches the sphere at the centre of a face: x goes along the i axis, y is counterclockwise of it. */
struct Plane {
  Vector x;
  Vector y;
};

/** Where a base cell lies on a face: how many times its digits turn by 60 degrees, counterclockwise, from the face's. */
struct Base {
  uint8_t cell;
  uint8_t turns;
};

/**
 * The base cells that a face reaches, by place: its centre; next to that along i, j and k; between two of these
 * (ij, jk, ik); its corners, which are pentagons; and those over the edges, of whose cells some reach in.
 */
constexpr int kPlaces = 16;
constexpr int kFirstCorner = 7;
constexpr int kFirstOutside = 10;
extern const Axial kPlacePositions[kPlaces];
extern const Base kBases[kFaces][kPlaces];

/** What becomes of each digit when the grid is turned by 60 degrees, counterclockwise, so many times. */
extern const uint8_t kTurned[6][8];
/** Digits of the children that lie from the corners on i, j and k towards the centre of the face. */
constexpr uint8_t kInwards[3] = {3, 5, 6};
/** The digit that pentagons have not, and what lies beside it, clockwise and counterclockwise. */
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
  /** Of even resolutions, and of odd ones, whose grid is turned. */
  Plane planes[2][kFaces];
  /** Normals of the planes through the centre of the sphere and the edges: opposite of the corners i, j and k, outwards. */
  Vector edges[kFaces][3];
  /** Steps of the grid per unit of the plane, by resolution. */
  double scales[kMaxResolution + 1];

  Faces();
  Vector centre(int face) const { return {x[face], y[face], z[face]}; }
};

const Faces& faces();

/** How far the grids of odd resolutions are turned, counterclockwise: asin(sqrt(3 / 28)). */
extern const double kOddTurn;

}  // namespace h3
}  // namespace graticule
