// Distances and measures of geometries, a batch at a time.
#include "proximity_functions.h"

#include <algorithm>
#include <limits>

#include "../../core/processing/measure.h"
#include "../../core/processing/nearest.h"
#include "../arrays.h"

namespace graticule::addon {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kMostCount = 4294967295.0;
constexpr const char* kLonLat = "OGC:CRS84";

/** From the CRS of geometries to where they are measured. */
std::shared_ptr<const Reprojector> toSurface(napi_env env, const std::string& crs, Surface surface) {
  return reprojectorFor(env, crs, surface == Surface::Ground ? kLonLat : crs);
}

template <typename T>
napi_value toArray(napi_env env, napi_typedarray_type type, const std::vector<T>& values) {
  T* out = nullptr;
  napi_value array = makeArray(env, type, values.size(), out);
  std::copy(values.begin(), values.end(), out);
  return array;
}

std::vector<std::unique_ptr<SpatialOperand>> readOperands(napi_env env, napi_value blobs, const Reprojector& reprojector) {
  const std::shared_ptr<Geos> geos = sharedGeosOf(environmentOf(env));
  std::vector<std::unique_ptr<SpatialOperand>> operands;
  eachProjected(env, blobs, reprojector, [&](uint32_t, const uint8_t* blob, size_t size) {
    auto operand = std::make_unique<SpatialOperand>(geos);
    if (blob == nullptr || operand->readCopy(blob, size) != ReadStatus::Ok || operand->empty()) operand.reset();
    operands.push_back(std::move(operand));
  });
  return operands;
}

/** Indexed geometries for nearest searches, and the projection of input geometries. */
struct NearestState : Accounted {
  NearestState(std::shared_ptr<Geos> geos, Surface surface, std::shared_ptr<const Reprojector> to)
      : all(std::move(geos), surface), reprojector(std::move(to)) {}
  NearestSearch all;
  std::shared_ptr<const Reprojector> reprojector;
};

NearestState& nearestOf(napi_env env, napi_value value) { return requireExternal<NearestState>(env, value, "search"); }

}  // namespace

/** (crs, ground) -> search */
napi_value createNearest(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  const Surface surface = requireBoolean(env, arguments[1], "ground") ? Surface::Ground : Surface::Plane;
  const auto reprojector = toSurface(env, requireText(env, arguments[0], "crs"), surface);
  return toExternal(env, std::make_unique<NearestState>(sharedGeosOf(environmentOf(env)), surface, reprojector));
}

/** (search, blobs) */
napi_value addToNearest(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  NearestState& state = nearestOf(env, arguments[0]);
  eachProjected(env, arguments[1], *state.reprojector,
                [&](uint32_t, const uint8_t* blob, size_t size) {
                  state.all.add(blob, size);
                  state.grow(env, size);
                });
  return nullptr;
}

/** (search, left, count, reach, maxPairs) -> {pairs: Uint32Array of left, right, distances: Float64Array, looks: number} */
napi_value searchNearest(napi_env env, napi_callback_info info) {
  const Arguments<5> arguments(env, info);
  NearestState& state = nearestOf(env, arguments[0]);
  const uint32_t count = requireWhole(env, arguments[2], "count", 1, kMostCount);
  const double reach = requireNumber(env, arguments[3], "reach");
  const double maxPairs = requireNumber(env, arguments[4], "maxPairs");
  std::vector<uint32_t> pairs;
  std::vector<double> distances;
  uint32_t looks = 0;
  eachProjected(env, arguments[1], *state.reprojector, [&](uint32_t i, const uint8_t* blob, size_t size) {
    ++looks;
    for (const NearestSearch::Neighbour& neighbour : state.all.search(blob, size, count, reach)) {
      pairs.insert(pairs.end(), {i, neighbour.index});
      distances.push_back(neighbour.distance);
    }
    return static_cast<double>(distances.size()) < maxPairs;
  });
  napi_value result;
  check(napi_create_object(env, &result));
  setProperty(env, result, "pairs", toArray(env, napi_uint32_array, pairs));
  setProperty(env, result, "distances", toArray(env, napi_float64_array, distances));
  setProperty(env, result, "looks", toNumber(env, looks));
  return result;
}

/** (left, leftCrs, right, rightCrs, ground) -> Float64Array, left by left; NaN where there is none. */
napi_value distanceMatrix(napi_env env, napi_callback_info info) {
  const Arguments<5> arguments(env, info);
  const std::string leftCrs = requireText(env, arguments[1], "leftCrs");
  const std::string rightCrs = requireText(env, arguments[3], "rightCrs");
  const Surface surface = requireBoolean(env, arguments[4], "ground") ? Surface::Ground : Surface::Plane;
  const std::string plane = surface == Surface::Ground ? kLonLat : leftCrs;
  const auto left = readOperands(env, arguments[0], *reprojectorFor(env, leftCrs, plane));
  const auto right = readOperands(env, arguments[2], *reprojectorFor(env, rightCrs, plane));
  double* out = nullptr;
  napi_value result = makeArray(env, napi_float64_array, left.size() * right.size(), out);
  for (const auto& a : left) {
    if (a != nullptr) a->lasting = right.size() > 1;
    for (const auto& b : right) {
      *out++ = a == nullptr || b == nullptr ? kNaN : distanceBetween(surface, *a, *b).value_or(kNaN);
    }
  }
  return result;
}

/** (blobs, crs, ground) -> Float64Array of area, length, perimeter; NaN where there is no geometry. */
napi_value measureGeometries(napi_env env, napi_callback_info info) {
  const Arguments<3> arguments(env, info);
  const std::string crs = requireText(env, arguments[1], "crs");
  const Surface surface = requireBoolean(env, arguments[2], "ground") ? Surface::Ground : Surface::Plane;
  double* out = nullptr;
  napi_value result = makeArray(env, napi_float64_array, size_t{3} * lengthOf(env, arguments[0]), out);
  Geometry geometry;
  eachProjected(env, arguments[0], *toSurface(env, crs, surface), [&](uint32_t, const uint8_t* blob, size_t size) {
    Measures measures{kNaN, kNaN, kNaN};
    if (readInto(blob, size, geometry)) measures = surface == Surface::Ground ? groundMeasures(geometry) : planarMeasures(geometry);
    *out++ = measures.area;
    *out++ = measures.length;
    *out++ = measures.perimeter;
  });
  return result;
}

}  // namespace graticule::addon
