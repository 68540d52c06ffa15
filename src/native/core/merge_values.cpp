#include "merge_values.h"

#include <algorithm>
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

/** The values of one pixel, one after the other. */
class PixelMerge {
 public:
  explicit PixelMerge(const MergeRule& rule) : rule_(rule) {}

  void add(double value) {
    if (count_++ == 0) {
      result_ = value;
      return;
    }
    switch (rule_.merge) {
      case Merge::kMax:
        result_ = std::max(result_, value);
        break;
      case Merge::kMin:
        result_ = std::min(result_, value);
        break;
      default:
        result_ += value;
    }
  }

  double result() const {
    if (count_ == 0) return rule_.noData;
    if (rule_.merge != Merge::kAverage) return result_;
    const double mean = result_ / static_cast<double>(count_);
    return rule_.isWhole ? std::floor(mean + 0.5) : mean;
  }

 private:
  const MergeRule& rule_;
  double result_ = 0;
  size_t count_ = 0;
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
    for (size_t y = 0; y < height; ++y) {
      for (size_t x = 0; x < width; ++x) {
        PixelMerge pixel(rule);
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
