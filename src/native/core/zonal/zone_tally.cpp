#include "zone_tally.h"

#include <algorithm>
#include <cmath>

namespace graticule {

namespace {
constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
}

/** One entry for each value, in ascending order. */
bool ZoneTally::compact() {
  std::sort(values_.begin(), values_.end(), [](const Entry& a, const Entry& b) { return a.value < b.value; });
  size_t last = 0;
  for (size_t i = 1; i < values_.size(); ++i) {
    if (values_[i].value == values_[last].value) {
      values_[last].share += values_[i].share;
      values_[last].cells += values_[i].cells;
    } else {
      values_[++last] = values_[i];
    }
  }
  if (!values_.empty()) values_.resize(last + 1);
  compactAt_ = std::max(compactAt_, 2 * values_.size());
  return values_.size() <= kMostValues;
}

ZoneStatistics ZoneTally::statistics() {
  ZoneStatistics result;
  result.mean = result.min = result.max = result.deviation = result.majority = result.minority = kNothing;
  if (count_ == 0) return result;
  const double mean = sum_ / count_;
  result.count = count_;
  result.sum = sum_ + origin_ * count_;
  result.mean = origin_ + mean;
  result.min = min_;
  result.max = max_;
  result.deviation = std::sqrt(std::max(0.0, squares_ / count_ - mean * mean));
  if (!holdsValues_) return result;
  compact();
  const auto less = [](const Entry& a, const Entry& b) { return a.share < b.share; };
  result.majority = std::max_element(values_.begin(), values_.end(), less)->value;
  result.minority = std::min_element(values_.begin(), values_.end(), less)->value;
  result.variety = static_cast<double>(values_.size());
  return result;
}

double ZoneTally::quantile(double share) {
  if (values_.empty()) return kNothing;
  compact();
  double cells = 0;
  for (const Entry& entry : values_) cells += entry.cells;
  // Where a cell lies on a scale on which n cells of equal width lie at 0, n, 2n and so on.
  const double target = share * count_ * (cells - 1);
  double passed = 0;
  double covered = 0;
  double place = 0;
  double value = values_.front().value;
  for (const Entry& entry : values_) {
    const double width = entry.share / entry.cells;
    const double first = passed * width + (cells - 1) * covered;
    if (target <= first && first > place) return value + (entry.value - value) * (target - place) / (first - place);
    passed += entry.cells;
    covered += entry.share;
    place = (passed - 1) * width + (cells - 1) * (covered - width);
    value = entry.value;
    if (target <= place) return value;
  }
  return values_.back().value;
}

}  // namespace graticule
