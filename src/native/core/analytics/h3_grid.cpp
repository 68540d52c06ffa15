#include "h3_grid.h"

#include <cmath>

namespace graticule {
namespace h3 {
namespace {

/** Half of the corners of the icosahedron. The other corners are opposite: corner 11 - n is opposite n. */
constexpr Vector kCorners[] = {
    {0.42015242670871017, 0.078145249402783321, 0.90408255061501919},
    {-0.51545595994404148, -0.38171689828713307, 0.76720099251774765},
    {-0.41468222532033522, 0.65596240543480056, 0.63067580789147537},
    {0.35578140253294438, -0.84358000246617826, 0.40223422660292540},
    {0.51883673032736455, 0.83542038037823585, 0.18133183755726209},
    {0.99500943943624154, -0.091347795276427932, 0.040147175877166548},
};

/** Corners of the faces on the axes i, j and k, counterclockwise. */
constexpr uint8_t kFaceCorners[kFaces][3] = {
    {0, 2, 1}, {0, 1, 3}, {0, 4, 2}, {0, 3, 5}, {0, 5, 4}, {1, 2, 6}, {1, 7, 3}, {1, 6, 7}, {2, 4, 8}, {2, 8, 6}, {3, 9, 5}, {3, 7, 9}, {4, 5, 10}, {4, 10, 8}, {5, 9, 10}, {6, 11, 7}, {6, 8, 11}, {7, 11, 9}, {8, 10, 11}, {9, 11, 10}};

Vector plus(const Vector& a, const Vector& b, double times) {
  return {a.x + times * b.x, a.y + times * b.y, a.z + times * b.z};
}

Vector cross(const Vector& a, const Vector& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

Vector normalized(const Vector& a) {
  const double length = std::sqrt(dot(a, a));
  return {a.x / length, a.y / length, a.z / length};
}

Vector corner(int n) { return n < 6 ? kCorners[n] : plus({0, 0, 0}, kCorners[11 - n], -1); }

Plane turned(const Plane& plane, double angle) {
  const double c = std::cos(angle);
  const double s = std::sin(angle);
  return {plus(plus({0, 0, 0}, plane.x, c), plane.y, s), plus(plus({0, 0, 0}, plane.y, c), plane.x, -s)};
}

/** Steps of resolution 0 per unit of the gnomonic plane: a corner is two steps from the centre of its face. */
const double kRootScale = (3 + std::sqrt(5.0)) / 2;

}  // namespace

const double kOddTurn = std::asin(std::sqrt(3.0 / 28));

const Axial kPlacePositions[kPlaces] = {{0, 0},  {1, 0}, {0, 1}, {-1, -1}, {1, 1},  {-1, 0},  {0, -1},  {2, 0},
                                        {0, 2}, {-2, -2}, {2, 1}, {1, 2}, {-1, 1}, {-2, -1}, {-1, -2}, {1, -1}};

// Derived from the cells of the centres of all places, and of their children, as the reference implementation gives them.
const Base kBases[kFaces][kPlaces] = {
    {{2, 0}, {0, 0}, {10, 0}, {6, 0}, {5, 0}, {11, 0}, {1, 5}, {4, 2}, {24, 1}, {14, 0}, {8, 1}, {18, 1}, {23, 3}, {17, 3}, {9, 5}, {3, 5}},
    {{7, 0}, {3, 0}, {9, 0}, {21, 0}, {1, 0}, {19, 0}, {13, 5}, {4, 3}, {14, 1}, {38, 0}, {0, 1}, {6, 1}, {20, 3}, {34, 3}, {29, 5}, {12, 5}},
    {{16, 0}, {8, 0}, {33, 0}, {18, 0}, {22, 0}, {30, 0}, {5, 5}, {4, 0}, {49, 1}, {24, 0}, {15, 1}, {41, 1}, {48, 3}, {32, 3}, {10, 5}, {0, 5}},
    {{26, 0}, {12, 0}, {29, 0}, {42, 0}, {13, 0}, {43, 0}, {28, 5}, {4, 4}, {38, 1}, {58, 0}, {3, 1}, {21, 1}, {47, 3}, {62, 3}, {44, 5}, {15, 5}},
    {{31, 0}, {15, 0}, {44, 0}, {41, 0}, {28, 0}, {53, 0}, {22, 5}, {4, 5}, {58, 1}, {49, 0}, {12, 1}, {42, 1}, {65, 3}, {61, 3}, {33, 5}, {8, 5}},
    {{25, 2}, {17, 2}, {23, 2}, {45, 2}, {11, 5}, {39, 2}, {35, 5}, {14, 5}, {24, 0}, {63, 2}, {6, 5}, {10, 5}, {37, 5}, {59, 5}, {56, 5}, {27, 5}},
    {{36, 4}, {20, 4}, {55, 4}, {34, 4}, {40, 4}, {54, 1}, {19, 1}, {14, 2}, {72, 4}, {38, 1}, {27, 1}, {60, 1}, {73, 1}, {51, 1}, {21, 1}, {9, 1}},
    {{46, 0}, {27, 0}, {56, 0}, {60, 0}, {35, 0}, {68, 3}, {40, 3}, {14, 0}, {63, 3}, {72, 4}, {17, 3}, {45, 3}, {77, 3}, {80, 3}, {55, 3}, {20, 3}},
    {{50, 2}, {32, 2}, {48, 2}, {70, 2}, {30, 5}, {67, 2}, {52, 5}, {24, 5}, {49, 0}, {83, 2}, {18, 5}, {33, 5}, {66, 5}, {87, 5}, {74, 5}, {37, 5}},
    {{57, 0}, {37, 0}, {74, 0}, {59, 0}, {52, 0}, {78, 3}, {39, 3}, {24, 0}, {83, 3}, {63, 4}, {32, 3}, {70, 3}, {92, 3}, {79, 3}, {45, 3}, {23, 3}},
    {{64, 4}, {47, 4}, {84, 4}, {62, 4}, {69, 4}, {82, 1}, {43, 1}, {38, 2}, {97, 4}, {58, 1}, {51, 1}, {89, 1}, {98, 1}, {76, 1}, {42, 1}, {29, 1}},
    {{71, 0}, {51, 0}, {73, 0}, {89, 0}, {54, 0}, {91, 3}, {69, 3}, {38, 0}, {72, 3}, {97, 4}, {34, 3}, {55, 3}, {88, 3}, {103, 3}, {84, 3}, {47, 3}},
    {{75, 2}, {61, 2}, {65, 2}, {94, 2}, {53, 5}, {86, 2}, {81, 5}, {49, 5}, {58, 0}, {107, 2}, {41, 5}, {44, 5}, {76, 5}, {104, 5}, {101, 5}, {66, 5}},
    {{85, 0}, {66, 0}, {101, 0}, {87, 0}, {81, 0}, {102, 3}, {67, 3}, {49, 0}, {107, 3}, {83, 4}, {61, 3}, {94, 3}, {112, 3}, {100, 3}, {70, 3}, {48, 3}},
    {{96, 0}, {76, 0}, {98, 0}, {104, 0}, {82, 0}, {110, 3}, {86, 3}, {58, 0}, {97, 3}, {107, 4}, {62, 3}, {84, 3}, {111, 3}, {115, 3}, {94, 3}, {65, 3}},
    {{90, 4}, {77, 4}, {106, 4}, {80, 4}, {93, 4}, {99, 5}, {68, 4}, {63, 4}, {117, 2}, {72, 5}, {79, 3}, {109, 3}, {113, 5}, {88, 5}, {60, 1}, {56, 1}},
    {{95, 2}, {79, 2}, {92, 2}, {109, 2}, {78, 2}, {108, 2}, {93, 3}, {63, 3}, {83, 2}, {117, 1}, {59, 5}, {74, 5}, {100, 1}, {118, 1}, {106, 3}, {77, 3}},
    {{105, 4}, {88, 4}, {113, 4}, {103, 4}, {99, 4}, {116, 5}, {91, 4}, {72, 4}, {117, 1}, {97, 5}, {80, 3}, {106, 3}, {121, 5}, {111, 5}, {89, 1}, {73, 1}},
    {{114, 2}, {100, 2}, {112, 2}, {118, 2}, {102, 2}, {120, 2}, {108, 3}, {83, 3}, {107, 2}, {117, 2}, {87, 5}, {101, 5}, {115, 1}, {121, 1}, {109, 3}, {92, 3}},
    {{119, 4}, {111, 4}, {121, 4}, {115, 4}, {116, 4}, {120, 5}, {110, 4}, {97, 4}, {117, 0}, {107, 5}, {103, 3}, {113, 3}, {118, 5}, {112, 5}, {104, 1}, {98, 1}},
};

const uint8_t kTurned[6][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {0, 5, 3, 1, 6, 4, 2, 7}, {0, 4, 1, 5, 2, 6, 3, 7},
                               {0, 6, 5, 4, 3, 2, 1, 7}, {0, 2, 4, 6, 1, 3, 5, 7}, {0, 3, 6, 2, 5, 1, 4, 7}};

uint64_t turnDigits(uint64_t digits, int resolution, int turns) {
  const uint8_t* turned = kTurned[turns];
  uint64_t result = 0;
  for (int shift = unusedBits(resolution); shift < kBaseCellShift; shift += kDigitBits) {
    result |= static_cast<uint64_t>(turned[digits >> shift & 7]) << shift;
  }
  return result;
}

bool isPentagon(int baseCell) {
  for (const Base(&bases)[kPlaces] : kBases) {
    for (int place = kFirstCorner; place < kFirstOutside; ++place) {
      if (bases[place].cell == baseCell) return true;
    }
  }
  return false;
}

Faces::Faces() {
  for (int face = 0; face < kFaces; ++face) {
    const Vector corners[] = {corner(kFaceCorners[face][0]), corner(kFaceCorners[face][1]), corner(kFaceCorners[face][2])};
    const Vector c = normalized(plus(plus(corners[0], corners[1], 1), corners[2], 1));
    x[face] = c.x;
    y[face] = c.y;
    z[face] = c.z;
    const Vector along = normalized(plus(corners[0], c, -dot(c, corners[0])));
    planes[0][face] = {along, cross(c, along)};
    planes[1][face] = turned(planes[0][face], kOddTurn);
    for (int edge = 0; edge < 3; ++edge) {
      edges[face][edge] = normalized(cross(corners[(edge + 2) % 3], corners[(edge + 1) % 3]));
    }
  }
  scales[0] = kRootScale;
  for (int r = 1; r <= kMaxResolution; ++r) scales[r] = scales[r - 1] * std::sqrt(7.0);
}

const Faces& faces() {
  static const Faces all;
  return all;
}

}  // namespace h3
}  // namespace graticule
