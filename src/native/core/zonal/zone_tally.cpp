#include "zone_tally.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace graticule {

namespace {
constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
/**
 * Size of the array that counts integers by value, and number of cells of a zone before it is used: memory grows with
 * the work.
 */
constexpr size_t kCounts = 16'384;
/** Integers below this are distinct doubles. */
constexpr double kMostWhole = 9e15 / 2;
}

bool ZoneTally::add(const double* values, size_t count, double share) {
  sum(values, count, share);
  return mostValues_ == 0 || holdAll(values, count, share);
}

bool ZoneTally::holdAll(const double* values, size_t count, double share) {
  cells_ += count;
  if (counts_.empty()) beginCounts(values[0]);
  if (counts_.empty() || share != 1) {
    for (size_t i = 0; i < count; ++i) {
      if (values[i] == values[i] && !hold(values[i], share)) return false;
    }
    return true;
  }
  const double most = static_cast<double>(counts_.size());
  for (size_t i = 0; i < count; ++i) {
    const double offset = values[i] - firstCount_;
    const bool within = offset >= 0 && offset < most;
    const auto place = static_cast<uint32_t>(within ? offset : 0);
    if (within && place == offset) {
      ++counts_[place];
    } else if (values[i] == values[i] && !hold(values[i], share)) {
      return false;
    }
  }
  return true;
}

void ZoneTally::beginCounts(double value) {
  if (cells_ < kCounts || mostValues_ < entries_.size() + kCounts || !(std::fabs(value) < kMostWhole)) return;
  counts_.assign(kCounts, 0);
  firstCount_ = std::floor(value) - static_cast<double>(kCounts / 2);
}

void ZoneTally::endCounts() {
  const std::vector<uint64_t> counts = std::move(counts_);
  counts_.clear();
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != 0) hold(firstCount_ + static_cast<double>(i), static_cast<double>(counts[i]), static_cast<double>(counts[i]));
  }
}

/** Four sums side by side, which a processor adds up at the same time. */
void ZoneTally::sum(const double* values, size_t count, double share) {
  size_t from = 0;
  if (count_ == 0) {
    while (from < count && values[from] != values[from]) ++from;
    // Squares of differences from one of the values lose fewer digits than squares of the values.
    if (from < count) origin_ = values[from];
  }
  constexpr size_t kLanes = 4;
  double counts[kLanes] = {}, sums[kLanes] = {}, squares[kLanes] = {};
  double least[kLanes], most[kLanes];
  std::fill_n(least, kLanes, min_);
  std::fill_n(most, kLanes, max_);
  const auto take = [&](size_t lane, double value) {
    const bool present = value == value;
    const double difference = present ? value - origin_ : 0;
    counts[lane] += present ? 1 : 0;
    sums[lane] += difference;
    squares[lane] += difference * difference;
    least[lane] = value < least[lane] ? value : least[lane];
    most[lane] = value > most[lane] ? value : most[lane];
  };
  size_t i = from;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) take(lane, values[i + lane]);
  }
  for (; i < count; ++i) take(0, values[i]);
  for (size_t lane = 0; lane < kLanes; ++lane) {
    count_ += share * counts[lane];
    sum_ += share * sums[lane];
    squares_ += share * squares[lane];
    min_ = std::min(min_, least[lane]);
    max_ = std::max(max_, most[lane]);
  }
}

namespace {

uint64_t hashOf(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  // The low bits of integers are all 0, so the high bits are mixed in before and after.
  bits ^= bits >> 33;
  bits *= 0xFF51AFD7ED558CCD;
  bits ^= bits >> 33;
  bits *= 0xC4CEB9FE1A85EC53;
  return bits ^ (bits >> 33);
}

}  // namespace

bool ZoneTally::hold(double value, double share, double cells) {
  // There are two zeros, of different bits.
  value += 0.0;
  if (last_ >= entries_.size() || entries_[last_].value != value) {
    if (2 * (entries_.size() + 1) > slots_.size()) widen();
    const size_t mask = slots_.size() - 1;
    size_t slot = hashOf(value) & mask;
    while (slots_[slot] != 0 && entries_[slots_[slot] - 1].value != value) slot = (slot + 1) & mask;
    if (slots_[slot] == 0) {
      if (entries_.size() >= room()) return false;
      entries_.push_back({value, 0, 0});
      slots_[slot] = static_cast<uint32_t>(entries_.size());
    }
    last_ = slots_[slot] - 1;
  }
  entries_[last_].share += share;
  entries_[last_].cells += cells;
  return true;
}

void ZoneTally::widen() {
  slots_.assign(std::max<size_t>(64, 2 * slots_.size()), 0);
  const size_t mask = slots_.size() - 1;
  for (size_t i = 0; i < entries_.size(); ++i) {
    size_t slot = hashOf(entries_[i].value) & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<uint32_t>(i + 1);
  }
}

void ZoneTally::sort() {
  if (sorted_) return;
  endCounts();
  sorted_ = true;
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.value < b.value; });
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
  if (mostValues_ == 0) return result;
  sort();
  const auto less = [](const Entry& a, const Entry& b) { return a.share < b.share; };
  result.majority = std::max_element(entries_.begin(), entries_.end(), less)->value;
  result.minority = std::min_element(entries_.begin(), entries_.end(), less)->value;
  result.variety = static_cast<double>(entries_.size());
  return result;
}

double ZoneTally::quantile(double share) {
  sort();
  if (entries_.empty()) return kNothing;
  double cells = 0;
  for (const Entry& entry : entries_) cells += entry.cells;
  // Position of a cell on a scale on which n cells of equal width are at 0, n, 2n and so on.
  const double target = share * count_ * (cells - 1);
  double cellsBefore = 0;
  double shareBefore = 0;
  double place = 0;
  double value = entries_.front().value;
  for (const Entry& entry : entries_) {
    const double width = entry.share / entry.cells;
    const double first = cellsBefore * width + (cells - 1) * shareBefore;
    if (target <= first && first > place) return value + (entry.value - value) * (target - place) / (first - place);
    cellsBefore += entry.cells;
    shareBefore += entry.share;
    place = (cellsBefore - 1) * width + (cells - 1) * (shareBefore - width);
    value = entry.value;
    if (target <= place) return value;
  }
  return entries_.back().value;
}

}  // namespace graticule
