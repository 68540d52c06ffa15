#include "ground_densify.h"

#include <geodesic.h>

#include <cmath>

namespace graticule {
namespace {

constexpr double kSemiMajor = 6378137;
constexpr double kFlattening = 1 / 298.257223563;
constexpr double kMostPositions = 1e7;

}  // namespace

bool GroundDensifier::densify(const Geometry& from, double longest) {
  positions_.clear();
  geometry_.clear();
  geometry_.nodes = from.nodes;
  std::vector<uint32_t> counts;
  for (const Sequence& s : from.sequences) {
    const size_t before = positions_.size();
    for (size_t i = 0; i + 1 < s.count; ++i) {
      if (!addSegment(s, i, longest)) return false;
    }
    if (s.count > 0) positions_.insert(positions_.end(), {s.x(s.count - 1), s.y(s.count - 1)});
    counts.push_back(static_cast<uint32_t>((positions_.size() - before) / 2));
  }
  const double* p = positions_.data();
  for (const uint32_t count : counts) {
    geometry_.sequences.push_back({reinterpret_cast<const uint8_t*>(p), count, 16, false});
    p += 2 * size_t{count};
  }
  return true;
}

/** The first position of a segment, and those within it. */
bool GroundDensifier::addSegment(const Sequence& s, size_t i, double longest) {
  geod_geodesic ellipsoid;
  geod_init(&ellipsoid, kSemiMajor, kFlattening);
  const double lon1 = s.x(i);
  const double lon2 = s.x(i + 1);
  geod_geodesicline line;
  geod_inverseline(&line, &ellipsoid, s.y(i), lon1, s.y(i + 1), lon2, 0);
  positions_.insert(positions_.end(), {lon1, s.y(i)});
  const double parts = std::ceil(line.s13 / longest * (1 - 1e-12));
  if (!(parts + static_cast<double>(positions_.size()) / 2 <= kMostPositions)) return false;
  // Longitudes continue beyond the antimeridian if the longitudes of the ends do.
  const bool unroll = std::fabs(lon1) > 180 || std::fabs(lon2) > 180;
  for (double part = 1; part < parts; ++part) {
    double lat = 0;
    double lon = 0;
    geod_genposition(&line, unroll ? GEOD_LONG_UNROLL : GEOD_NOFLAGS, line.s13 * part / parts, &lat, &lon, nullptr,
                     nullptr, nullptr, nullptr, nullptr, nullptr);
    positions_.insert(positions_.end(), {lon, lat});
  }
  return true;
}

}  // namespace graticule
