// Values of several rasters at one place as one: average, greatest, least, median, standard deviation, or how many they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../pixels/samples.h"

namespace graticule {

enum class Merge : uint8_t { kAverage, kMax, kMin, kMedian, kStandardDeviation, kCount };

/** Where results go: values of a type at distances in bytes. */
struct MergeTarget {
  uint8_t* data;
  SampleType type;
  ptrdiff_t pixelSpace;
  ptrdiff_t lineSpace;
};

/** What is left out, what stands where nothing is left, and whether averages and medians are rounded to whole numbers. */
struct MergeRule {
  Merge merge;
  double noData;
  double absent;
  bool isWhole;
};

/**
 * Merges rasters of one type, each of width times height values without gaps. What is no data (the value, or NaN) is left
 * out; a pixel of which nothing is left is absent. The standard deviation is that of the values themselves, not of what they
 * are a sample of; the median of an even number is the mean of the two in the middle.
 */
void mergeValues(const MergeRule& rule, const std::vector<const void*>& sources, SampleType type, size_t width,
                 size_t height, const MergeTarget& target);

}  // namespace graticule
