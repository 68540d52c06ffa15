// Density-based clusters (DBSCAN), exact.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graticule {

/** Label of points that are in no cluster. */
constexpr int32_t kNoise = -1;

/**
 * Clusters `n` points of 2 or 3 coordinates. A point is core when at least `minPoints` points, itself included, lie
 * within `eps`; clusters are what core points within `eps` of one another make. Other points within `eps` of a core
 * point belong to the cluster of the nearest one; the rest is noise. Clusters are numbered from 0 in the order of their
 * first point. `eps` below a micrometre, or below 2^-39 of the extent, counts as that.
 *
 * Points are binned in a grid whose cells are `eps` from corner to corner, so that a cell of `minPoints` points is core
 * without a look at any distance (Wang, Gu, Shun, SIGMOD 2020). Throws std::bad_alloc.
 */
void dbscan(const double* points, size_t n, int dimensions, double eps, uint32_t minPoints, int32_t* labels);

}  // namespace graticule
