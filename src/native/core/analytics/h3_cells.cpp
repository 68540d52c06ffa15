#include "h3_cells.h"

#include "h3api.h"

namespace graticule {
namespace {

constexpr double kRadiansPerDegree = 0.017453292519943295769;

}  // namespace

void h3Cells(const double* positions, size_t n, int resolution, uint64_t* cells) {
  for (size_t i = 0; i < n; ++i) {
    const LatLng place{positions[2 * i + 1] * kRadiansPerDegree, positions[2 * i] * kRadiansPerDegree};
    if (latLngToCell(&place, resolution, cells + i) != E_SUCCESS) cells[i] = 0;
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
