// H3 cells. The wrapper hides the names of the C library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graticule {

constexpr int kMaxH3Resolution = 15;
/** A cell has at most ten vertices: pentagons may gain five where they cross the edges of the icosahedron. */
constexpr int kMaxH3Vertices = 10;

/** Writes the cell of each longitude, latitude pair in degrees. 0 for values that are not finite. */
void h3Cells(const double* positions, size_t n, int resolution, uint64_t* cells);

/** The corners of a cell as longitude, latitude pairs in degrees, counterclockwise; returns how many, 0 for no cell. */
int h3Boundary(uint64_t cell, double* positions);

}  // namespace graticule
