#include "overview.h"

#include <algorithm>

namespace graticule {
namespace {

/** Average as a sample. An average equal to the nodata value moves to the next value. */
template <typename T>
T averageOf(double sum, double count, const Validity<T>& isValid) {
  const double mean = sum / count;
  if constexpr (std::is_floating_point_v<T>) {
    const T value = static_cast<T>(mean);
    return isValid(value) ? value : std::nextafter(value, T{0});
  } else {
    const T value = static_cast<T>(std::floor(mean + 0.5));
    if (isValid(value)) return value;
    return static_cast<T>(value == std::numeric_limits<T>::max() ? value - 1 : value + 1);
  }
}

template <typename T>
void halve(const T* from, const Samples& source, const Samples& target, bool nearest, T* to) {
  const Validity<T> isValid(source.nodata);
  const T none = isValid.nodata().value_or(std::is_floating_point_v<T> ? std::numeric_limits<T>::quiet_NaN() : T{});
  for (uint32_t y = 0; y < target.height; ++y) {
    const T* rows[2] = {from + size_t{2} * y * source.width,
                        from + std::min<size_t>(2 * y + 1, source.height - 1) * source.width};
    // A single last row or column counts twice, which does not change any average.
    for (uint32_t x = 0; x < target.width; ++x) {
      const size_t left = size_t{2} * x;
      if (nearest) {
        *to++ = rows[0][left];
        continue;
      }
      const size_t right = std::min<size_t>(left + 1, source.width - 1);
      double sum = 0;
      double count = 0;
      for (const T* row : rows) {
        for (const size_t column : {left, right}) {
          if (!isValid(row[column])) continue;
          sum += static_cast<double>(row[column]);
          ++count;
        }
      }
      *to++ = count > 0 ? averageOf<T>(sum, count, isValid) : none;
    }
  }
}

}  // namespace

Overview halved(const Samples& samples, bool nearest) {
  Overview overview{samples, nullptr};
  overview.samples.width = (samples.width + 1) / 2;
  overview.samples.height = (samples.height + 1) / 2;
  const size_t bandBytes = size_t{overview.samples.width} * overview.samples.height * sampleBytes(samples.type);
  overview.memory.reset(new uint8_t[bandBytes * samples.bands.size()]);
  for (size_t band = 0; band < samples.bands.size(); ++band) {
    uint8_t* memory = overview.memory.get() + band * bandBytes;
    overview.samples.bands[band] = memory;
    withSamples(samples.type, [&](auto sample) {
      using T = decltype(sample);
      const auto* from = static_cast<const T*>(samples.bands[band]);
      halve<T>(from, samples, overview.samples, nearest, reinterpret_cast<T*>(memory));
    });
  }
  return overview;
}

}  // namespace graticule
