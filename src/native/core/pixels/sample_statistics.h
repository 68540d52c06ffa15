// Statistics of samples, as GDAL counts them: without nodata and NaN, deviation of the population.
#pragma once

#include "samples.h"

namespace graticule {

struct SampleStatistics {
  /** Number of valid samples. If it is 0, the other members are 0. */
  double count = 0;
  double min = 0;
  double max = 0;
  double mean = 0;
  double deviation = 0;
};

SampleStatistics statisticsOf(const Samples& samples, size_t band);

}  // namespace graticule
