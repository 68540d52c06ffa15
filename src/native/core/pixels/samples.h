// Samples of rasters by type, with the functions that all types share.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

namespace graticule {

enum class SampleType : uint8_t { kUInt8, kUInt16, kInt16, kUInt32, kInt32, kFloat32, kFloat64 };

/** Calls a generic function with a value of the C++ type of the samples. */
template <typename Visit>
auto withSamples(SampleType type, Visit visit) {
  switch (type) {
    case SampleType::kUInt16:
      return visit(uint16_t{});
    case SampleType::kInt16:
      return visit(int16_t{});
    case SampleType::kUInt32:
      return visit(uint32_t{});
    case SampleType::kInt32:
      return visit(int32_t{});
    case SampleType::kFloat32:
      return visit(float{});
    case SampleType::kFloat64:
      return visit(double{});
    default:
      return visit(uint8_t{});
  }
}

inline size_t sampleBytes(SampleType type) {
  return withSamples(type, [](auto sample) { return sizeof sample; });
}

/** Bands of one type and size, each stored separately, row by row from the top. The caller owns the pixels. */
struct Samples {
  uint32_t width = 0;
  uint32_t height = 0;
  SampleType type = SampleType::kUInt8;
  std::vector<const void*> bands;
  std::optional<double> nodata;
};

/** Distinguishes values from missing values: NaN, and the nodata value as a sample of the type. */
template <typename T>
class Validity {
 public:
  explicit Validity(const std::optional<double>& nodata) {
    if (!nodata || std::isnan(*nodata)) return;
    const T sample = static_cast<T>(inRange(*nodata) ? *nodata : 0);
    if (std::is_floating_point_v<T> || static_cast<double>(sample) == *nodata) nodata_ = sample;
  }

  bool operator()(T sample) const { return sample == sample && !(nodata_ && sample == *nodata_); }
  const std::optional<T>& nodata() const { return nodata_; }

 private:
  static bool inRange(double value) {
    if constexpr (std::is_floating_point_v<T>) return true;
    return value >= static_cast<double>(std::numeric_limits<T>::lowest()) &&
           value <= static_cast<double>(std::numeric_limits<T>::max());
  }

  std::optional<T> nodata_;
};

}  // namespace graticule
