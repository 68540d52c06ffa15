// Relations between the geometries of two lists.
#include "relate_functions.h"

#include <algorithm>

#include "../../core/processing/geometry_operation.h"
#include "../../core/processing/relate.h"
#include "../arrays.h"

namespace graticule::addon {
namespace {

constexpr double kMostPairs = 100'000'000;

/** A valid geometry; null for an empty one. */
GeosGeometry requireValid(Environment& environment, const uint8_t* blob, size_t size) {
  Geos& geos = geosOf(environment);
  if (!readInto(blob, size, environment.geometry) || environment.geometry.empty()) return geos.own(nullptr);
  geos.forgetError();
  GeosGeometry geometry = repair(geos, geos.read(environment.geometry));
  if (geometry == nullptr) throw Failure{geos.error().empty() ? "a geometry cannot be read" : geos.error(), false};
  return geometry;
}

}  // namespace

/** (left, right, all, maxPairs) -> {pairs: Uint32Array of left, right, matrices: Buffer of nine letters each}; null beyond maxPairs */
napi_value relateGeometries(napi_env env, napi_callback_info info) {
  const Arguments<4> arguments(env, info);
  const bool all = requireBoolean(env, arguments[2], "all");
  const size_t maxPairs = requireWhole(env, arguments[3], "maxPairs", 0, kMostPairs);
  Environment& environment = environmentOf(env);
  Relations relations(geosOf(environment));
  eachBlob(env, arguments[1], [&](uint32_t, const uint8_t* blob, size_t size) {
    relations.add(requireValid(environment, blob, size));
  });
  std::vector<uint32_t> pairs;
  ByteBuffer matrices;
  std::vector<Relations::Pair> latest;
  bool beyond = false;
  eachBlob(env, arguments[0], [&](uint32_t i, const uint8_t* blob, size_t size) {
    if (beyond) return;
    const GeosGeometry left = requireValid(environment, blob, size);
    if (left == nullptr) return;
    if (!relations.relate(left.get(), all, latest)) throw Failure{geosOf(environment).error(), false};
    beyond = pairs.size() / 2 + latest.size() > maxPairs;
    if (beyond) return;
    for (const Relations::Pair& one : latest) {
      pairs.insert(pairs.end(), {i, one.right});
      matrices.append(one.matrix.data(), one.matrix.size());
    }
  });
  napi_value result;
  if (beyond) {
    check(napi_get_null(env, &result));
    return result;
  }
  check(napi_create_object(env, &result));
  uint32_t* out = nullptr;
  setProperty(env, result, "pairs", makeArray(env, napi_uint32_array, pairs.size(), out));
  std::copy(pairs.begin(), pairs.end(), out);
  setProperty(env, result, "matrices", toBuffer(env, matrices.data(), matrices.size()));
  return result;
}

}  // namespace graticule::addon
