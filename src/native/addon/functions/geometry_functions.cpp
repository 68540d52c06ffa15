// Geometries as they come in: GeoJSON to WKB, WKB to GeoPackage blobs, validity.
#include <cmath>

#include "../../core/geometry/geos.h"
#include "../../core/formats/options.h"
#include "../../core/geometry/wkb.h"
#include "../../core/geometry/wkb_writer.h"
#include "../napi.h"

namespace graticule::addon {
namespace {

/** Memory that the environment keeps between calls. */
constexpr size_t kKeptMemory = 4u << 20;

void readGeometry(napi_env env, napi_value value, Environment& environment) {
  const uint8_t* blob = nullptr;
  size_t size = 0;
  if (!bytesOf(env, value, blob, size)) throw Failure{"the geometry must be a Uint8Array", true};
  BlobHeader header;
  const ReadStatus status = readBlob(blob, size, header, environment.geometry);
  if (status != ReadStatus::Ok) throw Failure{describe(status), false};
}

napi_value takeText(napi_env env, Environment& environment) {
  napi_value result = toBuffer(env, environment.text.data(), environment.text.size());
  environment.text.shrink(kKeptMemory);
  return result;
}

}  // namespace

/** (geometry: JSON, options: JSON) -> WKB */
napi_value geojsonToWkb(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  Environment& environment = environmentOf(env);
  GeoJsonReadOptions options;
  std::string error;
  if (!parseGeoJsonReadOptions(requireText(env, arguments[1], "options"), options, error)) throw Failure{error, true};
  const auto reprojector = environment.reprojectors.find(options.from, options.to, error);
  if (reprojector == nullptr) throw Failure{error, false};
  const std::string text = requireText(env, arguments[0], "the geometry");
  if (!environment.geometryReader.read(text, options, *reprojector, environment.geometry, error)) {
    throw Failure{error, false, environment.geometryReader.failedAt()};
  }
  environment.text.clear();
  writeWkb(environment.geometry, environment.text);
  return takeText(env, environment);
}

/** (geometry: Uint8Array, srsId) -> GeoPackage blob */
napi_value wkbToGeoPackage(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  Environment& environment = environmentOf(env);
  readGeometry(env, arguments[0], environment);
  const double srsId = requireNumber(env, arguments[1], "srsId");
  if (srsId != std::trunc(srsId) || std::fabs(srsId) > 2147483647) throw Failure{"srsId must be an integer", true};
  environment.text.clear();
  writeGeoPackageBlob(environment.geometry, static_cast<int32_t>(srsId), environment.text);
  return takeText(env, environment);
}

/** (geometry: Uint8Array) -> null, or {reason, x, y} */
napi_value validateGeometry(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  Environment& environment = environmentOf(env);
  readGeometry(env, arguments[0], environment);
  if (environment.geos == nullptr) environment.geos = std::make_unique<Geos>();
  Invalidity why;
  napi_value result;
  if (validate(*environment.geos, environment.geometry, why)) {
    check(napi_get_null(env, &result));
    return result;
  }
  check(napi_create_object(env, &result));
  setProperty(env, result, "reason", toText(env, why.reason));
  if (std::isfinite(why.x) && std::isfinite(why.y)) {
    setProperty(env, result, "x", toNumber(env, why.x));
    setProperty(env, result, "y", toNumber(env, why.y));
  }
  return result;
}

}  // namespace graticule::addon
