#include "merge_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace graticule {
namespace {

/** The nearest value that the type has. */
template <typename T>
T nearest(double value) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    if (std::isnan(value)) return 0;
    const double low = static_cast<double>(std::numeric_limits<T>::lowest());
    const double high = static_cast<double>(std::numeric_limits<T>::max());
    return static_cast<T>(std::clamp(std::floor(value + 0.5), low, high));
  }
}

/** The values of one pixel after the other. */
class PixelMerge {
 public:
  explicit PixelMerge(const MergeRule& rule) : rule_(rule) {}

  void begin() {
    count_ = 0;
    result_ = 0;
    squares_ = 0;
    values_.clear();
  }

  void add(double value) {
    ++count_;
    switch (rule_.merge) {
      case Merge::kMax:
        result_ = count_ == 1 ? value : std::max(result_, value);
        break;
      case Merge::kMin:
        result_ = count_ == 1 ? value : std::min(result_, value);
        break;
      case Merge::kAverage:
        result_ += value;
        break;
      case Merge::kMedian:
        values_.push_back(value);
        break;
      case Merge::kStandardDeviation: {
        // Welford's recurrence: sums of squares would lose small deviations of large values.
        const double delta = value - result_;
        result_ += delta / static_cast<double>(count_);
        squares_ += delta * (value - result_);
        break;
      }
      case Merge::kCount:
        break;
    }
  }

  double result() {
    if (count_ == 0) return rule_.absent;
    switch (rule_.merge) {
      case Merge::kCount:
        return static_cast<double>(count_);
      case Merge::kAverage:
        return rounded(result_ / static_cast<double>(count_));
      case Merge::kMedian:
        return rounded(median());
      case Merge::kStandardDeviation:
        return std::sqrt(squares_ / static_cast<double>(count_));
      default:
        return result_;
    }
  }

 private:
  double rounded(double value) const { return rule_.isWhole ? std::floor(value + 0.5) : value; }

  double median() {
    const auto middle = values_.begin() + static_cast<ptrdiff_t>(values_.size() / 2);
    std::nth_element(values_.begin(), middle, values_.end());
    if (values_.size() % 2 != 0) return *middle;
    return (*std::max_element(values_.begin(), middle) + *middle) / 2;
  }

  const MergeRule& rule_;
  double result_ = 0;
  double squares_ = 0;
  size_t count_ = 0;
  std::vector<double> values_;
};

void write(double value, uint8_t* at, SampleType type) {
  withSamples(type, [&](auto sample) {
    sample = nearest<decltype(sample)>(value);
    std::memcpy(at, &sample, sizeof sample);
  });
}

}  // namespace

void mergeValues(const MergeRule& rule, const std::vector<const void*>& sources, SampleType type, size_t width,
                 size_t height, const MergeTarget& target) {
  withSamples(type, [&](auto sample) {
    using T = decltype(sample);
    const Validity<T> isValid(rule.noData);
    PixelMerge pixel(rule);
    for (size_t y = 0; y < height; ++y) {
      for (size_t x = 0; x < width; ++x) {
        pixel.begin();
        for (const void* source : sources) {
          const T value = static_cast<const T*>(source)[y * width + x];
          if (isValid(value)) pixel.add(static_cast<double>(value));
        }
        uint8_t* at = target.data + static_cast<ptrdiff_t>(y) * target.lineSpace + static_cast<ptrdiff_t>(x) * target.pixelSpace;
        write(pixel.result(), at, target.type);
      }
    }
  });
}

}  // namespace graticule
