#include "sample_statistics.h"

#include <algorithm>

#include "../tiles/byte_counts.h"

namespace graticule {
namespace {

/** Sums of the differences from a value among them, which keeps them small. */
struct Sums {
  double from = 0;
  double count = 0;
  double sum = 0;
  double squares = 0;
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();

  void add(double value, double times) {
    const double difference = value - from;
    count += times;
    sum += difference * times;
    squares += difference * difference * times;
    min = std::min(min, value);
    max = std::max(max, value);
  }
};

SampleStatistics statisticsOf(const Sums& sums) {
  if (sums.count == 0) return {};
  const double mean = sums.sum / sums.count;
  const double variance = std::max(0.0, sums.squares / sums.count - mean * mean);
  return {sums.count, sums.min, sums.max, sums.from + mean, std::sqrt(variance)};
}

/** Bytes have few values: they are counted first. */
Sums sumsOf(const uint8_t* samples, size_t n, const Validity<uint8_t>& isValid) {
  ByteCounts counts;
  counts.add(samples, n);
  Sums sums;
  for (size_t value = 0; value < 256; ++value) {
    const uint32_t times = counts.of(value);
    if (times > 0 && isValid(static_cast<uint8_t>(value))) sums.add(static_cast<double>(value), times);
  }
  return sums;
}

template <typename T>
Sums sumsOf(const T* samples, size_t n, const Validity<T>& isValid) {
  Sums sums;
  size_t i = 0;
  while (i < n && !isValid(samples[i])) ++i;
  if (i < n) sums.from = static_cast<double>(samples[i]);
  for (; i < n; ++i) {
    if (isValid(samples[i])) sums.add(static_cast<double>(samples[i]), 1);
  }
  return sums;
}

}  // namespace

SampleStatistics statisticsOf(const Samples& samples, size_t band) {
  const size_t n = size_t{samples.width} * samples.height;
  return withSamples(samples.type, [&](auto sample) {
    using T = decltype(sample);
    return statisticsOf(sumsOf(static_cast<const T*>(samples.bands[band]), n, Validity<T>(samples.nodata)));
  });
}

}  // namespace graticule
