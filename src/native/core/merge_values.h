// Values of several rasters at one place as one: average, greatest or least.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "samples.h"

namespace graticule {

enum class Merge : uint8_t { kAverage, kMax, kMin };

/** Where results go: values of a type at distances in bytes. */
struct MergeTarget {
  uint8_t* data;
  SampleType type;
  ptrdiff_t pixelSpace;
  ptrdiff_t lineSpace;
};

/** What is left out, and whether averages are rounded to whole numbers. */
struct MergeRule {
  Merge merge;
  double noData;
  bool isWhole;
};

/**
 * Merges rasters of one type, each of width times height values without gaps. What is no data (the value, or NaN) is left
 * out; a pixel of which nothing is left is no data.
 */
void mergeValues(const MergeRule& rule, const std::vector<const void*>& sources, SampleType type, size_t width,
                 size_t height, const MergeTarget& target);

}  // namespace graticule
