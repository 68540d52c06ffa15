// Statistics of rasters in zones, a batch of zones at a time.
#include "zonal_functions.h"

#include <algorithm>

#include "../../core/zonal/cell_shares.h"
#include "../../core/zonal/zone_tally.h"
#include "../arrays.h"

namespace graticule::addon {
namespace {

using Tallies = std::vector<ZoneTally>;

constexpr double kMostZones = 1 << 24;
constexpr double kMostValues = 1 << 30;
constexpr double kMostSide = 1 << 30;

Tallies& talliesOf(napi_env env, napi_value value) { return requireExternal<Tallies>(env, value, "tallies"); }

}  // namespace

/** (zones, mostValues) -> tallies */
napi_value createTallies(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  const uint32_t zones = requireWhole(env, arguments[0], "zones", 0, kMostZones);
  const ZoneTally empty(requireWhole(env, arguments[1], "mostValues", 0, kMostValues));
  return toExternal(env, std::make_unique<Tallies>(zones, empty));
}

/** (tallies, blobs, pixels: Float64Array, width, transform: Float64Array of 6, byCentre) -> whether all values fit */
napi_value addToTallies(napi_env env, napi_callback_info info) {
  const Arguments<6> arguments(env, info);
  Tallies& tallies = talliesOf(env, arguments[0]);
  const auto pixels = requireDoubles(env, arguments[2], "pixels");
  const uint32_t width = requireWhole(env, arguments[3], "width", 1, kMostSide);
  const auto transform = requireDoubles(env, arguments[4], "transform");
  const bool byCentre = requireBoolean(env, arguments[5], "byCentre");
  if (transform.size != 6) throw Failure{"transform must have 6 numbers", true};
  if (pixels.size % width != 0 || pixels.size / width > kMostSide) throw Failure{"pixels must be whole rows", true};
  if (lengthOf(env, arguments[1]) != tallies.size()) throw Failure{"there must be a geometry for each tally", true};
  PixelTransform pixelTransform;
  std::copy_n(transform.data, 6, pixelTransform.begin());
  CellShares shares(pixelTransform, width, static_cast<uint32_t>(pixels.size / width),
                    byCentre ? ShareRule::Centre : ShareRule::Area);
  Geometry& geometry = environmentOf(env).geometry;
  bool fits = true;
  eachBlob(env, arguments[1], [&](uint32_t i, const uint8_t* blob, size_t size) {
    if (!fits || !readInto(blob, size, geometry) || !shares.cover(geometry)) return;
    ZoneTally& tally = tallies[i];
    shares.eachRun([&](size_t cell, size_t count, double share) {
      fits = fits && tally.add(pixels.data + cell, count, share);
    });
  });
  return toBoolean(env, fits);
}

/**
 * (tallies, quantiles: Float64Array) -> Float64Array: for each zone the statistics in their order, then the quantiles. The
 * tallies are empty after it.
 */
napi_value readTallies(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  Tallies& tallies = talliesOf(env, arguments[0]);
  const auto quantiles = requireDoubles(env, arguments[1], "quantiles");
  double* out = nullptr;
  napi_value result = makeArray(env, napi_float64_array, tallies.size() * (9 + quantiles.size), out);
  for (ZoneTally& tally : tallies) {
    const ZoneStatistics all = tally.statistics();
    for (const double value : {all.count, all.sum, all.mean, all.min, all.max, all.deviation, all.majority, all.minority, all.variety}) *out++ = value;
    for (size_t i = 0; i < quantiles.size; ++i) *out++ = tally.quantile(quantiles.data[i]);
    tally.clear();
  }
  return result;
}

}  // namespace graticule::addon
