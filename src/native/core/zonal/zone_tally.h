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
  /** Different values that are held. */
  static constexpr size_t kMostValues = size_t{1} << 24;

  /** `holdsValues`: majority, minority, variety and quantiles can be asked for. */
  explicit ZoneTally(bool holdsValues) : holdsValues_(holdsValues) {}

  /** False when there are more different values than can be held. */
  bool add(double value, double share) {
    // Squares of differences from one of the values lose less than those of the values.
    if (count_ == 0) origin_ = value;
    const double difference = value - origin_;
    count_ += share;
    sum_ += share * difference;
    squares_ += share * difference * difference;
    if (value < min_) min_ = value;
    if (value > max_) max_ = value;
    if (!holdsValues_) return true;
    values_.push_back({value, share, 1});
    return values_.size() < compactAt_ || compact();
  }

  ZoneStatistics statistics();

  /**
   * The value below which a share of the cells lies: linear between the cells in ascending order (type 7 of Hyndman and
   * Fan), each as wide as its share; those of equal value are taken for equally wide. NaN without a value.
   */
  double quantile(double share);

 private:
  struct Entry {
    double value;
    double share;
    double cells;
  };

  bool compact();

  bool holdsValues_;
  double origin_ = 0;
  double count_ = 0;
  double sum_ = 0;
  double squares_ = 0;
  double min_ = std::numeric_limits<double>::infinity();
  double max_ = -std::numeric_limits<double>::infinity();
  std::vector<Entry> values_;
  size_t compactAt_ = 4096;
};

}  // namespace graticule
