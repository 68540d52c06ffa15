// k-means clusters.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graticule {

/**
 * Parts `n` points of 2 or 3 coordinates into at most `k` clusters: greedy k-means++ seeds from a fixed random sequence
 * (of large inputs, from a sample), then Lloyd's iteration, sped up by the bounds of Hamerly (SDM 2010), until the centres
 * hardly move (their squares sum up to 1/10,000 of the variance), at most 300 times. The same points give the same
 * clusters. Points that coincide never part, so there can be fewer than `k`; clusters are numbered from 0 in the order of
 * their first point. Throws std::bad_alloc.
 */
void kmeans(const double* points, size_t n, int dimensions, uint32_t k, int32_t* labels);

}  // namespace graticule
