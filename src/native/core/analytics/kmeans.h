// k-means clusters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace graticule {

/**
 * Parts points of 2 or 3 coordinates into at most `k` clusters: greedy k-means++ seeds from a fixed random sequence
 * (of large inputs, from a sample), then Lloyd's iteration, sped up by the bounds of Hamerly (SDM 2010), until the centres
 * hardly move (their squares sum up to 1/10,000 of the variance), at most 300 times. The same points give the same
 * clusters. Points that coincide never part, so there can be fewer than `k`; clusters are numbered from 0 in the order of
 * their first point.
 */
class KMeans {
 public:
  virtual ~KMeans() = default;
  /** The next iteration, of which the first one takes each point to its nearest seed; true after the last one. */
  virtual bool iterate() = 0;
  virtual size_t size() const = 0;
  /** The cluster of each point as it is by now. */
  virtual void number(int32_t* labels) const = 0;
};

/** Copies `n` points, and draws the seeds. Throws std::bad_alloc. */
std::unique_ptr<KMeans> createKMeans(const double* points, size_t n, int dimensions, uint32_t k);

}  // namespace graticule
