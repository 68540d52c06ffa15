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
  /** Of the population. */
  double deviation;
  /** The value with the largest and the smallest sum of shares; the lesser of several. */
  double majority;
  double minority;
  /** How many different values there are. */
  double variety = 0;
};

class ZoneTally {
 public:
  /** `mostValues`: different values, for majority, minority, variety and quantiles; 0 where nobody asks for these. */
  explicit ZoneTally(size_t mostValues) : mostValues_(mostValues) {}

  /** Adds cells with one share; NaN is no value. False when there are more different values than that. */
  bool add(const double* values, size_t count, double share);

  ZoneStatistics statistics();

  /**
   * The value below which a share of the cells lies: linear between the cells in ascending order (type 7 of Hyndman and
   * Fan), each as wide as its share; those of equal value are taken for equally wide. NaN without a value.
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
  /** Begins to count whole numbers around a value, where enough cells have come and there is room for all of these. */
  void beginCounts(double value);
  /** Makes entries of what was counted. */
  void endCounts();
  size_t room() const { return mostValues_ - counts_.size(); }
  void widen();
  /** Entries in ascending order of their values; nothing may be added after it. */
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
  /** Whole cells of whole numbers from `firstCount_` on; empty until a zone is large. */
  std::vector<uint64_t> counts_;
  double firstCount_ = 0;
  size_t cells_ = 0;
  /** Where entries are by the hash of their values: places counted from 1; 0 is free. A power of two. */
  std::vector<uint32_t> slots_;
  /** The entry that was added to last: neighbours are often equal. */
  size_t last_ = 0;
};

}  // namespace graticule
