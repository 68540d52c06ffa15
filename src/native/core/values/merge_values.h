// Values of several rasters at one place as one: average, greatest, least, median, standard deviation, or how many they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../pixels/samples.h"

namespace graticule {

enum class Merge : uint8_t { kAverage, kMax, kMin, kMedian, kStandardDeviation, kCount };

/** Destination of results: values of a type at distances in bytes. */
struct MergeTarget {
  uint8_t* data;
  SampleType type;
  ptrdiff_t pixelSpace;
  ptrdiff_t lineSpace;
};

/**
 * Nodata value that is ignored, value for pixels without values, and whether averages and medians are rounded to
 * integers.
 */
struct MergeRule {
  Merge merge;
  double noData;
  double absent;
  bool isWhole;
};

/**
 * Merges rasters of one type, each of width times height values without gaps. Missing values (nodata or NaN) are
 * ignored; a pixel without values gets `absent`. The standard deviation is the population's and not the sample's. The
 * median of an even number is the mean of the two middle values.
 */
void mergeValues(const MergeRule& rule, const std::vector<const void*>& sources, SampleType type, size_t width,
                 size_t height, const MergeTarget& target);

}  // namespace graticule
