// Statistics of the values in one zone, which come cell by cell with the share of the cell that the zone covers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace graticule {

struct ZoneStatistics {
  /** Sum of the shares. */
  double count = 0;
  double sum = 0;
  /** NaN without a value, as all that follow. */
  double mean;
  double min;
  double max;
  /** Population standard deviation. */
  double deviation;
  /** Values with the largest and the smallest sum of shares. The lower value if there are several. */
  double majority;
  double minority;
  /** Number of different values. */
  double variety = 0;
};

class ZoneTally {
 public:
  /**
   * `mostValues`: maximum number of different values, for majority, minority, variety and quantiles. 0 if these are
   * not requested.
   */
  explicit ZoneTally(size_t mostValues) : mostValues_(mostValues) {}

  /** Adds cells with one share; NaN is ignored. Returns false if there are more different values than the maximum. */
  bool add(const double* values, size_t count, double share);

  ZoneStatistics statistics();

  /**
   * Returns the value below which a share of the cells is. It is linear between the cells in ascending order (type 7
   * of Hyndman and Fan). Each cell is as wide as its share, and cells of equal value are assumed to be equally wide.
   * NaN without a value.
   */
  double quantile(double share);

  /** Frees the memory of the values; the tally is empty. */
  void clear() { *this = ZoneTally(mostValues_); }

 private:
  struct Entry {
    double value;
    double share;
    double cells;
  };

  void sum(const double* values, size_t count, double share);
  bool holdAll(const double* values, size_t count, double share);
  bool hold(double value, double share, double cells = 1);
  /** Starts to count integers around a value, if there are enough cells and space for all integers. */
  void beginCounts(double value);
  /** Converts the counts to entries. */
  void endCounts();
  size_t room() const { return mostValues_ - counts_.size(); }
  void widen();
  /** Sorts the entries by their values, ascending. No entry may be added after it. */
  void sort();

  size_t mostValues_;
  bool sorted_ = false;
  double origin_ = 0;
  double count_ = 0;
  double sum_ = 0;
  double squares_ = 0;
  double min_ = std::numeric_limits<double>::infinity();
  double max_ = -std::numeric_limits<double>::infinity();
  std::vector<Entry> entries_;
  /** Counts of complete cells with integers, starting at `firstCount_`. Empty until a zone is large. */
  std::vector<uint64_t> counts_;
  double firstCount_ = 0;
  size_t cells_ = 0;
  /** Indices of entries by the hash of their values, counted from 1; 0 is free. The size is a power of two. */
  std::vector<uint32_t> slots_;
  /** The entry that was added to last: neighbours are often equal. */
  size_t last_ = 0;
};

}  // namespace graticule
