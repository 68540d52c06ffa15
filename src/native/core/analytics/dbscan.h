// Density-based clusters (DBSCAN), exact.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graticule {

/** Label of points that are in no cluster. */
constexpr int32_t kNoise = -1;

/**
 * Clusters `n` points of 2 or 3 coordinates. A point is a core point if `minPoints` or more points, including itself,
 * are within `eps`. Core points within `eps` of each other form a cluster. Other points within `eps` of a core point
 * belong to the cluster of the nearest one; the rest is noise. Clusters are numbered from 0 in the order of their
 * first point. An `eps` below a micrometre, or below 2^-39 of the extent, is increased to that.
 * Points are binned in a grid whose cells have a diagonal of `eps`. A cell of `minPoints` points is therefore core
 * without any distance computation (Wang, Gu, Shun, SIGMOD 2020). Throws std::bad_alloc.
 */
void dbscan(const double* points, size_t n, int dimensions, double eps, uint32_t minPoints, int32_t* labels);

}  // namespace graticule
