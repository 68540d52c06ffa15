// k-means clusters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace graticule {

/**
 * Partitions points of 2 or 3 coordinates into at most `k` clusters. Seeds come from greedy k-means++ with a fixed
 * random sequence (from a sample of large inputs). Lloyd's iteration, accelerated by the bounds of Hamerly (SDM
 * 2010), follows until the centres hardly move (their squares sum up to 1/10,000 of the variance), at most 300 times.
 * The same points result in the same clusters. Equal points are never separated, so there can be fewer than `k`
 * clusters. Clusters are numbered from 0 in the order of their first point.
 */
class KMeans {
 public:
  virtual ~KMeans() = default;
  /** The next iteration, of which the first one takes each point to its nearest seed; true after the last one. */
  virtual bool iterate() = 0;
  virtual size_t size() const = 0;
  /** Writes the current cluster of each point. */
  virtual void number(int32_t* labels) const = 0;
};

/** Copies `n` points, and draws the seeds. Throws std::bad_alloc. */
std::unique_ptr<KMeans> createKMeans(const double* points, size_t n, int dimensions, uint32_t k);

}  // namespace graticule
