// Sums over what lies within a distance.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graticule {

/**
 * For each of `n` finite points of 2 or 3 coordinates how many points lie within `radius` of it, itself included, and the
 * sum of their values. Points are binned in a grid of cells of that size. Throws std::bad_alloc.
 */
void neighbourSums(const double* points, size_t n, int dimensions, const double* values, double radius, double* counts,
                   double* sums);

}  // namespace graticule
